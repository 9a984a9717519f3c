package import MigrationSystem
package import MigrationWire

/// Hears what an export comes by, and says what has become known meanwhile; any reader asks, from its own thread.
package protocol ExportListener: AnyObject, Sendable {
  /// Set when the transfer is over: the export ends as soon as it can.
  var stopSignal: StopSignal { get }
  /// An item cannot be sent.
  func unsent(_ unsent: Unsent)
  /// The receiver holds something already.
  func skipped(items: UInt64, bytes: UInt64)
  /// Whether the destination cannot hold an item, as the receiver has said meanwhile: its content need not come.
  func refuses(_ mark: Mark) -> Bool
  /// There is something to read that was not there before.
  func workAdded()
}

extension ExportListener {
  /// Nothing is refused.
  package func refuses(_ mark: Mark) -> Bool { false }
  package func workAdded() {}
}

/// How the archive is cut. A receiver takes any.
package struct ArchiveSizes: Sendable {
  /// Files up to this size travel with their record in one frame.
  let smallFile: Int
  /// The most bytes of a large file in one chunk.
  let chunk: Int
  /// How many bytes of a large file one reader reads before it looks what is next.
  let part: Int
  /// A frame with at least this many bytes is sent rather than filled further.
  let fullFrame: Int

  /// A frame is read, tagged, sealed and sent in one go: it fits into a processor's own cache.
  package init(smallFile: Int = 256 << 10, chunk: Int = 256 << 10, part: Int = 8 << 20, fullFrame: Int = 224 << 10) {
    self.smallFile = smallFile
    self.chunk = chunk
    self.part = part
    self.fullFrame = fullFrame
  }

  /// How much memory almost every frame takes at most; what needs more grows.
  package var frameCapacity: Int { max(smallFile, chunk, fullFrame) + (16 << 10) }
}

/// What all readers of an export have in common.
package struct ExportSettings: Sendable {
  let listener: any ExportListener
  /// Set when the transfer is over.
  package var stopSignal: StopSignal { listener.stopSignal }
  let keys: TransferKeys
  /// What the destination can hold, as far as it has said.
  let traits: DestinationTraits
  let sizes: ArchiveSizes
  /// How many readers there may be at a time.
  let readers: Int
  /// Whether the source is on a disk that rotates: one reader at a time then, while it is the disk that is waited for.
  let isRotating: Bool
  /// Makes what a reader tags chunks with.
  let sealer: @Sendable () throws(ArchiveError) -> any ChunkSealing
  let held: HeldLedger
  /// The time in seconds, which only goes forward.
  let now: @Sendable () -> Double

  package init(
    listener: any ExportListener, keys: TransferKeys, held: HeldItems, traits: DestinationTraits = DestinationTraits(),
    sizes: ArchiveSizes = ArchiveSizes(), readers: Int = Limits.streams, isRotating: Bool = false,
    now: @escaping @Sendable () -> Double = { BootInstant.now().seconds },
    sealer: @escaping @Sendable () throws(ArchiveError) -> any ChunkSealing
  ) {
    self.listener = listener
    self.keys = keys
    self.traits = traits
    self.sizes = sizes
    self.readers = readers
    self.isRotating = isRotating
    self.now = now
    self.sealer = sealer
    self.held = HeldLedger(held)
  }
}
