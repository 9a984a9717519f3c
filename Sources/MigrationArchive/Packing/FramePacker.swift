package import MigrationSystem
package import MigrationWire

/// Packs items into DATA frames: many small ones into one, a large file into many (Protocol §6.8).
///
/// One thread uses it. What has been added may wait in an unfinished frame until `flush`.
package final class FramePacker {
  /// How the archive is cut. A receiver takes any.
  package struct Sizes: Sendable {
    /// Files up to this size travel with their record in one frame.
    package let smallFile: Int
    /// The most bytes of a large file in one chunk.
    package let chunk: Int
    /// A frame with at least this many bytes is sent rather than filled further.
    package let fullFrame: Int

    package init(smallFile: Int = 256 << 10, chunk: Int = Limits.chunk, fullFrame: Int = 512 << 10) {
      self.smallFile = smallFile
      self.chunk = chunk
      self.fullFrame = fullFrame
    }
  }

  let sizes: Sizes
  let outlet: any FrameOutlet
  private let sealer: any ChunkSealing
  private let keys: TransferKeys
  private var held: HeldItems
  private var frame: FrameBuffer?
  private var prefix = ByteWriter()
  /// What a tag covers besides the data.
  private var tagged = ByteWriter()

  /// What the archive consists of so far, held items included.
  package private(set) var total = Tally()
  private var digest: UInt128 = 0
  private var unsentCount: UInt64 = 0
  private var leftOut = LeftOut()
  /// What the destination can hold, as far as it has said.
  let traits: DestinationTraits
  /// How many items the destination cannot hold.
  var withheld: UInt64 = 0
  private var leftBehind = AttributeCount()

  package init(
    outlet: any FrameOutlet, sealer: any ChunkSealing, keys: TransferKeys, held: HeldItems,
    traits: DestinationTraits = DestinationTraits(), sizes: Sizes = Sizes()
  ) {
    self.traits = traits
    self.sizes = sizes
    self.outlet = outlet
    self.sealer = sealer
    self.keys = keys
    self.held = held
  }

  /// What FINISH says when nothing more will be added.
  package var finish: Finish {
    Finish(
      total: total, unsent: unsentCount, digest: digest, leftOut: leftOut, withheld: withheld,
      leftBehind: leftBehind.list)
  }

  /// What the receiver holds and the source no longer has.
  package var staleMarks: [Mark] { held.stale }

  /// The generation that a source item is in (Protocol §9.1).
  func generation(of fingerprint: SourceFingerprint) -> Generation { keys.generation(of: fingerprint) }

  /// The generation of another name of a file that is in the archive.
  func generation(ofLinkTo target: ArchivePath, _ generation: Generation) -> Generation {
    keys.generation(ofLinkTo: target, generation)
  }

  /// Whether the receiver holds anything, so that looking for held items is worth it.
  var isResuming: Bool { !held.isEmpty }

  /// Whether the destination has names, so that looking for what is left out because of them is worth it.
  var isMerging: Bool { held.hasNames }

  /// Leaves a file or symbolic link out because of what has its name at the destination; false if nothing has.
  func leaveOut(_ path: ArchivePath, _ status: FileStatus, target: [UInt8]? = nil) throws(ArchiveError) -> Bool {
    let size = status.kind == .regular ? UInt64(status.size) : 0
    let mark =
      target.map { keys.presentMark(path: path, target: $0) }
      ?? keys.presentMark(
        path: path, size: size, modified: ItemTime(status.modified).rounded(to: traits.timeGranularity))
    if held.isPresent(mark) {
      leftOut.present += 1
    } else if held.isTaken(keys.takenMark(path: path)) {
      leftOut.differing += 1
      try outlet.unsent(Unsent(path: path.bytes, reason: .differing))
    } else {
      return false
    }
    outlet.skipped(items: 1, bytes: size)
    return true
  }

  /// Names an item that cannot be sent.
  package func unsent(_ unsent: Unsent) throws(ArchiveError) {
    unsentCount += 1
    try outlet.unsent(unsent)
  }

  /// Counts attributes of an item that is in the archive, which are not carried.
  func leaveBehind(_ names: [[UInt8]]) { for name in names { leftBehind.note(name) } }

  /// Adds an item without content: a directory, a link, an empty file.
  package func add(_ record: ItemRecord) throws(ArchiveError) {
    guard !skipHeld(record), try !withhold(record) else { return }
    prefix.removeAll()
    EntryWriter.item(record, to: &prefix)
    try makeRoom(prefix.bytes.count)
    frame?.append(prefix.bytes)
    count(record, contentBytes: 0)
  }

  /// Adds a file that was read in one piece, whose bytes `read` puts in place; false if it says that they cannot be used.
  func addSmallFile(
    _ record: ItemRecord, _ read: (UnsafeMutableRawBufferPointer) throws(SystemError) -> Bool
  ) throws(ArchiveError) -> Bool {
    let size = Int(record.size)
    prefix.removeAll()
    EntryWriter.item(record, to: &prefix)
    let lead = prefix.bytes.count + 1 + 4 + ChunkSeal.size
    try makeRoom(lead + size)
    do {
      guard try unsafe frame?.withFreeSpace(at: lead, length: size, read) == true else { return false }
    } catch {
      throw ArchiveError("reading", record.path, error)
    }
    let place = ChunkPlace(path: record.path, generation: record.generation, range: 0..<record.size)
    guard let seal = seal(place, lead, size) else { return false }
    EntryWriter.content(length: size, seal, to: &prefix)
    frame?.commit(prefix.bytes, followedBy: size)
    count(record, contentBytes: record.size)
    return true
  }

  /// Adds one chunk of a large file, whose bytes `read` puts in place; false if it says that they cannot be used.
  func addChunk(
    _ place: ChunkPlace, _ read: (UnsafeMutableRawBufferPointer) throws(SystemError) -> Bool
  ) throws(ArchiveError) -> Bool {
    let size = place.range.count
    let lead = 1 + 2 + 16 + 8 + 4 + ChunkSeal.size + place.path.bytes.count
    try makeRoom(lead + size)
    do {
      guard try unsafe frame?.withFreeSpace(at: lead, length: size, read) == true else { return false }
    } catch {
      throw ArchiveError("reading", place.path, error)
    }
    guard let seal = seal(place, lead, size) else { return false }
    prefix.removeAll()
    EntryWriter.place(place, seal, to: &prefix)
    frame?.commit(prefix.bytes, followedBy: size)
    frame?.note(items: 0, contentBytes: UInt64(size))
    return true
  }

  /// Adds a hole of a large file.
  func addHole(_ place: ChunkPlace) throws(ArchiveError) {
    try makeRoom(1 + 2 + 16 + 8 + 8 + ChunkSeal.size + place.path.bytes.count)
    tagged.removeAll()
    place.writeTagged(to: &tagged)
    let seal = sealer.seal(place: tagged.bytes, data: RawSpan())
    prefix.removeAll()
    EntryWriter.place(place, seal, to: &prefix)
    frame?.append(prefix.bytes)
    frame?.note(items: 0, contentBytes: UInt64(place.range.count))
  }

  /// Adds the record of a large file whose bytes have all been added.
  func addRecord(of record: ItemRecord) throws(ArchiveError) {
    prefix.removeAll()
    EntryWriter.item(record, to: &prefix)
    try makeRoom(prefix.bytes.count)
    frame?.append(prefix.bytes)
    count(record, contentBytes: 0)
  }

  /// Whether the receiver holds this item complete; then it is counted and need not be added.
  func skipHeld(_ record: ItemRecord) -> Bool {
    guard isResuming else { return false }
    let mark = mark(record)
    guard held.take(mark) else { return false }
    tally(record, mark)
    outlet.skipped(items: 1, bytes: record.size)
    return true
  }

  /// Whether the receiver holds a part of this generation of a file.
  func holdsPart(of record: ItemRecord) -> Bool { !held.ranges(of: record.path, record.generation).all.isEmpty }

  /// Puts a piece of another generation in the place of what the receiver holds of a file, and waits until it has gone.
  func dropPart(_ place: ChunkPlace) throws(ArchiveError) {
    held.forgetPart(of: place.path)
    try addHole(place)
    try drain()
  }

  /// What the receiver holds of this generation of a file.
  func heldRanges(_ record: ItemRecord) -> ByteRanges {
    let ranges = held.ranges(of: record.path, record.generation)
    // Another device says so: only what lies in the file counts.
    let missing = ranges.gaps(in: 0..<record.size).reduce(0) { $0 + UInt64($1.count) }
    if missing < record.size { outlet.skipped(items: 0, bytes: record.size - missing) }
    return ranges
  }

  /// Whether the receiver has said that the destination cannot hold this item.
  func isRefused(_ record: ItemRecord) -> Bool { outlet.refuses(mark(record)) }

  /// Counts content that need not come.
  func skip(_ bytes: UInt64) { outlet.skipped(items: 0, bytes: bytes) }

  /// Sends the unfinished frame.
  package func flush() throws(ArchiveError) {
    // An empty one is kept: its memory is counted, and would be missing.
    guard let full = frame, !full.isEmpty else { return }
    frame = nil
    try outlet.submit(full)
  }

  /// Returns when everything that was added is written at the receiver.
  package func drain() throws(ArchiveError) {
    try flush()
    try outlet.drain()
  }

  /// Whether the transfer is over.
  package var isStopped: Bool { outlet.isStopped }
  package var stopSignal: StopSignal { outlet.stopSignal }

  package func pause(seconds: Double) throws(ArchiveError) { try outlet.pause(seconds: seconds) }

  private func seal(_ place: ChunkPlace, _ lead: Int, _ size: Int) -> ChunkSeal? {
    tagged.removeAll()
    place.writeTagged(to: &tagged)
    return frame?.withFreeSpan(at: lead, length: size) { sealer.seal(place: tagged.bytes, data: $0) }
  }

  private func makeRoom(_ size: Int) throws(ArchiveError) {
    if let frame, frame.count >= sizes.fullFrame || frame.space < size { try flush() }
    if frame == nil { frame = try outlet.buffer() }
  }

  private func count(_ record: ItemRecord, contentBytes: UInt64) {
    frame?.note(items: 1, contentBytes: contentBytes)
    tally(record, mark(record))
  }

  private func tally(_ record: ItemRecord, _ mark: Mark) {
    total = total.adding(Tally(items: 1, bytes: record.size))
    digest &+= mark
  }

  private func mark(_ record: ItemRecord) -> Mark {
    keys.mark(path: record.path, generation: record.generation)
  }
}
