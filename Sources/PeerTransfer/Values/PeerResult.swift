package import MigrationEngine
import MigrationWire

/// What a transfer that is done came to. Both devices have the same figures.
public struct PeerResult: Equatable, Sendable {
  /// Files, directories and links that were transferred.
  public let items: UInt64
  /// The sum of the files' sizes.
  public let bytes: UInt64
  /// How many of them crossed the network in this run: holes are none, and what was held before neither.
  public let sentBytes: UInt64
  /// How many compression kept off the network in this run.
  public let savedBytes: UInt64
  /// How many earlier sessions had brought when the last one began.
  public let heldBytes: UInt64
  /// From the first byte of data to the last word.
  public let duration: Duration
  /// Items of the source that could not be sent; sockets, pipes and devices are among them, which never are.
  public let unsent: UInt64
  /// Items that the destination could not hold.
  public let notStored: UInt64
  /// Items that were there already; see ``PeerReceiver/Existing/skip``.
  public let present: UInt64
  /// Items that were left out, since something else has their names at the destination.
  public let differing: UInt64
  /// Whether all that should have arrived has: sockets and the like do not count. Where it has not, the command ends with 8.
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
    self.isComplete = isComplete
  }
}
