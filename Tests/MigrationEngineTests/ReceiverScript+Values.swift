import MigrationWire

@testable import MigrationEngine

/// The values that scripts and walks use. Lab/fuzz builds this file too.
extension ReceiverScript {
  static let transfer: TransferID = 100
  static let session: SessionID = 900
  static let root = Root(kind: .directory, name: Array("root".utf8))
  static let cut = Failure(.connection, "the connection was lost")
  static let broken = Failure(.storage, "the disk fails")
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

  /// A plan of folders; each part has another name.
  static func plan(_ transfer: TransferID? = nil, parts: Int = 1, roots: [Root] = [root]) -> Plan {
    Plan(
      (0..<parts).map { Part(.folders(roots), name: "part \($0)", bytes: 40, items: 4) }, continuing: transfer)
  }

  static func offer(_ part: UInt16 = 0) -> PartTotals {
    PartTotals(part: part, items: 4, bytes: 40, allocated: 40)
  }

  /// The parts are judged; those of `refused` cannot be taken.
  static func planJudged(
    _ session: UInt64 = 1, _ parts: [UInt16] = [0], refused: [UInt16: Failure] = [:], room: UInt64? = 1000
  ) -> ReceiverEngine.Event {
    var judgement: ReceiverEngine.PlanJudgement = [:]
    for part in parts { judgement[part] = .success(ReceiverEngine.Examination(availableBytes: room)) }
    for (part, fault) in refused { judgement[part] = .failure(fault) }
    return .planJudged(SessionNumber(session), .success(judgement), session: Self.session)
  }

  static func admitted(held: Tally = Tally(), concluded: Tally? = nil) -> ReceiverEngine.Admitted {
    ReceiverEngine.Admitted(
      Accept(keys: TransferKeys(hashKey: 2), traits: DestinationTraits()), held: held, concluded: concluded)
  }

  static func refusal(_ name: String) -> NotStored { NotStored(path: path(name), generation: 1, .nameTooLong) }

  static func path(_ name: String) -> ArchivePath {
    guard let path = try? ArchivePath(Array("root/\(name)".utf8)) else { preconditionFailure("a name that is none") }
    return path
  }

  static func known(
    _ identifier: TransferID, key number: UInt8, held: Tally = Tally(items: 2, bytes: 20), parts: Int = 1,
    part: UInt16 = 0, finished: [UInt16] = [], notStored: [NotStored] = [], isHeld: Bool = true, concluded: Tally? = nil
  ) -> ReceiverEngine.EarlierTransfer {
    let end = PartRecord(unsent: 3, notStored: notStored, finished: PartRecord.Finished(done: done, at: 1200))
    return ReceiverEngine.EarlierTransfer(
      identifier: identifier, client: key(number), host: "10.0.0.\(number)", plan: plan(parts: parts),
      parts: (0..<UInt16(parts)).map { finished.contains($0) ? end : PartRecord(unsent: 3) }, part: part, held: held,
      concluded: concluded, isHeld: isHeld)
  }

  /// The total of a part of which everything has arrived.
  static let whole = Tally(items: 5, bytes: 50)

  static let finish = Finish(
    total: Tally(items: 5, bytes: 50), unsent: 1, digest: 7, leftOut: LeftOut(present: 2, differing: 1))
  static let done = Done(
    total: Tally(items: 5, bytes: 50), notStored: 1,
    renamed: [RenamedItem(path: path("x"), target: path("x (2)"))])
}
