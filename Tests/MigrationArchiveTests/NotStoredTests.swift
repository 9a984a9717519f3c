import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Items that a disk cannot hold are named with the reason, and all others arrive.
@Suite struct NotStoredTests {
  private let scratch: Scratch
  private let export: Export

  init() throws {
    // A disk has less room for a file's attributes than memory.
    scratch = try Scratch.withFolders(onDisk: true)
    scratch.makeDirectory("source/fine")
    scratch.write("source/fine/note", [1, 2, 3])
    scratch.makeDirectory("source/b:d/deep")
    scratch.write("source/b:d/deep/inside", [4])
    scratch.write("source/c:d", [5])
    scratch.write("source/large", pattern(9_000))
    precondition(Glibc.symlink("fine/note", "\(scratch.path)/source/link") == 0)
    precondition(Glibc.link("\(scratch.path)/source/c:d", "\(scratch.path)/source/fine/same") == 0)
    scratch.letSettle()
    export = try Export([scratch.at("source")], sizes: .init(smallFile: 500, chunk: 1_000, fullFrame: 1_200))
  }

  private func disk() throws -> NarrowDisk {
    let directory = SharedDirectory(try Directory.open(scratch.at("destination")))
    return NarrowDisk(try DirectoryDisk(making: Staging.name(of: 0xABC), in: directory))
  }

  private func staging(_ disk: any StagingDisk, mayRefuse: Bool = true) throws -> Staging {
    let staging = try Staging(on: disk, for: export.offer, transfer: 0xABC, keys: testKeys)
    staging.beginSession(export.offer, mayRefuse: mayRefuse)
    return staging
  }

  private func recovered(_ disk: any StagingDisk) throws -> Staging {
    let staging = try Staging.recover(
      from: disk, for: export.offer, transfer: 0xABC, keys: testKeys)
    staging.beginSession(export.offer)
    return staging
  }

  private func write(_ frames: some Sequence<[UInt8]>, to staging: Staging) throws {
    let writer = StagingWriter(staging)
    for frame in frames { try writer.write(frame) }
  }

  private func named(_ staging: Staging) -> Set<String> {
    Set(staging.refusals(from: 0).map { "\(String(decoding: $0.path, as: UTF8.self)): \($0.reason.name)" })
  }

  private let expected: Set<String> = [
    "source/b:d: nameNotAllowed", "source/b:d/deep: directoryNotStored", "source/b:d/deep/inside: directoryNotStored",
    "source/c:d: nameNotAllowed", "source/large: tooLarge", "source/link: kindNotSupported",
    "source/fine/same: targetNotStored",
  ]

  private func check(_ staging: Staging, _ disk: NarrowDisk) throws {
    try staging.complete(export.result.finish) { _ in }
    expect(named(staging) == expected && staging.notStored == 7)
    expect(export.result.finish.total.items, is: staging.held.items + 7)
    var moves = FolderImport(staging, to: disk.disk)
    try moves.run { _ in }
    expect(scratch.names("destination/source"), is: ["fine"])
    expect(scratch.read("destination/source/fine/note"), is: [1, 2, 3])
  }

  @Test func `each item is refused for its own reason, and the rest arrives`() throws {
    let disk = try disk()
    let staging = try staging(disk)
    try write(export.outlet.frames, to: staging)
    try check(staging, disk)
  }

  @Test func `after a death at any frame the same items are refused, and none is sent again`() throws {
    for count in 0...export.outlet.frames.count {
      let disk = try disk()
      try write(export.outlet.frames.prefix(count), to: try staging(disk))
      let staging = try recovered(disk)
      let held = HeldItems(of: staging)
      let again = try Export(
        [scratch.at("source")], held: held, sizes: .init(smallFile: 500, chunk: 1_000, fullFrame: 1_200))
      let sent = Set(try again.entries.compactMap(\.record).map(staging.keys.mark))
      expect(sent.isDisjoint(with: staging.report.marks))
      try write(again.outlet.frames, to: staging)
      try check(staging, disk)
      try Directory.open(scratch.at("destination")).removeTree(Array("source".utf8))
      _ = try StagingArea.discard(0xABC, testKeys, from: scratch.at("destination"))
    }
  }

  @Test func `no part of a refused file stays in staging`() throws {
    let disk = try disk()
    let staging = try staging(disk)
    try write(export.outlet.frames, to: staging)
    let tree = "destination/\(String(decoding: disk.name, as: UTF8.self))/tree/source"
    expect(scratch.names(tree), is: ["fine"])
  }

  @Test(arguments: [EIO, EROFS, ENOTCONN, ESTALE, EACCES])
  func `an error that affects every item is the disk's, and ends the transfer`(errno: CInt) throws {
    let disk = try disk()
    let staging = try staging(disk)
    disk.failure.withLock { $0 = errno }
    let error = #expect(throws: Failure.self) { try write(export.outlet.frames, to: staging) }
    expect(error?.code == .storage && staging.refusals(from: 0).isEmpty)
  }

  @Test func `without support for refusals at the sender the transfer ends with the reason`() throws {
    let staging = try staging(try disk(), mayRefuse: false)
    let error = #expect(throws: Failure.self) { try write(export.outlet.frames, to: staging) }
    expect(error?.code == .storage && error?.cause != nil && staging.notStored == 0)
  }

  @Test func `an item without a journaled refusal is not refused, and another stream's chunk of it is kept`() throws {
    let disk = try disk()
    let staging = try staging(disk)
    let (one, other) = (
      StagingWriter(staging), StagingWriter(staging)
    )
    try one.write(Crafted.frame { try $0.chunk("source/f", 1, at: 0, pattern(1_000)) })
    disk.journalFailure.withLock { $0 = EIO }
    let error = #expect(throws: Failure.self) {
      try one.write(Crafted.frame { try $0.chunk("source/f", 1, at: 3_000, pattern(1_000)) })
    }
    disk.journalFailure.withLock { $0 = nil }
    expect(error?.code == .storage && staging.refusals(from: 0).isEmpty)
    try other.write(Crafted.frame { try $0.chunk("source/f", 1, at: 1_000, pattern(1_000)) })
    let held = try recovered(disk).report.partials.map(\.ranges.all)
    expect(held, is: [[0..<2_000]])
  }

  @Test func `a chunk of a file whose refusal could not be journaled is kept`() throws {
    let disk = try disk()
    let staging = try staging(disk)
    let (one, other) = (
      StagingWriter(staging), StagingWriter(staging)
    )
    try one.write(Crafted.frame { $0.item(try record("source", .directory)) })
    disk.journalFailure.withLock { $0 = EIO }
    #expect(throws: Failure.self) {
      try one.write(Crafted.frame { $0.item(try record("source/c:d", .file(size: 2_000))) })
    }
    disk.journalFailure.withLock { $0 = nil }
    expect(staging.notStored, is: 0)
    try other.write(Crafted.frame { try $0.chunk("source/c:d", 1, at: 0, pattern(1_000)) })
    let refused = named(try recovered(disk))
    expect(refused, is: ["source/c:d: nameNotAllowed"])
  }

  @Test func `items whose claims the journal could not take are not held, and come again`() throws {
    let disk = try disk()
    let staging = try staging(disk)
    let writer = StagingWriter(staging)
    let frame = try Crafted.frame {
      $0.item(try record("source", .directory))
      $0.item(try record("source/f", .file(size: 0)))
    }
    disk.journalFailure.withLock { $0 = ENOSPC }
    let error = #expect(throws: Failure.self) { try writer.write(frame) }
    expect(error?.code == .noSpace && staging.held == Tally())
    disk.journalFailure.withLock { $0 = nil }
    try writer.write(frame)
    expect(staging.held, is: Tally(items: 2, bytes: 0))
    let held = try recovered(disk).held
    expect(held, is: Tally(items: 2, bytes: 0))
  }

  @Test func `after a restart, the refusal of an item's last state leaves no earlier state of it`() throws {
    let disk = try disk()
    let (first, last) = (
      try record("source/d", .directory, generation: 1), try record("source/d", .directory, generation: 2)
    )
    try write(
      [
        try Crafted.frame {
          $0.item(try record("source", .directory))
          $0.item(first)
        }
      ], to: try staging(disk))
    let later = try recovered(disk)
    try write([Crafted.frame { $0.item(last) }], to: later)
    try later.journal.append([.refused(path: last.path, generation: last.generation, size: 0, .other)])
    let after = try recovered(disk)
    expect(after.notStored, is: 1)
    expect(!after.report.marks.contains(testKeys.mark(first)))
  }

  @Test func `a file that a failing disk kept, without a claim, is replaced when the disk works again`() throws {
    let disk = try disk()
    let staging = try staging(disk)
    let frame = try Crafted.frame { $0.file(try record("source/f", .file(size: 100)), pattern(100)) }
    disk.contentFailure.withLock { $0 = EIO }
    let error = #expect(throws: Failure.self) { try write([frame], to: staging) }
    expect(error?.code, is: .storage)
    disk.contentFailure.withLock { $0 = nil }
    staging.beginSession(export.offer)
    try write([frame], to: staging)
    expect(staging.held.bytes, is: 100)
  }

  @Test func `a file whose end a failing disk refused is ended when the disk works again`() throws {
    let disk = try disk()
    let staging = try staging(disk)
    let file = try record("source/f", .file(size: 100))
    try write([Crafted.frame { try $0.chunk("source/f", file.generation, at: 0, pattern(100)) }], to: staging)
    disk.contentFailure.withLock { $0 = EIO }
    let error = #expect(throws: Failure.self) { try write([Crafted.frame { $0.item(file) }], to: staging) }
    expect(error?.code, is: .storage)
    disk.contentFailure.withLock { $0 = nil }
    staging.beginSession(export.offer)
    try write([Crafted.frame { $0.item(file) }], to: staging)
    expect(staging.held.items == 1 && staging.held.bytes == 100)
  }

  @Test func `items that no longer exist in the source are not counted`() throws {
    let disk = try disk()
    try write(export.outlet.frames, to: try staging(disk))
    let staging = try recovered(disk)
    let beneath = staging.refusals(from: 0).map(\.path).filter { $0.starts(with: Array("source/b:d".utf8)) }
    for name in ["c:d", "large", "link", "fine/same"] { scratch.remove("source/\(name)") }
    scratch.letSettle()
    let again = try Export([scratch.at("source")], held: HeldItems(of: staging))
    try write(again.outlet.frames, to: staging)
    staging.drop(again.result.stale)
    try staging.complete(again.result.finish) { _ in }
    expect(staging.notStored == 3 && staging.lastingRefusals.map(\.path) == beneath)
    // A restart does not change that.
    let after = try recovered(disk)
    expect(after.notStored == 3 && after.lastingRefusals.map(\.path) == beneath)
  }
}

extension TransferKeys {
  fileprivate func mark(_ record: ItemRecord) -> Mark { mark(path: record.path, generation: record.generation) }
}
