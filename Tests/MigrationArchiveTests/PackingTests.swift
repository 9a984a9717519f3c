import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct HeldItemsTests {
  @Test func `taken items are current and the rest is stale`() {
    var held = HeldItems()
    held.add(Held(kind: .staged, marks: [2, 4]))
    held.add(Held(kind: .staged, marks: [6, 8]))
    held.add(Held(kind: .present, marks: [1, 9]))
    expect([2, 8].allSatisfy { held.take($0) })
    expect(![0, 1, 3, 5, 7, 9, Mark.max].contains { held.take($0) })
    expect(held.stale, is: [4, 6])
    let lookup = HeldItems.Lookup(held)
    expect([1, 9].allSatisfy { lookup.has($0, .present) } && !lookup.has(2, .present))
  }

  @Test func `an empty ledger holds nothing`() throws {
    var held = HeldItems()
    let path = try ArchivePath([0x61])
    expect(!held.take(0) && held.stale.isEmpty && held.ranges(of: path, 1).all.isEmpty)
    expect(!HeldItems.Lookup(held).has(0, .present))
  }

  @Test func `ranges count only for their own generation`() throws {
    var held = HeldItems()
    var ranges = ByteRanges()
    ranges.insert(5..<9)
    let path = try ArchivePath([0x61])
    held.add(Partial(path: path, generation: 7, ranges: ranges))
    expect(held.ranges(of: path, 7), is: ranges)
    expect(held.ranges(of: path, 8), is: ByteRanges())
  }
}

@Suite struct FramePackerTests {
  @Test func `of the receiver's claimed ranges, only those inside the file count`() throws {
    let path = try ArchivePath([0x61])
    var held = HeldItems()
    var ranges = ByteRanges()
    ranges.insert(10..<20)
    ranges.insert(90..<UInt64(Int64.max))
    held.add(Partial(path: path, generation: 7, ranges: ranges))
    let outlet = Outlet()
    let packer = FramePacker(ExportSettings(outlet, held: held))
    let record = ItemRecord(
      path: path, generation: 7, body: .file(size: 100))
    for _ in 1...4 { expect(packer.heldRanges(record).gaps(in: 0..<100), is: [0..<10, 20..<90]) }
    _ = packer.takeSum()
    expect(outlet.skipped, is: Tally(bytes: 80))
  }

  @Test func `a second session sends only the missing items`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/d")
    for name in 0..<5 { scratch.write("source/d/\(name)", pattern(300)) }
    scratch.write("source/large", pattern(5_000_000))
    scratch.write("source/sparse", pattern(100))
    scratch.cut("source/sparse", to: 4_000_000)
    scratch.makeLink("source/link", to: "d")
    let before = scratch.snapshot("source")
    scratch.letSettle()
    let all = try Export([scratch.at("source")])
    let frames = all.outlet.frames
    for lost in frames.indices {
      let arrival = try Arrival(scratch, all.offer, transfer: UInt128(lost))
      try arrival.write(frames.enumerated().filter { $0.offset != lost }.map(\.element))
      let again = try Export([scratch.at("source")], held: HeldItems(of: arrival.staging))
      let missing = try entriesOf(frames[lost])
      let (sent, wanted) = (Set(try again.entries.map(\.text)), Set(missing.map(\.text)))
      expect(wanted.isSubset(of: sent))
      // The ledger does not show whether the record of an incomplete file is held: it is sent
      // again.
      expect(sent.subtracting(wanted).isSubset(of: ["source/large", "source/sparse"]))
      expect(again.result.finish, is: all.result.finish)
      expect(again.result.stale.isEmpty)
      let total = again.outlet.skipped.bytes + again.outlet.counted.bytes
      expect(total, is: again.summary.total.bytes)
      try arrival.write(again.outlet.frames)
      try arrival.finish(again.result.finish)
      expect(scratch.snapshot("destination/source").differences(from: before), is: [])
      try scratch.open("destination").directory.removeTree("source")
    }
    expect(frames.count > 5)
  }

  @Test func `held items that no longer exist are named as stale`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["stays", "goes", "changes"] { scratch.write("source/\(name)", pattern(10)) }
    let first = try Export([scratch.at("source/stays"), scratch.at("source/goes"), scratch.at("source/changes")])
    let arrival = try Arrival(scratch, first.offer)
    try arrival.write(first.outlet.frames)
    scratch.remove("source/goes")
    scratch.patch("source/changes", [1], at: 3)
    let second = try Export(
      [scratch.at("source/stays"), scratch.at("source/changes")], held: HeldItems(of: arrival.staging))
    expect(second.result.stale.count, is: 2)
    expect(try second.entries.map(\.text), is: ["changes"])
    try arrival.clear()
  }

  @Test func `no frame exceeds the limit, and none is empty`() throws {
    let scratch = try Scratch.withFolders()
    for name in 0..<12 { scratch.write("source/\(name)", pattern(200_000 + name * 5_000)) }
    scratch.write("source/large", pattern(4_000_000))
    let deep = [UInt8](repeating: 0x64, count: 255)
    try DeepTree.make(in: scratch.open("source"), deep, depth: 60, file: "leaf")
    let export = try Export([scratch.at("source")])
    for frame in export.outlet.frames { expect((1...Limits.plainLength).contains(frame.count)) }
    for entry in try export.entries {
      if case .chunk(_, _, let data) = entry { expect(data.count <= Limits.chunk) }
    }
  }

  @Test func `small files share frames`() throws {
    let scratch = try Scratch.withFolders()
    for name in 0..<1000 { scratch.write("source/\(name)", [1]) }
    scratch.letSettle()
    expect(try Export([scratch.at("source")]).outlet.frames.count, is: 1)
  }

  @Test func `no two files share a check`() throws {
    let scratch = try Scratch.withFolders()
    for name in 0..<50 { scratch.write("source/\(name)", [1]) }
    var checks: Set<ChunkCheck> = []
    for case .item(_, let content?) in try Export([scratch.at("source")]).entries {
      checks.insert(content.check)
    }
    expect(checks.count, is: 50)
  }
}

@Suite struct FrameBufferTests {
  @Test func `bytes are stored in the order in which they were committed`() {
    var buffer = FrameBuffer(capacity: 10)
    expect(buffer.isEmpty && buffer.bytes.count == 10)
    buffer.commit([1, 2])
    buffer.withFreeSpace(at: 1, length: 3) { $0.withUnsafeMutableBytes { $0.copyBytes(from: [7, 8, 9]) } }
    expect(buffer.count, is: 2, "lent memory is not counted")
    expect(buffer.withFreeSpan(at: 1, length: 3) { $0.withUnsafeBytes { Array($0) } }, is: [7, 8, 9])
    buffer.commit([3], followedBy: 3)
    expect(Array(buffer.bytes[..<buffer.count]), is: [1, 2, 3, 7, 8, 9])
    buffer.note(items: 2, contentBytes: 3)
    buffer.note(hole: 4)
    expect(buffer.items == 2 && buffer.contentBytes == 7 && buffer.holeBytes == 4 && buffer.bytes.count == 10)
    buffer.removeAll()
    expect(buffer.isEmpty && buffer.items == 0 && buffer.contentBytes == 0 && buffer.bytes.count == 10)
    expect(buffer.holeBytes, is: 0)
  }

  @Test func `a full buffer grows as needed`() {
    var buffer = FrameBuffer(capacity: 2)
    buffer.commit([1, 2])
    buffer.commit([])
    expect(buffer.withFreeSpace(at: 0, length: 0) { $0.count }, is: 0)
    expect(buffer.bytes.count, is: 2)
    buffer.withFreeSpace(at: 1, length: 2) { $0.withUnsafeMutableBytes { $0.copyBytes(from: [8, 9]) } }
    buffer.commit([7], followedBy: 2)
    expect(Array(buffer.bytes[..<buffer.count]), is: [1, 2, 7, 8, 9])
  }
}
