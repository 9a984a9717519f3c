import MigrationSystem
import MigrationWire

/// How a try to send a file ended.
enum FileOutcome: Equatable {
  case sent
  /// It changed while it was read. `startedChunks`: chunks of the abandoned generation are under way.
  case changed(startedChunks: Bool)
}

/// Sends one file in one state, or finds that it does not hold still (Protocol §8.3).
struct FileExport<Place: SourceDirectory> {
  let packer: FramePacker
  let directory: Place
  let path: ArchivePath
  let name: ArraySlice<UInt8>

  /// Reads the file and adds it, unless the receiver holds it. Failures to open or read it are the kernel's.
  func run() throws(ArchiveError) -> FileOutcome {
    if packer.isResuming, try isHeld() { return .sent }
    let file = try reading { () throws(SystemError) in try directory.open(name) }
    var before = try reading { () throws(SystemError) in try file.status() }
    guard before.kind == .regular else {
      throw ArchiveError("reading", path, SystemError(reason: "it is no file any more", operation: "read"))
    }
    guard try settle(file, &before) else { return .changed(startedChunks: false) }
    let generation = packer.generation(before, on: directory.fileSystem(of: before))
    guard let record = ItemRecord(before, path: path, generation: generation) else {
      return .changed(startedChunks: false)
    }
    if packer.skipHeld(record) { return .sent }
    if before.size == 0 {
      try packer.add(record)
      return .sent
    }
    if before.size <= packer.sizes.smallFile { return try sendWhole(file, record, before) }
    return try sendChunks(of: file, record, before)
  }

  /// Whether the receiver has the file in the state in which it is now; nothing need be opened to find out.
  private func isHeld() throws(ArchiveError) -> Bool {
    let status = try reading { () throws(SystemError) in try directory.status(name) }
    let generation = packer.generation(status, on: directory.fileSystem(of: status))
    guard status.kind == .regular, let record = ItemRecord(status, path: path, generation: generation) else {
      return false
    }
    return packer.skipHeld(record)
  }

  private func sendWhole(
    _ file: Place.File, _ record: ItemRecord, _ before: FileStatus
  ) throws(ArchiveError) -> FileOutcome {
    let isWhole = try unsafe packer.addSmallFile(record) { memory throws(SystemError) in
      guard try unsafe file.readFully(at: 0, into: memory) == memory.count else { return false }
      return try file.status().isSameState(as: before)
    }
    return isWhole ? .sent : .changed(startedChunks: false)
  }

  private func sendChunks(
    of file: Place.File, _ record: ItemRecord, _ before: FileStatus
  ) throws(ArchiveError) -> FileOutcome {
    file.adviseSequential()
    let held = packer.heldRanges(record)
    for extent in try extents(of: file, before) {
      for gap in held.gaps(in: extent.range) {
        if extent.isHole {
          try packer.addHole(place(record, gap, isHole: true))
        } else if try !sendRange(gap, of: file, record) {
          return .changed(startedChunks: true)
        }
      }
    }
    let after = try reading { () throws(SystemError) in try file.status() }
    guard after.isSameState(as: before) else { return .changed(startedChunks: true) }
    try packer.addRecord(of: record)
    return .sent
  }

  private func sendRange(
    _ range: Range<UInt64>, of file: Place.File, _ record: ItemRecord
  ) throws(ArchiveError) -> Bool {
    var start = range.lowerBound
    while start < range.upperBound {
      let end = min(range.upperBound, start + UInt64(packer.sizes.chunk))
      let isThere = try unsafe packer.addChunk(place(record, start..<end)) { memory throws(SystemError) in
        try unsafe file.readFully(at: Int64(start), into: memory) == memory.count
      }
      guard isThere else { return false }
      start = end
    }
    return true
  }

  private func place(_ record: ItemRecord, _ range: Range<UInt64>, isHole: Bool = false) -> ChunkPlace {
    ChunkPlace(path: path, generation: record.generation, range: range, isHole: isHole)
  }

  private typealias Extent = (range: Range<UInt64>, isHole: Bool)

  /// Data and holes in their order; a file without holes is one extent and costs no call.
  private func extents(of file: Place.File, _ status: FileStatus) throws(ArchiveError) -> [Extent] {
    let size = UInt64(status.size)
    guard status.allocatedBytes < status.size else { return [(0..<size, false)] }
    var extents: [Extent] = []
    var position: UInt64 = 0
    try reading { () throws(SystemError) in
      while position < size {
        let data = try file.nextData(from: Int64(position)).map { min(size, UInt64($0)) } ?? size
        if data > position { extents.append((position..<data, true)) }
        guard data < size else { break }
        let end = try file.nextHole(from: Int64(data)).map { min(size, UInt64($0)) } ?? size
        // A file system that contradicts itself is read as data.
        guard end > data else {
          extents = [(0..<size, false)]
          return
        }
        extents.append((data..<end, false))
        position = end
      }
    }
    return extents
  }

  /// Waits until the file system's clock has moved past the file's last change, so that another change cannot go unseen
  /// behind the same time stamp; false if the file does not hold still for that long.
  private func settle(_ file: Place.File, _ status: inout FileStatus) throws(ArchiveError) -> Bool {
    for _ in 0..<4 {
      // File systems without fractions of a second count whole ones; the others follow the kernel's tick.
      let granule = status.changed.nanoseconds == 0 ? 2.0 : 0.012
      let age = directory.now.seconds(since: status.changed)
      guard abs(age) < granule else { return true }
      try packer.pause(seconds: granule - age)
      status = try reading { () throws(SystemError) in try file.status() }
    }
    return false
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
