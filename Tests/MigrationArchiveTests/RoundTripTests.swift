import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct RoundTripTests {
  /// Sends `source` and compares the result with it.
  @discardableResult
  private func roundTrip(_ scratch: Scratch, arrange: ([[UInt8]]) -> [[UInt8]] = { $0 }) throws -> Export {
    let before = scratch.snapshot("source")
    let rootTime = scratch.time("source")
    let export = try Export([scratch.at("source")])
    expect(export.outlet.unsent.isEmpty)
    expect(export.result.finish.total, is: export.summary.total)
    expect(export.outlet.counted.items, is: export.summary.total.items)
    expect(export.outlet.counted.bytes, is: export.summary.total.bytes)
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(arrange(export.outlet.frames))
    expect(arrival.staging.held, is: export.summary.total)
    expect(try arrival.finish(export.result.finish), is: [])
    expect(scratch.snapshot("destination/source").differences(from: before), is: [])
    expect(scratch.time("destination/source"), is: rootTime)
    expect(scratch.names("destination"), is: ["source"])
    return export
  }

  private func varied(_ scratch: Scratch) throws {
    let odd = [
      "with space", "new\nline", "%20", "back\\slash", "a\u{301}", "á", "…", String(repeating: "n", count: 255),
    ]
    for (index, name) in odd.enumerated() {
      scratch.write("source/\(name)", pattern(index * 100))
      scratch.makeDirectory("source/dir-\(name.prefix(200))")
    }
    let directory = try scratch.open("source")
    let raw: [UInt8] = [0x66, 0xFF, 0xFE, 0x80, 0x01]
    try directory.directory.createFile(raw).write(at: 0, [1, 2, 3].span)
    try directory.directory.makeDirectory([0xC3, 0x28] as [UInt8], mode: 0o750)
    for (name, mode) in [("m400", 0o400), ("m755", 0o755), ("m1644", 0o1644), ("m777", 0o777)] as [(String, mode_t)] {
      scratch.write("source/\(name)", Array(name.utf8))
      scratch.setMode("source/\(name)", mode)
    }
    if isRoot {
      scratch.write("source/m000", [0])
      scratch.setMode("source/m000", 0)
      scratch.makeDirectory("source/d000")
      scratch.write("source/d000/inner", [9])
      scratch.setMode("source/d000", 0)
    }
    scratch.makeDirectory("source/d500")
    scratch.write("source/d500/inner", [7])
    scratch.makeLink("source/dangling", to: "no/such/thing")
    scratch.makeLink("source/absolute", to: "/etc/passwd")
    scratch.makeLink("source/up", to: "../../..")
    scratch.makeLink("source/long", to: String(repeating: "t/", count: 2_000))
    for (name, seconds) in [("old", -5_000_000_000), ("y1969", -1), ("late", 4_000_000_000)] {
      scratch.write("source/\(name)", [1])
      scratch.setTime("source/\(name)", name == "old" ? -2_000_000_000 : seconds, 123_456_789)
    }
    scratch.setTime("source/dangling", 1_000_000_000, 1)
    scratch.setTime("source/d500", 1_234_567_890, 999_999_999)
    scratch.setMode("source/d500", 0o500)
    scratch.setTime("source", 1_111_111_111, 5)
  }

  @Test func `a varied tree arrives unchanged`() throws {
    let scratch = try Scratch.withFolders()
    try varied(scratch)
    try roundTrip(scratch)
    scratch.setMode("source/d500", 0o700)
  }

  @Test func `a varied tree arrives with its frames in any order and repeated`() throws {
    let scratch = try Scratch.withFolders()
    try varied(scratch)
    for size in [300_000, 2 << 20, (1 << 20) + 7] { scratch.write("source/big\(size)", pattern(size)) }
    try roundTrip(scratch) { frames in Array(frames.reversed()) + frames + frames.reversed() }
  }

  @Test func `files with sizes around every limit arrive`() throws {
    let scratch = try Scratch.withFolders()
    let small = ArchiveSizes().smallFile
    for border in [1, small, 512 << 10, Limits.chunk, 2 * Limits.chunk, 3 * Limits.chunk + 4096] {
      for size in [border - 1, border, border + 1] {
        scratch.write("source/\(size)", pattern(size, seed: UInt64(size)))
      }
    }
    try roundTrip(scratch)
  }

  @Test func `two hundred levels and paths longer than PATH_MAX arrive`() throws {
    let scratch = try Scratch.withFolders()
    try DeepTree.make(in: scratch.open("source"), [0x64], depth: 200, file: "leaf")
    try DeepTree.make(in: scratch.open("source"), [UInt8](repeating: 0x65, count: 250), depth: 20, file: "leaf")
    try roundTrip(scratch)
  }

  @Test func `holes stay holes, at the beginning, in the middle and at the end`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/empty", [])
    scratch.cut("source/empty", to: 64 << 20)
    scratch.write("source/middle", pattern(8192))
    scratch.patch("source/middle", pattern(8192), at: 16 << 20)
    scratch.write("source/end", pattern(300_000))
    scratch.cut("source/end", to: 10 << 20)
    scratch.write("source/begin", [])
    scratch.patch("source/begin", pattern(5), at: 5 << 20)
    scratch.write("source/huge", [])
    scratch.cut("source/huge", to: 1 << 38)
    let export = try roundTrip(scratch)
    for (path, entry) in scratch.snapshot("destination/source").entries where entry.type == S_IFREG {
      expect(entry.allocated < 2 << 20, "\(String(decoding: path, as: UTF8.self))")
    }
    expect(export.outlet.frames.reduce(0) { $0 + $1.count } < 2 << 20)
  }

  @Test func `an empty directory, an empty file and a single file arrive`() throws {
    let scratch = try Scratch.withFolders()
    try roundTrip(scratch)
    scratch.write("outside/nothing", [])
    for name in ["outside/nothing", "outside/secret"] {
      let export = try Export([scratch.at(name)])
      let arrival = try Arrival(scratch, export.offer)
      try arrival.write(export.outlet.frames)
      try arrival.finish(export.result.finish)
    }
    expect(scratch.snapshot("destination")["nothing"]?.size, is: 0)
    expect(scratch.snapshot("destination")["secret"], is: scratch.snapshot("outside")["secret"])
  }

  @Test func `ten thousand files arrive, in many frames and with few descriptors`() throws {
    let scratch = try Scratch.withFolders()
    for directory in 0..<20 {
      scratch.makeDirectory("source/\(directory)")
      for file in 0..<500 { scratch.write("source/\(directory)/\(file)", pattern(file % 200)) }
    }
    let outlet = Outlet { _ in expect(scratch.openDescriptors() <= 5) }
    let export = try Export([scratch.at("source")], outlet: outlet)
    let before = scratch.snapshot("source")
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(outlet.frames)
    // The scratch directory, the source's, and the destination, staging, tree and journal.
    expect(scratch.openDescriptors() <= 6)
    try arrival.finish(export.result.finish)
    expect(scratch.snapshot("destination/source").differences(from: before), is: [])
  }

  @Test func `set-id bits are dropped and counted`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/program", [1])
    scratch.setMode("source/program", 0o6755)
    scratch.write("source/large", pattern(300_000))
    scratch.setMode("source/large", 0o4700)
    scratch.setMode("source", 0o2755)
    let export = try Export([scratch.at("source")])
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    expect(try arrival.finish(export.result.finish), is: [Done.Loss(kind: .setIDBit, count: 3)])
    expect(scratch.snapshot("destination")["source/program"]?.mode, is: 0o755)
    expect(scratch.snapshot("destination")["source/large"]?.mode, is: 0o700)
    expect(scratch.snapshot("destination")["source"]?.mode, is: 0o755)
  }

  @Test func `without a mode the umask decides, also for parents without a record`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    let records = [
      try record("root/parent/small", .file(size: 1)), try record("root/parent/large", .file(size: 3)),
      try record("root/plain", .directory), try record("root/exact", .file(size: 0), mode: 0o666),
    ]
    try arrival.write([
      try Crafted.frame { frame in
        frame.file(records[0], [1])
        frame.item(records[1])
        try frame.chunk("root/parent/large", 1, at: 0, [1, 2, 3])
        frame.item(records[2])
        frame.item(records[3])
      }
    ])
    try arrival.finish(finish(records))
    let umask = mode_t(try CurrentProcess.umask())
    let snapshot = scratch.snapshot("destination")
    expect(snapshot["root/parent/small"]?.mode, is: 0o666 & ~umask)
    expect(snapshot["root/parent/large"]?.mode, is: 0o666 & ~umask)
    expect(snapshot["root/exact"]?.mode, is: 0o666)
    for name in ["root", "root/parent", "root/plain"] { expect(snapshot[name]?.mode, is: 0o777 & ~umask) }
  }

  @Test func `hard links arrive as links, in any order`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    let records = [
      try hardLink("root/a/link", to: "root/z/file"), try record("root/z/file", .file(size: 2), mode: 0o640),
      try record("root/a", .directory, mode: 0o500, modified: ItemTime(seconds: 77, nanoseconds: 7)),
    ]
    try arrival.write([Crafted.frame { $0.item(records[0]) }])
    try arrival.write([
      Crafted.frame { frame in
        frame.file(records[1], [4, 2])
        frame.item(records[2])
      }
    ])
    try arrival.finish(finish(records))
    let snapshot = scratch.snapshot("destination")
    expect(snapshot["root/a/link"], is: snapshot["root/z/file"])
    expect(snapshot["root/a/link"]?.content, is: [4, 2])
    expect(snapshot["root/a"]?.mode == 0o500 && snapshot["root/a"]?.seconds == 77)
  }
}
