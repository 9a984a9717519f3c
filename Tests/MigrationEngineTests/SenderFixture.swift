import MigrationWire

@testable import MigrationEngine

/// Values and events for the sender's tests.
enum Fixture {
  static let device = DeviceAddress(name: "there", host: "host", port: 7)
  static func nearby(_ label: String) -> DeviceAddress {
    DeviceAddress(name: label, host: "host of \(label)", port: 7, instance: 1)
  }
  static let code = PairingCode(number: 1_234_567)
  static let summary = summary()
  static let receiver = KeyFingerprint(digest: [UInt8](repeating: 1, count: KeyFingerprint.byteCount))
  static let otherReceiver = KeyFingerprint(digest: [UInt8](repeating: 2, count: KeyFingerprint.byteCount))
  static let path: ArchivePath = {
    guard let path = try? ArchivePath(Array("tree/file".utf8)) else { preconditionFailure("a good path") }
    return path
  }()
  static let keys = TransferKeys(hashKey: 4)
  static let accept = Accept(keys: keys, traits: DestinationTraits())
  static let verdict = verdict()
  static let refusal = NotStored(path: path, generation: 5, .tooLarge)
  static let refusedMark = keys.mark(path: path, generation: 5)
  static let finish = Finish(
    total: Tally(items: 9, bytes: 900), unsent: 2, digest: 6, leftOut: LeftOut(present: 3),
    lostAttributes: [LostAttribute(name: Array("user.x".utf8), count: 1)])
  static let done = Done(total: finish.total, losses: [Done.Loss(kind: .mode, count: 1)], notStored: 1)
  static let traffic = Traffic(sent: 800, saved: 70, seconds: 1.5)
  static let unsent = NotStored(path: Array("tree/gone".utf8), .vanished)
  static let cut = Failure(.connection, "cut")
  static let counts = counts { _ in }

  static func summary(_ names: [String] = ["tree"], isCompressible: Bool = true) -> SourceSummary {
    SourceSummary(
      contents: .folders(names.map { Root(kind: .directory, name: Array($0.utf8)) }),
      total: Tally(items: 10, bytes: 1000), allocated: 4096, isCompressible: isCompressible)
  }

  static func verdict(
    _ parts: [Verdict.Judgement] = [.taken()], of transfer: TransferID = 77, streams: UInt16 = 16
  ) -> Verdict {
    Verdict(transfer: transfer, session: 88, window: 32 << 20, streams: streams, parts: parts)
  }

  static func counts(_ change: (inout SenderEngine.WindowCounts) -> Void) -> SenderEngine.WindowCounts {
    var counts = SenderEngine.WindowCounts()
    counts.arrived = Tally(items: 4, bytes: 400)
    counts.hasProgressed = true
    change(&counts)
    return counts
  }

  static func greeting(_ request: AppRequest? = nil, features: Features = .zstd) -> Greeting {
    Greeting(role: .receiver, label: "there", software: "", features: features, request: request)
  }

  /// Through a relay, where this device has addresses to tell.
  static func meeting(_ connection: UInt64, own: OwnAddresses? = nil) -> SenderEngine.Meeting {
    SenderEngine.Meeting(
      connection: ConnectionID(connection), host: "host", address: "host:7",
      relay: own.map { _ in "relay" }, own: own)
  }

  static func unfinished(
    _ identifier: TransferID, _ receiver: KeyFingerprint = receiver, unsent: UInt64 = 0, done: Done? = nil,
    refusals: [NotStored] = [], address: String = "", parts: Int = 1
  ) -> SenderEngine.EarlierTransfer {
    SenderEngine.EarlierTransfer(
      identifier: identifier, receiver: receiver, address: address, lastSeen: 1200,
      parts: Array(
        repeating: PartRecord(
          unsent: unsent, notStored: refusals, finished: done.map { PartRecord.Finished(done: $0, at: 1200) }),
        count: parts))
  }

  static func failure(_ words: String) -> Failure { Failure(.failed, words) }
}

extension ExportResult {
  /// The results of the tests' exports, with marks for two pages, or with a few.
  static let some = ExportResult(
    finish: Fixture.finish, stale: (0...Mark(Limits.marksInFrame)).map { $0 })
  static let little = ExportResult(finish: Fixture.finish, stale: [1, 2])
}
