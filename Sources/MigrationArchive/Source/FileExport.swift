import MigrationSystem
import MigrationWire

/// How a try to send a file ended.
enum FileOutcome: Equatable {
  /// It is in the archive in this generation.
  case sent(Generation)
  /// It changed while it was read. `startedChunks`: chunks of the abandoned generation are under way.
  case changed(startedChunks: Bool)
  /// The destination cannot hold it.
  case withheld
}

/// Sends one file in one state, or finds that it does not hold still (Protocol §8.3).
struct FileExport<Place: SourceDirectory> {
  let packer: FramePacker
  let directory: Place
  let path: ArchivePath
  let name: ArraySlice<UInt8>
  /// Whether owner and group are sent.
  var withOwner = false
  /// How long it took to read a file that is sent in one piece; nil for any other.
  private(set) var readSeconds: Double?

  /// How far a large file is asked of the disk before it is read.
  private static var distance: UInt64 { 4 << 20 }

  init(packer: FramePacker, directory: Place, path: ArchivePath, name: ArraySlice<UInt8>, withOwner: Bool = false) {
    self.packer = packer
    self.directory = directory
    self.path = path
    self.name = name
    self.withOwner = withOwner
  }

  /// Reads the file and adds it, unless the receiver holds it. Failures to open or read it are the kernel's.
  mutating func run() throws(ArchiveError) -> FileOutcome {
    if packer.isResuming, let held = try heldGeneration() { return .sent(held) }
    let file = try reading { () throws(SystemError) in try directory.open(name) }
    guard let look = try settle(file) else { return .changed(startedChunks: false) }
    let before = look.status
    guard before.kind == .regular else {
      throw ArchiveError("reading", path, SystemError(reason: "it is no file any more", operation: "read"))
    }
    let generation = packer.generation(of: before.fingerprint(on: directory.fileSystem(of: before)))
    guard var record = ItemRecord(before, path: path, generation: generation, withOwner: withOwner) else {
      return .changed(startedChunks: false)
    }
    let extended = try reading { () throws(SystemError) in try file.extendedMetadata() }
    if packer.skipHeld(record) {
      packer.leaveBehind(extended.leftBehind)
      return .sent(generation)
    }
    if try packer.withhold(record) { return .withheld }
    record.add(extended)
    let outcome = try send(file, record, look)
    if case .sent = outcome { packer.leaveBehind(extended.leftBehind) }
    return outcome
  }

  private mutating func send(
    _ file: Place.File, _ record: ItemRecord, _ look: SourceLook
  ) throws(ArchiveError) -> FileOutcome {
    let before = look.status
    if before.size == 0 {
      let after = try reading { () throws(SystemError) in try file.status() }
      guard after.isSameState(as: before) else { return .changed(startedChunks: false) }
      try packer.add(record)
      return .sent(record.generation)
    }
    if before.size <= packer.sizes.smallFile { return try sendWhole(file, record, before) }
    return try sendChunks(of: file, record, look)
  }

  /// The file's generation, if the receiver has it in the state in which it is now; nothing need be opened to find out.
  private func heldGeneration() throws(ArchiveError) -> Generation? {
    let status = try reading { () throws(SystemError) in try directory.status(name) }
    let generation = packer.generation(of: status.fingerprint(on: directory.fileSystem(of: status)))
    guard status.kind == .regular, let record = ItemRecord(status, path: path, generation: generation) else {
      return nil
    }
    guard packer.skipHeld(record) else { return nil }
    // It is in the archive already, whatever becomes of it now.
    packer.leaveBehind((try? directory.leftBehind(of: name)) ?? [])
    return generation
  }

  private mutating func sendWhole(
    _ file: Place.File, _ record: ItemRecord, _ before: FileStatus
  ) throws(ArchiveError) -> FileOutcome {
    var seconds: Double?
    let isWhole = try unsafe packer.addSmallFile(record) { memory throws(SystemError) in
      let begun = BootInstant.now()
      guard try unsafe file.readFully(at: 0, into: memory) == memory.count else { return false }
      seconds = BootInstant.now().seconds(since: begun)
      return try file.status().isSameState(as: before)
    }
    readSeconds = seconds
    return isWhole ? .sent(record.generation) : .changed(startedChunks: false)
  }

  private func sendChunks(
    of file: Place.File, _ record: ItemRecord, _ look: SourceLook
  ) throws(ArchiveError) -> FileOutcome {
    let before = look.status
    file.adviseSequential()
    try dropDoubtfulPart(of: record, look)
    let held = packer.heldRanges(record)
    var position: UInt64 = 0
    while position < record.size {
      let extent = try extent(of: file, before, from: position)
      position = extent.range.upperBound
      for gap in held.gaps(in: extent.range) {
        // Of what the destination cannot hold the record alone is sent.
        if packer.isRefused(record) {
          packer.skip(UInt64(gap.count))
        } else if extent.isHole {
          try packer.addHole(place(record, gap, isHole: true))
        } else if try !sendRange(gap, of: file, record) {
          return .changed(startedChunks: true)
        }
      }
    }
    let after = try reading { () throws(SystemError) in try file.status() }
    guard after.isSameState(as: before) else { return .changed(startedChunks: true) }
    try packer.addRecord(of: record)
    return .sent(record.generation)
  }

  /// Lets the receiver drop the part that it holds, where nothing tells that state of the file from this one: a name of a
  /// state that no other session has comes in between, and everything is sent afresh.
  private func dropDoubtfulPart(of record: ItemRecord, _ look: SourceLook) throws(ArchiveError) {
    guard packer.holdsPart(of: record), !directory.showsEveryChange(look.status) else { return }
    let momentary = packer.generation(of: look.momentaryFingerprint(on: directory.fileSystem(of: look.status)))
    try packer.dropPart(ChunkPlace(path: path, generation: momentary, range: 0..<1, isHole: true))
  }

  private func sendRange(
    _ range: Range<UInt64>, of file: Place.File, _ record: ItemRecord
  ) throws(ArchiveError) -> Bool {
    var start = range.lowerBound
    file.fetch(at: Int64(start), length: Int64(min(UInt64(range.count), Self.distance)))
    while start < range.upperBound {
      if packer.isRefused(record) {
        packer.skip(range.upperBound - start)
        return true
      }
      fetchAhead(of: start, in: range, of: file)
      let end = min(range.upperBound, start + UInt64(packer.sizes.chunk))
      let isThere = try unsafe packer.addChunk(place(record, start..<end)) { memory throws(SystemError) in
        try unsafe file.readFully(at: Int64(start), into: memory) == memory.count
      }
      guard isThere else { return false }
      start = end
    }
    return true
  }

  /// Asks for what comes a distance behind the next chunk, as much as a chunk has.
  private func fetchAhead(of start: UInt64, in range: Range<UInt64>, of file: Place.File) {
    let (next, overflow) = start.addingReportingOverflow(Self.distance)
    guard !overflow, next < range.upperBound else { return }
    file.fetch(at: Int64(next), length: Int64(min(UInt64(packer.sizes.chunk), range.upperBound - next)))
  }

  private func place(_ record: ItemRecord, _ range: Range<UInt64>, isHole: Bool = false) -> ChunkPlace {
    ChunkPlace(path: path, generation: record.generation, range: range, isHole: isHole)
  }

  private typealias Extent = (range: Range<UInt64>, isHole: Bool)

  /// How much data there is between two holes at least, in longer paths zeros included: what receivers remember of pieces must
  /// not be more than what these bring (Protocol §11). No file system has extents as short as half a kilobyte.
  private var shortestData: UInt64 {
    let pieces = 2 * (Limits.pieceOverhead + UInt64(path.bytes.count))
    return pieces > 512 ? pieces : 0
  }

  /// The data or the hole at a position inside a file; a file without holes is one extent and costs no call.
  private func extent(
    of file: Place.File, _ status: FileStatus, from position: UInt64
  ) throws(ArchiveError) -> Extent {
    let size = UInt64(status.size)
    guard status.allocatedBytes < status.size else { return (position..<size, false) }
    return try reading { () throws(SystemError) in
      let data = try file.nextData(from: Int64(position)).map { min(size, UInt64($0)) } ?? size
      if data > position { return (position..<data, true) }
      let start = position + min(shortestData, size - position)
      guard start < size else { return (position..<size, false) }
      let end = try file.nextHole(from: Int64(start)).map { min(size, UInt64($0)) } ?? size
      // A file system that contradicts itself is read as data.
      return (position..<(end > position ? end : size), false)
    }
  }

  /// The state of a file once no other change can go unseen behind the same time stamp; nil if it does not hold still for
  /// that long.
  private func settle(_ file: Place.File) throws(ArchiveError) -> SourceLook? {
    for _ in 0..<5 {
      let look = try reading { () throws(SystemError) in
        try directory.look { () throws(SystemError) in try file.status() }
      }
      guard look.unsettledSeconds > 0 else { return look }
      try packer.pause(seconds: look.unsettledSeconds)
    }
    return nil
  }

  /// Says of a failure which file it is about.
  private func reading<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(ArchiveError) -> Result {
    do {
      return try body()
    } catch {
      throw ArchiveError("reading", path, error)
    }
  }
}
