import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct HardLinkTests {
  private func send(_ scratch: Scratch, held: HeldItems = HeldItems(), _ sources: [String] = ["source"]) throws
    -> Export
  {
    scratch.letSettle()
    return try Export(sources.map { scratch.at($0) }, held: held)
  }

  private func link(_ scratch: Scratch, _ name: String, to target: String) {
    precondition(Glibc.link("\(scratch.path)/\(target)", "\(scratch.path)/\(name)") == 0)
  }

  /// The names in a directory, grouped by file, each group ascending.
  private func groups(_ scratch: Scratch, _ directory: String) -> [[String]] {
    var groups: [ino_t: [String]] = [:]
    for path in scratch.snapshot(directory).entries.keys {
      let name = String(decoding: path, as: UTF8.self)
      var status = stat()
      precondition(lstat("\(scratch.path)/\(directory)/\(name)", &status) == 0)
      if status.st_nlink > 1, status.st_mode & S_IFMT == S_IFREG { groups[status.st_ino, default: []].append(name) }
    }
    return groups.values.map { $0.sorted() }.sorted { $0[0] < $1[0] }
  }

  private func records(_ export: Export, _ kind: ItemKind) throws -> [ItemRecord] {
    try export.entries.compactMap(\.record).filter { $0.kind == kind }
  }

  @Test func `several names of one file arrive as names of one file, and its bytes are sent once`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/d")
    scratch.write("source/large", pattern(2 << 20))
    link(scratch, "source/d/again", to: "source/large")
    link(scratch, "source/d/third", to: "source/large")
    scratch.write("source/empty", [])
    link(scratch, "source/nothing", to: "source/empty")
    scratch.write("source/alone", [1])
    let before = scratch.snapshot("source")
    let export = try send(scratch)
    expect(export.result.finish.total, is: export.summary.total)
    expect(export.summary.total, is: Tally(items: 7 + 1, bytes: 2 << 20 + 1))
    expect(export.outlet.counted.bytes, is: 2 << 20 + 1)
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    expect(try arrival.finish(export.result.finish), is: [])
    expect(scratch.snapshot("destination/source").differences(from: before), is: [])
    expect(groups(scratch, "destination/source"), is: [["d/again", "d/third", "large"], ["empty", "nothing"]])
  }

  @Test func `links from one source into another arrive as links`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("other")
    scratch.write("source/file", [1, 2])
    link(scratch, "other/file", to: "source/file")
    let export = try send(scratch, ["source", "other"])
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    expect(groups(scratch, "destination"), is: [["other/file", "source/file"]])
  }

  @Test func `another name outside the sources makes no link`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", [1])
    link(scratch, "outside/file", to: "source/file")
    expect(try records(send(scratch), .hardLink).isEmpty)
  }

  @Test func `a file that changes between its names is sent alone, and later names follow the last state`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["a", "b", "c", "d"] { scratch.makeDirectory("source/\(name)") }
    scratch.write("source/a/file", [1])
    for name in ["b", "c", "d"] { link(scratch, "source/\(name)/file", to: "source/a/file") }
    scratch.letSettle()
    let path = scratch.path
    // Every item takes a frame: five directories, the first name, and then the second.
    let outlet = Outlet { number in
      guard number == 8 else { return }
      let file = open("\(path)/source/a/file", O_WRONLY)
      _ = pwrite(file, [UInt8(2)], 1, 0)
      close(file)
    }
    let export = try Export([scratch.at("source")], outlet: outlet, sizes: .init(fullFrame: 1))
    let found = try export.entries.compactMap(\.record).filter { $0.kind != .directory }
    expect(found.map(\.kind), is: [.file, .hardLink, .file, .hardLink])
    guard found.count == 4 else { return }
    expect(found[1].body, is: .hardLink(target: found[0].path))
    expect(found[3].body, is: .hardLink(target: found[2].path))
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    for (record, byte) in zip(found, [1, 1, 2, 2] as [UInt8]) {
      expect(scratch.read("destination/\(String(decoding: record.path.bytes, as: UTF8.self))"), is: [byte])
    }
  }

  @Test func `the next name is sent as a file if the first cannot be read`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["a", "b"] { scratch.makeDirectory("source/\(name)") }
    scratch.write("source/a/file", [1])
    link(scratch, "source/b/file", to: "source/a/file")
    let export = try Export([scratch.at("source")]) { scratch.remove("source/a/file") }
    expect(export.outlet.unsent.map(\.reason), is: [.vanished])
    expect(try records(export, .hardLink).isEmpty)
    expect(try records(export, .file).map(\.path.bytes), is: [Array("source/b/file".utf8)])
  }

  @Test func `a resumed transfer keeps its held links and sends links to changed files again`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["same", "changed"] {
      scratch.write("source/\(name)", pattern(300_000))
      link(scratch, "source/\(name)-link", to: "source/\(name)")
    }
    let first = try send(scratch)
    let arrival = try Arrival(scratch, first.offer)
    try arrival.write(first.outlet.frames)
    scratch.patch("source/changed", [0, 0, 0], at: 100_000)
    scratch.setTime("source", 5)
    let second = try send(scratch, held: HeldItems(of: arrival.staging))
    let sent = try Set(second.entries.map(\.text))
    expect(sent, is: ["source", "source/changed", "source/changed-link"])
    arrival.staging.beginSession(second.offer)
    arrival.staging.drop(second.result.stale)
    try arrival.write(second.outlet.frames)
    try arrival.finish(second.result.finish)
    expect(scratch.snapshot("destination/source").differences(from: scratch.snapshot("source")), is: [])
    expect(groups(scratch, "destination/source"), is: [["changed", "changed-link"], ["same", "same-link"]])
  }

  @Test func `a name that was a file and is now a link is replaced, and the reverse`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/a", pattern(1000))
    scratch.write("source/b", pattern(1000))
    scratch.write("source/c", pattern(2000))
    link(scratch, "source/d", to: "source/c")
    let first = try send(scratch)
    let arrival = try Arrival(scratch, first.offer)
    try arrival.write(first.outlet.frames)
    scratch.remove("source/b")
    link(scratch, "source/b", to: "source/a")
    scratch.remove("source/d")
    scratch.write("source/d", [4])
    let second = try send(scratch, held: HeldItems(of: arrival.staging))
    arrival.staging.beginSession(second.offer)
    arrival.staging.drop(second.result.stale)
    try arrival.write(second.outlet.frames)
    try arrival.finish(second.result.finish)
    expect(scratch.snapshot("destination/source").differences(from: scratch.snapshot("source")), is: [])
    expect(groups(scratch, "destination/source"), is: [["a", "b"]])
  }

  @Test func `a file that is now a link without having changed is no longer a file`() throws {
    let scratch = try Scratch.withFolders()
    // The file system decides which of two directories comes first: of eight pairs some come in
    // either order.
    for pair in 0..<8 {
      for name in ["source/here\(pair)", "outside/there\(pair)"] { scratch.makeDirectory(name) }
      scratch.write("source/here\(pair)/file", pattern(100 + pair))
      link(scratch, "outside/there\(pair)/file", to: "source/here\(pair)/file")
    }
    let first = try send(scratch)
    let arrival = try Arrival(scratch, first.offer)
    try arrival.write(first.outlet.frames)
    // The files' own stamps remain.
    for pair in 0..<8 { scratch.move("outside/there\(pair)", to: "source/there\(pair)") }
    let second = try send(scratch, held: HeldItems(of: arrival.staging))
    arrival.staging.beginSession(second.offer)
    arrival.staging.drop(second.result.stale)
    try arrival.write(second.outlet.frames)
    try arrival.finish(second.result.finish)
    expect(groups(scratch, "destination/source"), is: (0..<8).map { ["here\($0)/file", "there\($0)/file"] })
  }

  @Test func `an appended directory keeps its links`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", [1, 2, 3])
    link(scratch, "source/link", to: "source/file")
    scratch.letSettle()
    let outlet = Outlet()
    let appending = Appending(outlet)
    try appending.append(Descriptor.open(scratch.at("source")), at: Array("x/y".utf8))
    appending.finish()
    let links = try outlet.frames.flatMap(entriesOf).compactMap(\.record).filter { $0.kind == .hardLink }
    expect(links.count, is: 1)
    guard case .hardLink(let target)? = links.first?.body else { return }
    expect(Set([target, links[0].path].map(\.bytes)), is: [Array("x/y/file".utf8), Array("x/y/link".utf8)])
  }

  @Test func `a copy that replaces a link has content, holes, permissions and time`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(10_000))
    scratch.patch("source/file", pattern(3), at: 5 << 20)
    scratch.cut("source/file", to: 8 << 20)
    scratch.setMode("source/file", 0o400)
    scratch.setTime("source/file", 1_234, 5)
    let places = DirectoryTree(tree: try scratch.open("source"))
    try places.makeCopy(ArchivePath(Array("new/copy".utf8)), of: ArchivePath(Array("file".utf8)))
    let snapshot = scratch.snapshot("source")
    expect(snapshot["new/copy"], is: snapshot["file"])
    expect(snapshot["file"]?.mode, is: 0o400)
    expect(try #require(snapshot["new/copy"]).allocated < 3 << 20)
    expect(groups(scratch, "source"), is: [])
  }
}
