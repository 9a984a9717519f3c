import MigrationSystem
package import MigrationWire

/// Packs items into a DATA frame: many small ones, or a chunk of a large file (Protocol §6.8).
///
/// One thread uses it at a time.
final class FramePacker {
  let settings: ExportSettings
  /// The current frame.
  private var frame = FrameBuffer(capacity: 0)
  private var prefix = ByteWriter()
  /// The totals added through this packer since the last call of `takeSum`.
  var sum = ArchiveSum()
  /// What the receiver has, or must not get, of it: the listener is told once.
  private var skipped = Tally()

  init(_ settings: ExportSettings) { self.settings = settings }

  var keys: TransferKeys { settings.keys }
  var held: HeldItems.Lookup { settings.held }
  var listener: any ExportListener { settings.listener }
  var sizes: ArchiveSizes { settings.sizes }

  // MARK: The frame

  /// Starts with an empty frame.
  func begin(_ frame: consuming FrameBuffer) { self.frame = frame }

  /// Returns the frame with its entries.
  func end() -> FrameBuffer {
    let full = frame
    frame = FrameBuffer(capacity: 0)
    return full
  }

  /// The totals added since the last call.
  func takeSum() -> ArchiveSum {
    if skipped != Tally() { listener.skipped(items: skipped.items, bytes: skipped.bytes) }
    defer { (sum, skipped) = (ArchiveSum(), Tally()) }
    return sum
  }

  var isEmpty: Bool { frame.isEmpty }
  /// The number of the current frame.
  var frameNumber: UInt64 { frame.number }

  /// Whether this many bytes of content, with their prefix, should go into this frame and not into
  /// the next one.
  func hasRoom(for size: UInt64) -> Bool {
    if frame.isEmpty { return true }
    guard frame.count < sizes.fullFrame else { return false }
    return UInt64(frame.count) + size + 512 <= UInt64(sizes.frameCapacity)
  }

  /// Whether the receiver holds any items, so that it is worth looking for them.
  var isResuming: Bool { !held.isEmpty }

  /// Whether the destination has reported existing names, so that it is worth looking for items to
  /// leave out.
  var isMerging: Bool { held.hasNames }

  /// Reports an item that cannot be sent.
  func unsent(_ unsent: NotStored) {
    sum.unsent += 1
    listener.unsent(unsent)
  }

  /// Counts the attributes of an item in the archive that are not carried.
  func leaveBehind(_ names: [[UInt8]]) { for name in names { sum.lostAttributes.note(name) } }

  /// Adds an item without content: a directory, a link, an empty file.
  func add(_ record: ItemRecord) {
    guard !skipHeld(record) else { return }
    addRecord(of: record)
  }

  /// Adds a whole entry, or what precedes the data that was read behind it.
  private func append(followedBy length: Int = 0, _ write: (inout ByteWriter) -> Void) {
    prefix.removeAll()
    write(&prefix)
    frame.commit(prefix.bytes, followedBy: length)
  }

  /// Lends the memory for the content of a file that is read in one piece, and whose record will
  /// have the length of this one.
  func readSmallFile(
    _ record: ItemRecord, _ read: (inout MutableSpan<UInt8>) throws(SystemError) -> Bool
  ) throws(SystemError) -> Bool {
    try frame.withFreeSpace(at: Self.lead(of: record), length: Int(record.size), read)
  }

  /// The bytes of the entries before a small file's content.
  private static func lead(of record: ItemRecord) -> Int {
    EntryWriter.length(of: record) + EntryWriter.length(ofContent: Int(record.size))
  }

  /// Adds the file whose content was read last.
  func addSmallFile(_ record: ItemRecord) {
    let (lead, size) = (Self.lead(of: record), Int(record.size))
    if held.hasBases, addSmallFileFromBase(record, lead) { return }
    prefix.removeAll()
    EntryWriter.item(record, to: &prefix)
    let place = FilePiece(path: record.path, generation: record.generation, range: 0..<record.size)
    EntryWriter.content(length: size, check(place, lead, size), to: &prefix)
    precondition(prefix.bytes.count == lead, "the content lies behind its entries")
    frame.commit(prefix.bytes, followedBy: size)
    count(record, contentBytes: record.size)
  }

  /// The parts of a chunk whose lanes are noted.
  struct Parts {
    /// The end of the part that begins at an offset.
    let end: (UInt64) -> UInt64
    /// Gets the lanes of a part; nil for a hole.
    let note: (PieceLanes?, Range<UInt64>) -> Void
  }

  /// The longest block that is compared: it is read at once, holes too.
  private static let longestBlock: UInt64 = 16 << 20
  /// The smallest content that is worth a reference to a base.
  private static let worthReferring: UInt64 = 256

  /// Adds the file whose content was read last as its earlier version, if the receiver has that; else
  /// false.
  private func addSmallFileFromBase(_ record: ItemRecord, _ lead: Int) -> Bool {
    guard record.size >= Self.worthReferring else { return false }
    let lanes = frame.withFreeSpan(at: lead, length: Int(record.size)) { PieceLanes(checkLanes(of: $0)) }
    var sum = ContentSum()
    sum.add(lanes, at: 0..<record.size)
    guard let sum = sum.bytes, settings.isBase(record.path, size: record.size, sum) else { return false }
    addBase(FilePiece(path: record.path, generation: record.generation, range: 0..<record.size), lanes)
    addRecord(of: record)
    return true
  }

  /// Adds one chunk of a large file. `read` stores its bytes in place; false if `read` reports them
  /// as unusable. With `orHole`, zeros become a hole. With `parts`, the lanes of the chunk's parts are
  /// noted.
  func addChunk(
    _ place: FilePiece, orHole: Bool = false, parts: Parts? = nil,
    _ read: (inout MutableSpan<UInt8>) throws(SystemError) -> Bool
  ) throws(Failure) -> Bool {
    let size = place.range.count
    let lead = EntryWriter.length(of: place)
    do {
      guard try frame.withFreeSpace(at: lead, length: size, read) else { return false }
    } catch {
      throw Failure("reading", place.path, error)
    }
    if orHole, frame.withFreeSpan(at: lead, length: size, { bytes in bytes.indices.allSatisfy { bytes[$0] == 0 } }) {
      addHole(FilePiece(path: place.path, generation: place.generation, range: place.range, isHole: true))
      parts?.note(nil, place.range)
      return true
    }
    let check: ChunkCheck
    if let parts {
      check = keys.check(place, lanes: joinedLanes(place.range, lead, parts).lanes)
    } else {
      check = self.check(place, lead, size)
    }
    append(followedBy: size) { EntryWriter.place(place, check, to: &$0) }
    frame.note(items: 0, contentBytes: UInt64(size))
    return true
  }

  /// The lanes of a range that lies `lead` bytes behind the frame's entries, made of those of its parts.
  private func joinedLanes(
    _ range: Range<UInt64>, _ lead: Int, _ parts: Parts
  ) -> PieceLanes {
    var (whole, start) = (PieceLanes(), range.lowerBound)
    while start < range.upperBound {
      // The lanes of a piece are joined between words only.
      var next = min(range.upperBound, parts.end(start))
      if !(next - range.lowerBound).isMultiple(of: 8) { next = range.upperBound }
      let lanes = frame.withFreeSpan(at: lead + Int(start - range.lowerBound), length: Int(next - start)) {
        PieceLanes(checkLanes(of: $0))
      }
      parts.note(lanes, start..<next)
      whole = start == range.lowerBound ? lanes : whole.joined(start - range.lowerBound, with: lanes, next - start)
      start = next
    }
    return whole
  }

  /// Adds a hole of a large file.
  func addHole(_ place: FilePiece) {
    append { EntryWriter.place(place, keys.check(place), to: &$0) }
    frame.note(hole: UInt64(place.range.count))
  }

  /// Adds the record of a large file whose bytes have all been added.
  func addRecord(of record: ItemRecord) {
    append { EntryWriter.item(record, to: &$0) }
    count(record, contentBytes: 0)
  }

  /// Whether the receiver holds this item complete; such an item is counted and need not be added.
  func skipHeld(_ record: ItemRecord) -> Bool {
    guard isResuming else { return false }
    let mark = mark(record)
    guard held.take(mark) else { return false }
    tally(record, mark)
    skip(record.size, items: 1)
    return true
  }

  /// Whether the receiver holds a part of this generation of a file.
  func holdsPart(of record: ItemRecord) -> Bool { !held.ranges(of: record.path, record.generation).all.isEmpty }

  /// Makes a piece of another generation replace the part of a file that the receiver holds.
  func dropPart(_ place: FilePiece) {
    held.forgetPart(of: place.path)
    addHole(place)
  }

  /// The ranges of this generation of a file that the receiver holds.
  func heldRanges(_ record: ItemRecord) -> ByteRanges {
    let ranges = held.ranges(of: record.path, record.generation)
    // The ranges come from another device: only ranges inside the file count.
    let missing = ranges.gaps(in: 0..<record.size).reduce(0) { $0 + UInt64($1.count) }
    if missing < record.size { skip(record.size - missing) }
    return ranges
  }

  /// Whether the receiver has reported that the destination cannot hold this file, or files of its size.
  func isRefused(_ record: ItemRecord) -> Bool {
    settings.traits.refuses(size: record.size) || listener.refuses(mark(record))
  }

  /// Counts content that need not be sent.
  func skip(_ bytes: UInt64, items: UInt64 = 0) { skipped = skipped.adding(Tally(items: items, bytes: bytes)) }

  /// Adds a piece that the receiver has in the file's earlier version.
  func addBase(_ place: FilePiece, _ lanes: PieceLanes) {
    append { EntryWriter.base(place, keys.check(place, lanes: lanes.lanes), lanes, to: &$0) }
    skip(UInt64(place.range.count))
  }

  /// The blocks of the version of a file that lies at the receiver. Of a smaller file there is no list: it
  /// is read, and compared as a whole.
  func base(of record: ItemRecord, _ file: some SourceFile) -> BlockSums? {
    guard held.hasBases else { return nil }
    if let base = settings.base(of: record.path) { return base.length > Self.longestBlock ? nil : base }
    guard settings.isWhole, record.size < BlockSums.smallestFile, let sums = try? BlockSums.read(file, record.size),
      settings.isBase(record.path, size: record.size, sums.sum)
    else { return nil }
    return sums
  }

  /// The lanes of a piece, which is read into memory that the frame does not need yet.
  func lanes(
    of length: Int, _ read: (inout MutableSpan<UInt8>) throws(SystemError) -> Bool
  ) throws(SystemError) -> PieceLanes? {
    guard try frame.withFreeSpace(at: 0, length: length, read) else { return nil }
    return frame.withFreeSpan(at: 0, length: length) { PieceLanes(checkLanes(of: $0)) }
  }

  private func check(_ place: FilePiece, _ lead: Int, _ size: Int) -> ChunkCheck {
    frame.withFreeSpan(at: lead, length: size) { keys.check(place, $0) }
  }

  private func count(_ record: ItemRecord, contentBytes: UInt64) {
    frame.note(items: 1, contentBytes: contentBytes)
    tally(record, mark(record))
  }

  private func tally(_ record: ItemRecord, _ mark: Mark) {
    sum.total = sum.total.adding(Tally(items: 1, bytes: record.size))
    sum.digest &+= mark
  }

  private func mark(_ record: ItemRecord) -> Mark {
    keys.mark(path: record.path, generation: record.generation)
  }
}

extension TransferKeys {
  /// The check of the bytes of a chunk, or of a hole without any (Protocol §9.3).
  package func check(_ place: FilePiece, _ data: Span<UInt8> = Span()) -> ChunkCheck {
    check(place, lanes: checkLanes(of: data))
  }
}
