import MigrationWire

@testable import MigrationEngine

/// The values that scripts and walks use. Lab/fuzz builds this file too.
extension ReceiverScript {
  static let transfer: TransferID = 100
  static let session: SessionID = 900
  static let root = Root(kind: .directory, name: Array("root".utf8))
  static let cut = Fault(.connection, "the connection was lost")
  static let broken = Fault(.storage, "the disk fails")
  static let code = PairingCode(number: 1_234_567)

  static func key(_ number: UInt8) -> KeyFingerprint { KeyFingerprint(digest: [UInt8](repeating: number, count: 32)) }

  static func id(_ number: UInt64) -> ConnectionID { ConnectionID(number) }

  static func settings() -> ReceiverEngine.Settings {
    ReceiverEngine.Settings(
      greeting: Greeting(role: .receiver, label: "here", software: "test", features: .zstd),
      giveUpAfter: 600)
  }

  static func greeting(_ features: Features = .zstd) -> ControlMessage {
    .greeting(Greeting(role: .sender, label: "laptop", software: "test", features: features))
  }

  static func offer(
    _ transfer: TransferID? = nil, roots: [Root] = [root], flags: Offer.Flags = [.compressible]
  ) -> Offer {
    Offer(transfer: transfer, contents: .folders(roots), items: 4, bytes: 40, allocated: 40, flags: flags)
  }

  static func admitted(held: Tally = Tally()) -> ReceiverEngine.Admitted {
    ReceiverEngine.Admitted(
      session: session, keys: TransferKeys(hashKey: 2), traits: DestinationTraits(), held: held)
  }

  static func refusal(_ name: String) -> Refusal {
    guard let path = try? ArchivePath(Array("root/\(name)".utf8)) else { preconditionFailure("a name that is none") }
    return Refusal(path: path, generation: 1, reason: .nameTooLong)
  }

  static func known(
    _ identifier: TransferID, key number: UInt8, held: Tally = Tally(items: 2, bytes: 20), isStaged: Bool = true,
    notStored: [Refusal] = [], isHeld: Bool = true, standing: ReceiverEngine.KnownTransfer.Standing = .receiving
  ) -> ReceiverEngine.KnownTransfer {
    ReceiverEngine.KnownTransfer(
      identifier: identifier, client: key(number), host: "10.0.0.\(number)", contents: .folders([root]), held: held,
      isStaged: isStaged, unsent: 3, lastSeen: 1200, notStored: notStored, isHeld: isHeld, standing: standing)
  }

  static let finish = Finish(
    total: Tally(items: 5, bytes: 50), unsent: 1, digest: 7, leftOut: LeftOut(present: 2, differing: 1))
  static let done = Done(total: Tally(items: 5, bytes: 50), notStored: 1)
}
