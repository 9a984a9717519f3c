package import MigrationEngine
import MigrationWire

/// The result of a completed transfer. Both devices have the same figures.
public struct PeerResult: Equatable, Sendable {
  /// Files, directories and links that were transferred.
  public let items: UInt64
  /// The sum of the files' sizes.
  public let bytes: UInt64
  /// The bytes of the files that crossed the network in this run, without holes and without data
  /// that had arrived before.
  public let sentBytes: UInt64
  /// The bytes that compression saved on the network in this run.
  public let savedBytes: UInt64
  /// The bytes that had arrived in earlier sessions when the last one began.
  public let heldBytes: UInt64
  /// The time from the first byte of data to the last message.
  public let duration: Duration
  /// Items of the source that could not be sent, including sockets, pipes and devices, which are
  /// never sent.
  public let unsent: UInt64
  /// Items that the destination could not store.
  public let notStored: UInt64
  /// Items that existed already; see ``PeerReceiver/Existing/skip``.
  public let present: UInt64
  /// Items that were omitted because something else has their names at the destination.
  public let differing: UInt64
  /// Whether an earlier run had concluded the transfer: nothing was sent in this one. Newer data
  /// needs another transfer.
  public let isOfEarlierRun: Bool
  /// Whether everything arrived that should have; sockets and similar items do not count. If false,
  /// the command's exit code is 8.
  public let isComplete: Bool

  package init(_ result: TransferResult, isComplete: Bool) {
    items = result.total.items
    bytes = result.total.bytes
    sentBytes = result.sentBytes
    savedBytes = result.savedBytes
    heldBytes = result.heldBytes
    duration = .seconds(result.seconds)
    unsent = result.unsent
    notStored = result.notStored
    present = result.leftOut.present
    differing = result.leftOut.differing
    isOfEarlierRun = result.concludedAt != nil
    self.isComplete = isComplete
  }
}
