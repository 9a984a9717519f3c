import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Several readers of one source at a time, each on its own thread.
@Suite struct ReadersTests {
  /// Reads a source with this many threads.
  private func read(_ source: FolderSource, _ outlet: Outlet, by threads: Int) throws -> ExportResult {
    let settings = ExportSettings(
      listener: outlet, keys: testKeys, held: HeldItems(), sizes: ArchiveSizes(part: 1 << 20)
    )
    return try source.export(settings, for: nil) { frames in
      let readers = (0..<threads).compactMap { number in
        try? RunningThread("reader \(number)") { outlet.read(frames) }
      }
      for reader in readers { try? reader.value() }
    }
  }

  private func offer(_ summary: SourceSummary) -> Offer {
    Offer(summary)
  }

  @Test(arguments: [1, 2, 8])
  func `a tree with items of every type arrives whole, each byte once`(threads: Int) throws {
    let scratch = try Scratch.withFolders()
    for folder in 0..<12 {
      scratch.makeDirectory("source/\(folder)")
      for file in 0..<40 { scratch.write("source/\(folder)/\(file)", pattern(file * 97, seed: UInt64(folder))) }
      expect(link("\(scratch.path)/source/\(folder)/7", "\(scratch.path)/source/\(folder)/again"), is: 0)
      expect(link("\(scratch.path)/source/0/8", "\(scratch.path)/source/\(folder)/everywhere"), is: 0)
      scratch.makeLink("source/\(folder)/symbolic", to: "7")
    }
    for large in 0..<3 { scratch.write("source/large \(large)", pattern(5_000_000 + large, seed: UInt64(large))) }
    scratch.write("source/sparse", pattern(100))
    scratch.cut("source/sparse", to: 40_000_000)
    scratch.patch("source/sparse", pattern(70_000), at: 20_000_000)
    let before = scratch.snapshot("source")
    scratch.letSettle()
    let source = try FolderSource(paths: [scratch.at("source")])
    let summary = try source.prepare(until: StopSignal())
    let outlet = Outlet()
    let result = try read(source, outlet, by: threads)
    expect(result.finish.total == summary.total && result.finish.unsent == 0 && outlet.unsent.isEmpty)
    expect(outlet.counted.bytes == summary.total.bytes && outlet.counted.items == summary.total.items)
    let arrival = try Arrival(scratch, offer(summary))
    try arrival.write(outlet.frames)
    expect(try arrival.finish(result.finish), is: [])
    expect(scratch.snapshot("destination/source").differences(from: before), is: [])
  }

  @Test func `large files that change while several threads read them arrive in one state or are named`() throws {
    let scratch = try Scratch.withFolders()
    for large in 0..<4 { scratch.write("source/\(large)", pattern(6_000_000, seed: 1)) }
    scratch.letSettle()
    let outlet = Outlet { number in
      guard number % 13 == 5, number < 100 else { return }
      scratch.write("next \(number)", [UInt8](repeating: UInt8(number), count: 6_000_000))
      scratch.move("next \(number)", to: "source/\(number % 4)")
    }
    let source = try FolderSource(paths: [scratch.at("source")])
    let summary = try source.prepare(until: StopSignal())
    let result = try read(source, outlet, by: 4)
    let arrival = try Arrival(scratch, offer(summary))
    try arrival.write(outlet.frames)
    try arrival.finish(result.finish)
    expect(result.finish.total.items + result.finish.unsent, is: 5)
    for large in 0..<4 where scratch.exists("destination/source/\(large)") {
      let content = scratch.read("destination/source/\(large)")
      let isReplaced = content.count == 6_000_000 && content.allSatisfy { $0 == content[0] }
      expect(isReplaced || content == pattern(6_000_000, seed: 1), "\(large) arrived in one state")
    }
  }

  @Test func `the totals of an archive are complete while streams ask for more work`() throws {
    let scratch = try Scratch.withFolders()
    for file in 0..<40 { scratch.write("source/\(file)", pattern(20_000)) }
    scratch.letSettle()
    for _ in 0..<100 {
      let source = try FolderSource(paths: [scratch.at("source")])
      let summary = try source.prepare(until: StopSignal())
      let outlet = Outlet()
      let settings = ExportSettings(listener: outlet, keys: testKeys, held: HeldItems())
      let isOver = StopSignal()
      var readers: [RunningThread<Void>] = []
      let result = try source.export(settings, for: nil) { frames in
        readers = (0..<3).compactMap { number in
          try? RunningThread("reader \(number)") {
            while !isOver.isSet { outlet.read(frames) }
          }
        }
      }
      isOver.set()
      for reader in readers { try reader.value() }
      try #require(result.finish.total == summary.total)
    }
  }

  @Test func `on a rotating disk that limits the speed, one reader works at a time`() throws {
    let scratch = try Scratch.withFolders()
    for file in 0..<20 { scratch.write("source/\(file)", pattern(300_000)) }
    scratch.letSettle()
    let root = try SourceRoot(path: scratch.at("source"))
    let place = SlowDirectory(try RealDirectory(root.parent))
    let outlet = Outlet()
    let settings = ExportSettings(
      listener: outlet, keys: testKeys, held: HeldItems(), isRotating: true
    )
    let export = ArchiveExport<SlowDirectory>(settings)
    _ = export.add(SourceBatch(roots: [place], tree: try SourceWalk.walk([root])))
    // The first frame shows that the disk is slow.
    var first = FrameBuffer(capacity: 300_000)
    expect(export.fill(&first, written: 0), is: .full)
    let readers = try (0..<4).map { number in try RunningThread("reader \(number)") { outlet.read(export) } }
    for reader in readers { try reader.value() }
    expect(place.reads.most, is: 1)
  }
}

/// Counts how many reads there are at once; each read takes some time.
private final class ReadCount: Sendable {
  private let reads = Mutex((now: 0, most: 0))

  var most: Int { reads.withLock { $0.most } }

  func reading<Result>(_ body: () throws(SystemError) -> Result) throws(SystemError) -> Result {
    reads.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
    defer { reads.withLock { $0.now -= 1 } }
    // The seek time of a disk.
    usleep(20_000)
    return try body()
  }
}

/// A directory whose files are slow to read.
private final class SlowDirectory: SourceDirectory {
  private let inner: RealDirectory
  let reads: ReadCount

  init(_ inner: RealDirectory, _ reads: ReadCount = ReadCount()) {
    self.inner = inner
    self.reads = reads
  }

  func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> SlowFile { SlowFile(try inner.open(name), reads) }
  func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus { try inner.status(name) }
  func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8] { try inner.readLink(name) }

  func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata {
    try inner.extendedMetadata(ofDirectory: name)
  }

  func directory(at path: ArchivePath) throws(SystemError) -> SlowDirectory {
    SlowDirectory(try inner.directory(at: path), reads)
  }

  func fileSystem(of status: FileStatus) -> UInt64 { inner.fileSystem(of: status) }

  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceStatus {
    try inner.look(status)
  }
}

private final class SlowFile: SourceFile {
  private let inner: RealDirectory.File
  private let reads: ReadCount

  init(_ inner: RealDirectory.File, _ reads: ReadCount) {
    self.inner = inner
    self.reads = reads
  }

  func status() throws(SystemError) -> FileStatus { try inner.status() }
  func extendedMetadata() throws(SystemError) -> ExtendedMetadata { try inner.extendedMetadata() }

  func readFully(at offset: Int64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try reads.reading { () throws(SystemError) in try inner.readFully(at: offset, into: &memory) }
  }

  func adviseSequential() {}
  func nextData(from offset: Int64) throws(SystemError) -> Int64? { try inner.nextData(from: offset) }
  func nextHole(from offset: Int64) throws(SystemError) -> Int64? { try inner.nextHole(from: offset) }
}
