import MigrationTransfer
import MigrationWire

@testable import MigrationEngine
@testable import peer

/// The samples for the tests of both reports.
enum Samples {
  /// A part of each kind.
  static let parts = [
    Part(.folders([Root(kind: .directory, name: [0x61])]), name: "a", bytes: 1, items: 2),
    Part(.role(Part.home, [Root(kind: .directory, name: Array("music".utf8))]), name: "b"),
    Part(.app(AppIdentity(bundleIdentifier: "c", store: "", platform: "linux", version: "")), name: "c"),
    Part(.files(of: "d", [Root(kind: .directory, name: Array("config".utf8))]), name: "d"),
    Part(.unknown(9), name: "e"),
  ]
  static let offer = Offer(
    contents: .folders([Root(kind: .directory, name: Array("Docs".utf8)), Root(kind: .file, name: [0x61, 0xFF])]),
    items: 1204, bytes: 3_200_000_000, allocated: 3_300_000_000, flags: [])

  static let unsent = NotStored(path: [0x61, 0x2F, 0x1B, 0xFF], .unreadable, error: 13)
  static let socket = NotStored(path: Array("a/socket".utf8), .notSendable)

  static func progress(
    _ bytes: UInt64, of total: UInt64 = 1000, _ phase: TransferProgress.Phase = .receiving
  ) -> TransferEvent {
    .progress(TransferProgress(phase: phase, bytes: bytes, totalBytes: total, items: 1, totalItems: 2))
  }

  static func result(
    held: UInt64 = 0, sent: UInt64 = 2_900_000_000, saved: UInt64 = 0, seconds: Double = 14.2, unsent: UInt64 = 0,
    notStored: UInt64 = 0, losses: [Done.Loss] = [],
    leftOut: LeftOut = LeftOut(), renamed: UInt64 = 0, lostAttributes: [LostAttribute] = [], concludedAt: Int64? = nil,
    failedParts: Int = 0, presentParts: Int = 0
  ) -> TransferResult {
    TransferResult(
      total: Tally(items: 1204, bytes: 3_200_000_000), sentBytes: sent - saved, savedBytes: saved,
      heldBytes: held, seconds: seconds, unsent: unsent, losses: losses, leftOut: leftOut, notStored: notStored,
      renamed: renamed, lostAttributes: lostAttributes, concludedAt: concludedAt,
      failedParts: failedParts,
      presentParts: presentParts)
  }

  static func moment(_ elapsed: Double = 0, columns: Int = 80) -> Moment {
    Moment(elapsed: elapsed, wall: 1_795_223_022, columns: columns)
  }
}
