package import MigrationSystem
package import MigrationWire

/// Receives the events of an export, and answers its questions about the receiver; every reader
/// calls it, on its own thread.
package protocol ExportListener: AnyObject, Sendable {
  /// Set when the transfer has ended: the export ends as soon as it can.
  var stopSignal: StopSignal { get }
  /// Reports an item that cannot be sent.
  func unsent(_ unsent: NotStored)
  /// Reports content that the receiver already holds.
  func skipped(items: UInt64, bytes: UInt64)
  /// Whether the receiver has reported meanwhile that the destination cannot hold an item: then its
  /// content need not be sent.
  func refuses(_ mark: Mark) -> Bool
  /// Reports new items to read.
  func workAdded()
}

extension ExportListener {
  /// Refuses nothing.
  package func refuses(_ mark: Mark) -> Bool { false }
  package func workAdded() {}
}

/// The settings that all readers of an export share.
package struct ExportSettings: Sendable {
  let listener: any ExportListener
  /// Set when the transfer has ended.
  package var stopSignal: StopSignal { listener.stopSignal }
  let keys: TransferKeys
  /// The destination's traits, as far as the receiver has reported them.
  let traits: DestinationTraits
  let sizes: ArchiveSizes
  /// The most readers at a time.
  let readers: Int
  /// Whether the source is on a rotating disk: then only one reader works as long as the disk is
  /// the bottleneck.
  let isRotating: Bool
  let held: HeldItems.Lookup
  /// The lists of blocks of the files that were sent to this receiver before; nil if none are kept.
  let blocks: BlockStore?
  /// Whether each root is replaced whole at the destination, as an app's data is.
  let isWhole: Bool
  /// The names of the roots that the receiver leaves out.
  let leftOut: [[UInt8]]
  /// The time in seconds, which never goes backward.
  let now: @Sendable () -> Double

  package init(
    listener: any ExportListener, keys: TransferKeys, held: HeldItems, traits: DestinationTraits = DestinationTraits(),
    sizes: ArchiveSizes = ArchiveSizes(), readers: Int = Limits.streams, isRotating: Bool = false,
    leftOut: [[UInt8]] = [], blocks: BlockStore? = nil,
    isWhole: Bool = false, now: @escaping @Sendable () -> Double = { BootInstant.now().seconds }
  ) {
    self.listener = listener
    self.keys = keys
    self.traits = traits
    self.sizes = sizes
    self.readers = readers
    self.isRotating = isRotating
    self.leftOut = leftOut
    self.blocks = blocks
    self.isWhole = isWhole
    self.now = now
    self.held = HeldItems.Lookup(held)
  }
  /// The mark of an item that the destination has (Protocol §9.2, kind 2).
  func presentMark(_ path: ArchivePath, _ status: FileStatus, target: [UInt8]?) -> Mark {
    if let target { return keys.presentMark(path: path, target: target) }
    let modified = ItemTime(status.modified)
    if status.kind == .directory { return keys.presentMark(directory: path, modified: modified) }
    let size = status.kind == .regular ? UInt64(status.size) : 0
    return keys.presentMark(path: path, size: size, modified: traits.kept(modified))
  }

  /// Whether the destination has a mark of a file that has arrived with this time of change.
  func isInArrivedState(_ path: ArchivePath, _ status: FileStatus) -> Bool {
    guard let changed = status.changedAtSource else { return false }
    let modified = ItemTime(status.modified).rounded(to: traits.timeGranularity)
    return held.has(
      keys.stateMark(path: path, size: UInt64(status.size), modified: modified, changed: changed), .state)
  }

  /// Whether the destination has a mark of a directory that has arrived as it is now.
  func isInArrivedState(directory path: ArchivePath, _ status: FileStatus) -> Bool {
    guard let changed = status.changedAtSource else { return false }
    return held.has(
      keys.stateMark(directory: path, modified: ItemTime(status.modified), changed: changed), .state)
  }

  /// The blocks of the version of a file that lies at the receiver, untouched.
  func base(of path: ArchivePath) -> BlockSums? {
    guard held.hasBases else { return nil }
    return blocks?.list(of: path) { list in isBase(path, size: list.size, list.sum) }
  }

  /// Whether a file of this content lies at the receiver where it arrived, untouched.
  func isBase(_ path: ArchivePath, size: UInt64, _ sum: [UInt8]) -> Bool {
    held.has(keys.baseMark(path: path, size: size, sum: sum), .base)
  }

  /// Whether the destination has a mark of a file that has arrived with this content.
  func hasArrivedContent(_ path: ArchivePath, _ status: FileStatus, _ sum: ContentSum) -> Bool {
    sum.bytes.map { held.has(keys.contentMark(path: path, size: UInt64(status.size), sum: $0), .content) } ?? false
  }
}

extension ContentSum {
  private static let piece = 256 << 10

  /// Reads a whole file; nil if it is not as long as its status says, or if the transfer ends.
  static func read(
    _ file: some SourceFile, _ size: UInt64, unless isStopped: () -> Bool
  ) throws(SystemError) -> ContentSum? {
    file.adviseSequential()
    return try read(size) { (position, memory) throws(SystemError) in
      isStopped() ? 0 : try file.readFully(at: Int64(position), into: &memory)
    }
  }

  /// Reads a whole file; nil if it becomes shorter meanwhile.
  static func read(_ file: any StagedFile) throws(SystemError) -> ContentSum? {
    try read(try file.size()) { (position, memory) throws(SystemError) in try file.read(at: position, into: &memory) }
  }

  private static func read(
    _ size: UInt64, _ fill: (UInt64, inout MutableSpan<UInt8>) throws(SystemError) -> Int
  ) throws(SystemError) -> ContentSum? {
    var sum = ContentSum()
    var buffer = [UInt8](repeating: 0, count: Int(min(size, UInt64(piece))))
    var position: UInt64 = 0
    while position < size {
      let count = Int(min(size - position, UInt64(piece)))
      let read = try buffer.withPart(0..<count) { (memory) throws(SystemError) in try fill(position, &memory) }
      guard read == count else { return nil }
      sum.add(PieceLanes(checkLanes(of: buffer.span.extracting(..<count))), at: position..<position + UInt64(count))
      position += UInt64(count)
    }
    return sum
  }
}
