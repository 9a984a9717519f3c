import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The growth of an app's export, and data of folders beyond the space that their offer names: as
/// far as the space permits, except for a reserve.
@Suite struct RoomWatchTests {
  /// A real disk that reports the space that it is told to report, and counts the requests.
  private final class MeasuredDisk: StagingDisk {
    let disk: DirectoryDisk
    let said: Mutex<(space: FileSystemSpace, afterSync: FileSystemSpace?, looks: Int, syncs: Int)>
    /// Happens once, after the disk was asked so many times.
    let afterLooks = Mutex<(left: Int, body: @Sendable () -> Void)>((0, {}))
    /// Happens while the disk syncs.
    let duringSync = Mutex<@Sendable () -> Void>({})

    init(_ disk: DirectoryDisk, _ space: FileSystemSpace) {
      self.disk = disk
      said = Mutex((space, nil, 0, 0))
    }

    var name: [UInt8] { disk.name }
    var journal: any StagedFile { disk.journal }
    func places() -> any StagingTree { disk.places() }
    func synchronize() throws(SystemError) {
      try disk.synchronize()
      duringSync.withLock { $0 }()
      said.withLock { said in
        said.space = said.afterSync ?? said.space
        said.syncs += 1
      }
    }
    var looks: Int { said.withLock { $0.looks } }
    var syncs: Int { said.withLock { $0.syncs } }

    func set(_ space: FileSystemSpace, afterSync: FileSystemSpace? = nil) {
      said.withLock { said in
        said.space = space
        said.afterSync = afterSync
      }
    }

    func space() -> FileSystemSpace? {
      defer {
        let body = afterLooks.withLock { later -> (@Sendable () -> Void)? in
          later.left -= 1
          return later.left == 0 ? later.body : nil
        }
        body?()
      }
      return said.withLock { said in
        said.looks += 1
        return said.space
      }
    }
  }

  private static let mebibyte: UInt64 = 1 << 20
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private static func offer(bytes: UInt64, items: UInt64 = 1, isApp: Bool = true) -> Offer {
    let app = AppIdentity(bundleIdentifier: "app", store: "", platform: "", version: "")
    return Offer(
      contents: isApp ? .app(app) : .folders([Root(kind: .directory, name: Array("root".utf8))]),
      items: items, bytes: bytes, allocated: bytes, flags: .estimated)
  }

  /// A disk of 100 MiB, so that the reserve is 5 MiB. `more` is for the journal and directories.
  private static func space(_ mebibytes: UInt64, items: UInt64? = nil, more: UInt64 = 0) -> FileSystemSpace {
    FileSystemSpace(
      availableBytes: mebibytes * mebibyte + more, availableItems: items, totalBytes: 100 * mebibyte,
      totalItems: items.map { _ in 1_000 })
  }

  private func begin(
    _ offer: Offer, _ space: FileSystemSpace, in name: String = "staging"
  ) throws -> (StagingWriter, Staging, MeasuredDisk) {
    let directory = SharedDirectory(try Directory.open(scratch.path))
    let disk = MeasuredDisk(try DirectoryDisk(making: Array(name.utf8), in: directory), space)
    let staging = try Staging(on: disk, for: offer, transfer: 1, keys: testKeys)
    staging.beginSession(offer, mayRefuse: false)
    return (StagingWriter(staging), staging, disk)
  }

  private static func chunk(_ number: UInt64) throws -> [UInt8] {
    try Crafted.frame { try $0.chunk("root/f", 1, at: number * mebibyte, pattern(Int(mebibyte))) }
  }

  /// The number of chunks of 1 MiB that are accepted before one fails, and the error.
  private func fill(_ writer: StagingWriter, from first: UInt64 = 0, most: UInt64 = 40) throws -> (
    UInt64, Failure?
  ) {
    for number in first..<most {
      guard let error = thrown(by: { try writer.write(try Self.chunk(number)) }) else { continue }
      return (number, error as? Failure)
    }
    return (most, nil)
  }

  @Test func `an export grows beyond its estimate up to the reserve, and no further`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(20, more: 65_536))
    expect(try fill(writer, most: 15) == (15, nil))
    disk.set(Self.space(5))
    let (number, error) = try fill(writer, from: 15)
    expect(number == 15 && error?.code == .noSpace)
    // The journal's record of a piece takes 96 bytes and its path.
    expect(error?.bytes, is: Close.Space(needed: 6 * Self.mebibyte + 102, available: 5 * Self.mebibyte))
    expect(
      error?.description,
      is: "not enough space: more comes than the app has estimated, and how much is not known; 5.2 MB available, of "
        + "which 5.2 MB stay free")
  }

  @Test func `space that the file system has set aside for a growing file counts as free`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(20, more: 65_536))
    expect(try fill(writer, most: 15) == (15, nil))
    expect(system("fallocate --keep-size --length 24MiB \(scratch.path("staging/tree/root/f"))"), is: 0)
    disk.set(Self.space(5))
    expect(try fill(writer, from: 15).0 > 20)
  }

  @Test(arguments: [2, 3]) func `space that is set aside while the disk is asked does not count twice`(
    looks: Int
  ) throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(20, more: 65_536))
    expect(try fill(writer, most: 15) == (15, nil))
    disk.set(Self.space(5))
    let file = scratch.path("staging/tree/root/f")
    disk.afterLooks.withLock {
      $0 = (
        looks,
        { [disk] in
          expect(system("fallocate --keep-size --length 19MiB \(file)"), is: 0)
          disk.set(Self.space(1))
        }
      )
    }
    expect(try fill(writer, from: 15).1?.code, is: .noSpace)
  }

  @Test func `the receiver does not trust a file system that counts late`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(20))
    disk.set(Self.space(20, more: 65_536), afterSync: Self.space(5))
    let (number, error) = try fill(writer)
    expect(number == 15 && error?.bytes?.available == 5 * Self.mebibyte)
  }

  @Test func `other streams write while the data of one is made durable`() throws {
    let (writer, staging, disk) = try begin(Self.offer(bytes: 1), Self.space(20, more: 65_536))
    disk.set(Self.space(20, more: 65_536), afterSync: Self.space(30))
    let end = Outcome<Void>(of: "another stream's frame")
    disk.duringSync.withLock {
      $0 = {
        #expect(throws: Never.self) {
          let other = try RunningThread("other stream") {
            end.set(Result { try StagingWriter(staging).write(try Self.chunk(0)) })
          }
          try end.wait(until: soon())
          withExtendedLifetime(other) {}
        }
      }
    }
    expect(try fill(writer, most: 16) == (16, nil))
    expect(end.isThere(by: .now()) && disk.syncs == 1)
  }

  @Test func `the disk is asked rarely`() throws {
    let (writer, _, disk) = try begin(
      Self.offer(bytes: 1), FileSystemSpace(availableBytes: 1 << 40, totalBytes: 1 << 40))
    let before = disk.looks
    expect(try fill(writer) == (40, nil))
    expect(disk.looks, is: before + 1)
    // Half of the reserve, and at least 4 MiB: three pieces, with their journal records.
    disk.set(Self.space(95))
    writer.staging.beginSession(Self.offer(bytes: 1), mayRefuse: false)
    let later = disk.looks
    expect(try fill(writer, from: 40, most: 80) == (80, nil))
    expect(disk.looks - later, is: 14)
  }

  @Test func `space used by another program is noticed, and the announced data is taken into account`() throws {
    let (writer, staging, disk) = try begin(Self.offer(bytes: 30 << 20), Self.space(40))
    expect(try fill(writer, most: 10) == (10, nil))
    disk.set(Self.space(24))
    // 20 MiB are still to come, and 5 stay free: the next session finds that with its first byte.
    staging.beginSession(Self.offer(bytes: 30 << 20), mayRefuse: false)
    let (number, error) = try fill(writer, from: 10)
    expect(number == 10 && error?.bytes?.needed == 25 * Self.mebibyte)
    disk.set(Self.space(25, more: 65_536))
    staging.beginSession(Self.offer(bytes: 30 << 20), mayRefuse: false)
    expect(try fill(writer, from: 10, most: 30) == (30, nil))
  }

  @Test func `once there is space the same transfer continues, and held data needs none`() throws {
    let (writer, staging, disk) = try begin(Self.offer(bytes: 1), Self.space(20, more: 65_536))
    expect(try fill(writer, most: 15) == (15, nil))
    disk.set(Self.space(5))
    expect(try fill(writer, from: 15).1?.code, is: .noSpace)
    // A frame that comes twice is held, however full the disk is.
    try writer.write(try Self.chunk(14))
    disk.set(Self.space(50))
    staging.beginSession(Self.offer(bytes: 1), mayRefuse: false)
    expect(try fill(writer, from: 15) == (40, nil))
    expect(staging.held.bytes, is: 40 * Self.mebibyte)
  }

  @Test func `holes take no space`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(6))
    try writer.write(try Crafted.frame { try $0.hole("root/sparse", 1, at: 0, 1 << 40) })
    try writer.write(try Crafted.frame { $0.item(try record("root/sparse", .file(size: 1 << 40))) })
    expect(disk.looks > 0)
  }

  @Test func `space used by another program during a session is noticed within 4 MiB`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(90))
    expect(try fill(writer, most: 4) == (4, nil))
    disk.set(Self.space(5))
    let (number, error) = try fill(writer, from: 4)
    expect(number == 6 && error?.bytes?.available == 5 * Self.mebibyte)
  }

  @Test func `the journal's records of holes take space`() throws {
    // A directory, a file, and 200 bytes.
    let (writer, _, _) = try begin(Self.offer(bytes: 1), Self.space(5, more: 2 * 4_096 + 200))
    let hole = { (number: UInt64) in try Crafted.frame { try $0.hole("root/sparse", 1, at: 2 * number, 1) } }
    for number in 0..<20 { try writer.write(try hole(UInt64(number))) }
    expect(failure { for number in 20..<200 { try writer.write(try hole(UInt64(number))) } }, is: "noSpace")
  }

  @Test func `parent directories of an item are charged once`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(50, items: 55))
    let make = { (path: String) in try Crafted.frame { $0.item(try record(path, .file(size: 0))) } }
    let error = try #require(thrown { try writer.write(try make("root/a/b/c/d/x")) } as? Failure)
    expect(error.items, is: Close.Space(needed: 56, available: 55))
    disk.set(Self.space(50, items: 56))
    try writer.write(try make("root/a/b/c/d/x"))
    disk.set(Self.space(50, items: 51))
    try writer.write(try make("root/a/b/c/d/y"))
    let second = try #require(thrown { try writer.write(try make("root/a/q/z")) } as? Failure)
    expect(second.items, is: Close.Space(needed: 52, available: 51))
    // They have blocks, too.
    disk.set(Self.space(5, more: 2 * 4_096))
    expect(failure { try writer.write(try make("root/a/q/z")) }, is: "noSpace")
  }

  @Test func `near the reserve not every piece is synced`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(5, more: 300_000))
    let piece = pattern(4_096)
    let error = thrown {
      for number in 0..<1_000 {
        try writer.write(try Crafted.frame { try $0.chunk("root/f", 1, at: UInt64(number) * 4_096, piece) })
      }
    }
    expect((error as? Failure)?.code, is: .noSpace)
    expect(disk.syncs, is: 1)
  }

  @Test func `the charge of a frame that is being written remains after a sync`() throws {
    let (writer, staging, disk) = try begin(Self.offer(bytes: 1), Self.space(7, more: 65_536))
    let piece = pattern(Int(Self.mebibyte))
    let frame = try Crafted.frame { frame in
      for number in 0..<3 { try frame.chunk("root/f", 1, at: UInt64(number) * Self.mebibyte, piece) }
    }
    expect(failure { try writer.write(frame) }, is: "noSpace")
    expect(disk.syncs == 1 && staging.held.bytes == 2 * Self.mebibyte)
    // Afterwards it counts as written.
    disk.set(Self.space(9, more: 65_536))
    staging.beginSession(Self.offer(bytes: 1), mayRefuse: false)
    try writer.write(try Self.chunk(2))
  }

  @Test func `entries of the file system are taken into account, too`() throws {
    let (writer, _, disk) = try begin(Self.offer(bytes: 1), Self.space(50, items: 60))
    let make = { (number: Int) in try Crafted.frame { $0.item(try record("root/\(number)", .directory)) } }
    // A twentieth of 1,000 stays free, and one entry is the parent directory.
    for number in 0..<9 { try writer.write(try make(number)) }
    disk.set(Self.space(50, items: 50))
    let error = try #require(thrown { try writer.write(try make(9)) } as? Failure)
    expect(error.code == .noSpace && error.items == Close.Space(needed: 51, available: 50))
  }

  @Test func `folders leave the reserve free, also if their offer names no space`() throws {
    let offer = Offer(
      contents: .folders([Root(kind: .directory, name: Array("root".utf8))]), items: 1,
      bytes: 1 << 40, allocated: 0, flags: [])
    let (writer, _, disk) = try begin(offer, Self.space(20, more: 65_536))
    expect(try fill(writer, most: 15) == (15, nil))
    disk.set(Self.space(5))
    let (number, error) = try fill(writer, from: 15)
    expect(number == 15 && error?.code == .noSpace && error?.bytes?.available == 5 * Self.mebibyte)
    // Announced items that the destination has do not come, and need no space.
    let (second, _, _) = try begin(Self.offer(bytes: 1 << 40, isApp: false), Self.space(7), in: "second")
    expect(try fill(second, most: 1) == (1, nil))
  }

  @Test func `an offer of folders is judged with the reserve`() throws {
    let importer = FolderImporter(try StagingArea(at: Array(scratch.path.utf8)))
    let free = try importer.area.destination.space().availableBytes
    expect(failure { try importer.judge(Self.offer(bytes: free - (1 << 20), isApp: false)) }, is: "noSpace")
  }

  @Test(arguments: [(1, 20), (1 << 30, 1 << 34), (1 << 30, 1 << 50), (0, 19)] as [(UInt64, UInt64)])
  func `the reserve is a twentieth, and at most 1 GiB`(expected: UInt64, total: UInt64) {
    let bytes = Reserve(of: FileSystemSpace(availableBytes: 0, totalBytes: total)).bytes
    expect(bytes, is: (total == 1 << 34 ? total / 20 : expected))
  }

  // MARK: The user's limit

  @Test func `more than the user accepts is refused, for folders as well`() throws {
    for isApp in [true, false] {
      let scratch = try Scratch()
      let directory = SharedDirectory(try Directory.open(scratch.path))
      let disk = MeasuredDisk(
        try DirectoryDisk(making: Array("staging".utf8), in: directory), Self.space(90))
      let offer = Self.offer(bytes: 1, isApp: isApp)
      let staging = try Staging(on: disk, for: offer, transfer: 1, keys: testKeys)
      staging.beginSession(offer, atMost: MostBytes(3 << 20))
      let writer = StagingWriter(staging)
      let (number, error) = try fill(writer)
      expect(number == 3 && error?.code == .noSpace && error?.items == nil)
      expect(
        error?.description, is: "the session exceeds 3.1 MB, the most that the receiver takes (--max-size)")
      expect(error?.hint?.contains("greater --max-size"), is: true)
      expect(staging.held.bytes, is: 3 * Self.mebibyte)
      // Held data is not counted.
      try writer.write(try Self.chunk(2))
      staging.beginSession(offer, atMost: MostBytes(40 << 20))
      expect(try fill(writer, from: 3) == (40, nil))
    }
  }

  @Test(arguments: [true, false])
  func `held data may be stale, so a session brings at most the limit and the end checks the total`(
    isApp: Bool
  ) throws {
    let offer = Self.offer(bytes: 1, isApp: isApp)
    let (writer, staging, _) = try begin(offer, Self.space(90))
    let most = MostBytes(3 << 20)
    staging.beginSession(offer, atMost: most)
    expect(try fill(writer, most: 3) == (3, nil))
    staging.beginSession(offer, atMost: most)
    // The same under another name.
    let renamed = { (number: UInt64) in
      try Crafted.frame { try $0.chunk("root/g", 1, at: number * Self.mebibyte, pattern(Int(Self.mebibyte))) }
    }
    for number in 0..<3 { try writer.write(try renamed(UInt64(number))) }
    expect(failure { try writer.write(try renamed(3)) }, is: "noSpace")
    let item = try record("root/g", .file(size: 3 << 20))
    try writer.write(Crafted.frame { $0.item(item) })
    let larger = try record("root/h", .file(size: 1))
    let error = try #require(thrown { try staging.complete(finish([item, larger])) { _ in } } as? Failure)
    expect(error.code == .noSpace && error.description.hasPrefix("the transfer has 3"))
    expect(staging.held.bytes, is: 6 << 20, "the staged data is unchanged")
    try staging.complete(finish([item])) { _ in }
    expect(staging.stage, is: .concluded(Tally(items: 1, bytes: 3 << 20)))
  }

  @Test func `once everything has arrived no reserve is required`() throws {
    let area = try StagingArea(at: Array(scratch.path.utf8))
    let free = try #require(try area.judgeRoom(for: Self.offer(bytes: 1), held: Tally()).availableBytes)
    let offer = Self.offer(bytes: 2 * free, items: 3)
    expect(failure { _ = try area.judgeRoom(for: offer, held: Tally(items: 3, bytes: free)) }, is: "noSpace")
    expect(failure { _ = try area.judgeRoom(for: offer, held: Tally(items: 3, bytes: 2 * free)) } == nil)
    let estimate = Self.offer(bytes: 40 << 20, items: 3)
    let (writer, staging, _) = try begin(estimate, Self.space(90))
    let item = try record("root/f", .file(size: 1))
    try writer.write(Crafted.frame { $0.file(item, [1]) })
    expect(staging.settled(of: estimate), is: Tally(items: 1, bytes: 1))
    // The exporter created less than expected.
    try staging.complete(finish([item])) { _ in }
    expect(staging.settled(of: estimate), is: Tally(items: 3, bytes: 40 << 20))
  }

  @Test func `an offer of more than the user accepts is refused immediately, even if data is held`() throws {
    let area = try StagingArea(at: Array(scratch.path.utf8), atMost: MostBytes(1000))
    expect(failure { try area.checkSize(of: Self.offer(bytes: 1000)) } == nil)
    expect(failure { try area.checkSize(of: Self.offer(bytes: 1001)) }, is: "noSpace")
    let free = try StagingArea(at: Array(scratch.path.utf8))
    expect(failure { try free.checkSize(of: Self.offer(bytes: .max)) } == nil)
  }

  @Test func `the limit of an app's transfer is the free space without the reserve, and the user's limit`()
    throws
  {
    let area = try StagingArea(at: Array(scratch.path.utf8))
    let judged = try area.judgeRoom(for: Self.offer(bytes: 1), held: Tally())
    let (most, free) = (try #require(judged.mostBytes), try #require(judged.availableBytes))
    expect(most < free)
    let few = try StagingArea(at: Array(scratch.path.utf8), atMost: MostBytes(1000))
    expect(try few.judgeRoom(for: Self.offer(bytes: 1), held: Tally()).mostBytes, is: 1000)
    // The estimate and the reserve do not fit together.
    expect(failure { _ = try area.judgeRoom(for: Self.offer(bytes: free), held: Tally()) }, is: "noSpace")
  }
}
