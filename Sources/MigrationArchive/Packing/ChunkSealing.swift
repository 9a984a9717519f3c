package import MigrationSystem
package import MigrationWire

/// Makes and checks chunk tags (Protocol §9.3); one thread uses it.
package protocol ChunkSealing: AnyObject {
  /// A tag with a fresh nonce.
  func seal(place: [UInt8], data: RawSpan) -> ChunkSeal
  /// Whether the tag fits.
  func verify(_ seal: ChunkSeal, place: [UInt8], data: RawSpan) -> Bool
}

/// Where packed frames go; the engine's side of the export.
///
/// Every call may wait, and throws `ArchiveError` with the code stopped when the transfer is over.
package protocol FrameOutlet: Sendable {
  /// An empty buffer, as soon as the window has room for one and what waits has become little.
  func buffer() throws(ArchiveError) -> FrameBuffer
  /// Sends a frame; what it holds is as good as under way.
  func submit(_ frame: consuming FrameBuffer) throws(ArchiveError)
  /// Returns when every frame submitted so far is written at the receiver.
  func drain() throws(ArchiveError)
  /// Waits, because a source will not hold still.
  func pause(seconds: Double) throws(ArchiveError)
  /// Names an item that cannot be sent.
  func unsent(_ unsent: Unsent) throws(ArchiveError)
  /// Whether the transfer is over: the next call would throw.
  var isStopped: Bool { get }
  /// Set when the transfer is over, for waits that this outlet does not end itself.
  var stopSignal: StopSignal { get }
  /// Counts something that the receiver holds already.
  func skipped(items: UInt64, bytes: UInt64)
  /// Whether the destination cannot hold an item, as the receiver has said meanwhile: its content need not come.
  func refuses(_ mark: Mark) -> Bool
}

extension FrameOutlet {
  /// Nothing is refused.
  package func refuses(_ mark: Mark) -> Bool { false }
}
