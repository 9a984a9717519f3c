import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// File systems without a time of change: they do not show that a file was edited and its
/// modification time restored.
@Suite struct StampKeepingTests {
  private func status(modified: Int64, changed: Int64) -> FileStatus {
    FileStatus(
      kind: .regular, mode: 0o644, size: 1, allocatedBytes: 0, device: 1, inode: 1,
      modified: Timestamp(seconds: modified), changed: Timestamp(seconds: changed))
  }

  @Test func `a time of change is trusted if every change moves it, or if it is later`() {
    let (ext4, exfat, fuse, nfs) = (0xEF53, 0x2011_BAB0, 0x6573_5546, 0x6969) as (UInt64, UInt64, UInt64, UInt64)
    let same = status(modified: 7, changed: 7)
    for type in [ext4, nfs] { expect(StampKeeping(fileSystemType: type).showsEveryChange(same)) }
    for type in [exfat, fuse] {
      let keeping = StampKeeping(fileSystemType: type)
      expect(keeping, is: .unknown)
      expect(!keeping.showsEveryChange(same))
      expect(!keeping.showsEveryChange(status(modified: 7, changed: 6)))
      expect(!keeping.showsEveryChange(status(modified: -7, changed: 0)))
      expect(keeping.showsEveryChange(status(modified: 7, changed: 8)))
    }
  }

  /// Sends a large file from a disk with this handling of stamps, in two sessions; the first ends
  /// in the middle. Returns the received file, and how much of it came in the second session.
  private func sendInTwoSessions(
    _ scratch: Scratch, _ stamps: StampKeeping, between edit: () -> Void = {}
  ) throws -> (content: [UInt8]?, second: Int) {
    let source = try FormattedSource(scratch, stamps)
    let first = try source.export(HeldItems())
    let arrival = try Arrival(scratch, offer(["source"]))
    try arrival.write(Array(first.frames.prefix(2)))
    edit()
    let second = try source.export(HeldItems(of: arrival.staging))
    try arrival.write(second.frames)
    try arrival.finish(second.finish)
    let chunks = try second.frames.flatMap(entriesOf).reduce(0) { sum, entry in
      if case .chunk(let place, _, data: _) = entry { sum + place.range.count } else { sum }
    }
    return (scratch.snapshot("destination")["source/file"]?.content, chunks)
  }

  private let size = 3_000_000

  private func scratch() throws -> Scratch {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(size))
    scratch.setTime("source/file", 1_000_000_000, 5)
    // A recently changed directory would have another generation in each session.
    scratch.letSettle()
    return scratch
  }

  @Test func `an edit between two sessions that restores the time is not mixed with earlier data`() throws {
    let scratch = try scratch()
    let (content, second) = try sendInTwoSessions(scratch, .unknown) {
      scratch.patch("source/file", pattern(size, seed: 9), at: 0)
      scratch.setTime("source/file", 1_000_000_000, 5)
    }
    expect(content, is: pattern(size, seed: 9))
    expect(second, is: size)
  }

  @Test func `a part is sent again only if the disk keeps no time of change`() throws {
    let doubtful = try sendInTwoSessions(try scratch(), .unknown)
    expect(doubtful.content == pattern(size) && doubtful.second == size)
    let certain = try sendInTwoSessions(try scratch(), .ownClock)
    expect(certain.content == pattern(size) && certain.second < size)
  }

  @Test func `a complete file is held on every kind of disk`() throws {
    let scratch = try scratch()
    let source = try FormattedSource(scratch, .unknown)
    let arrival = try Arrival(scratch, offer(["source"]))
    try arrival.write(try source.export(HeldItems()).frames)
    let second = try source.export(HeldItems(of: arrival.staging))
    expect(try second.frames.flatMap(entriesOf).allSatisfy { $0.text == "source" })
    try arrival.write(second.frames)
    try arrival.finish(second.finish)
  }

  @Test func `a dropped part is not counted as held when the file returns to that state`() throws {
    let scratch = try scratch()
    let source = try FormattedSource(scratch, .unknown)
    let arrival = try Arrival(scratch, offer(["source"]))
    try arrival.write(Array(try source.export(HeldItems()).frames.prefix(2)))
    // The file has another state while it is read, and the old state when it is tried again.
    let second = try source.export(HeldItems(of: arrival.staging)) { number in
      if number == 3 { scratch.setTime("source/file", 1_000_000_000, 7) }
      if number == 8 { scratch.setTime("source/file", 1_000_000_000, 5) }
    }
    try arrival.write(second.frames)
    try arrival.finish(second.finish)
    expect(scratch.snapshot("destination")["source/file"]?.content, is: pattern(size))
  }
}

/// The folder `source` as shown by a disk with its own handling of stamps: without a time of
/// change, if that is unknown.
private struct FormattedSource {
  let place: FormattedDirectory
  let tree: SourceTree

  init(_ scratch: Scratch, _ stamps: StampKeeping) throws {
    let root = try SourceRoot(path: scratch.at("source"))
    place = FormattedDirectory(try RealDirectory(root.parent), stamps)
    tree = try SourceWalk.walk([root])
  }

  func export(
    _ held: HeldItems, whenBuffer change: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws -> (frames: [[UInt8]], finish: Finish) {
    let outlet = Outlet(whenBuffer: change)
    let result = try ArchiveExport.read(SourceBatch(roots: [place], tree: tree), through: outlet, held: held)
    return (outlet.frames, result.finish)
  }
}

private final class FormattedDirectory: SourceDirectory {
  private let inner: RealDirectory
  private let stamps: StampKeeping

  init(_ inner: RealDirectory, _ stamps: StampKeeping) {
    self.inner = inner
    self.stamps = stamps
  }

  func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> FormattedFile {
    FormattedFile(try inner.open(name), stamps)
  }

  func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus { stamps.shown(try inner.status(name)) }
  func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8] { try inner.readLink(name) }

  func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata {
    try inner.extendedMetadata(ofDirectory: name)
  }

  func directory(at path: ArchivePath) throws(SystemError) -> FormattedDirectory {
    FormattedDirectory(try inner.directory(at: path), stamps)
  }

  func fileSystem(of status: FileStatus) -> UInt64 { inner.fileSystem(of: status) }
  func showsEveryChange(_ status: FileStatus) -> Bool { stamps.showsEveryChange(status) }

  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceStatus {
    try inner.look(status)
  }
}

private final class FormattedFile: SourceFile {
  private let inner: RealDirectory.File
  private let stamps: StampKeeping

  init(_ inner: RealDirectory.File, _ stamps: StampKeeping) {
    self.inner = inner
    self.stamps = stamps
  }

  func status() throws(SystemError) -> FileStatus { stamps.shown(try inner.status()) }
  func extendedMetadata() throws(SystemError) -> ExtendedMetadata { try inner.extendedMetadata() }

  func readFully(at offset: Int64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try inner.readFully(at: offset, into: &memory)
  }

  func adviseSequential() {}
  func nextData(from offset: Int64) throws(SystemError) -> Int64? { try inner.nextData(from: offset) }
  func nextHole(from offset: Int64) throws(SystemError) -> Int64? { try inner.nextHole(from: offset) }
}

extension StampKeeping {
  /// A status as shown by a disk with this handling of stamps.
  fileprivate func shown(_ status: FileStatus) -> FileStatus {
    guard self == .unknown else { return status }
    return FileStatus(
      kind: status.kind, mode: status.mode, size: status.size, allocatedBytes: status.allocatedBytes,
      device: status.device, inode: status.inode, linkCount: status.linkCount, owner: status.owner, group: status.group,
      modified: status.modified, changed: status.modified)
  }
}
