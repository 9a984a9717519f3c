import MigrationSystem
import MigrationWire

/// The entries of one DATA frame, in memory that is reused and that grows if an entry needs more.
///
/// Copies share the memory; only the thread that packs the frame writes to it, before any other
/// thread has it.
package struct FrameBuffer: Sendable {
  /// All the memory; the entries are the first `count` bytes.
  package private(set) var bytes: [UInt8]
  package private(set) var count = 0
  /// The items that the entries complete and the bytes that they carry, for progress.
  package private(set) var items: UInt64 = 0
  package private(set) var contentBytes: UInt64 = 0
  /// The content bytes that are in holes.
  package private(set) var holeBytes: UInt64 = 0

  /// Frames are numbered in the order in which they are begun.
  package var number: UInt64 = 0

  /// Allocates memory.
  package init(capacity: Int) {
    bytes = [UInt8](repeating: 0, count: capacity)
  }

  package var isEmpty: Bool { count == 0 }

  /// Removes the entries and keeps the memory.
  package mutating func removeAll() {
    count = 0
    items = 0
    contentBytes = 0
    holeBytes = 0
  }

  /// Appends a whole entry, or inserts the bytes before data that was read behind them, and counts both as
  /// written.
  package mutating func commit(_ prefix: [UInt8], followedBy dataLength: Int = 0) {
    reserve(count + prefix.count)
    bytes.overwrite(at: count, with: prefix)
    count += prefix.count + dataLength
  }

  /// Lends the free memory `offset` bytes behind the entries, to read data into; the data is not
  /// counted yet.
  package mutating func withFreeSpace<Result, Failure: Error>(
    at offset: Int, length: Int, _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let start = count + offset
    reserve(start + length)
    return try bytes.withPart(start..<start + length, body)
  }

  /// Lends the bytes that are `offset` bytes behind the entries.
  package func withFreeSpan<Result>(at offset: Int, length: Int, _ body: (Span<UInt8>) -> Result) -> Result {
    body(bytes.span.extracting(count + offset..<count + offset + length))
  }

  /// Counts the items and bytes of the entries.
  package mutating func note(items: UInt64, contentBytes: UInt64) {
    self.items += items
    self.contentBytes = min(Limits.fileSize, self.contentBytes + min(contentBytes, Limits.fileSize))
  }

  /// Counts the bytes of a hole.
  package mutating func note(hole: UInt64) {
    let counted = contentBytes
    note(items: 0, contentBytes: hole)
    holeBytes += contentBytes - counted
  }

  private mutating func reserve(_ capacity: Int) {
    precondition(capacity <= Limits.plainLength, "an entry fits into its frame")
    guard bytes.count < capacity else { return }
    var grown = [UInt8](repeating: 0, count: capacity)
    grown.replaceSubrange(..<count, with: bytes[..<count])
    bytes = grown
  }
}
