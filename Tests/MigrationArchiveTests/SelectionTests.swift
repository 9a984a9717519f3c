import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

private func selection(_ patterns: String..., isWithoutCaches: Bool = false) -> Selection {
  var selection = Selection()
  for pattern in patterns { selection.exclusions.append(Array(pattern.utf8)) }
  selection.isWithoutCaches = isWithoutCaches
  return selection
}

@Suite struct SelectionTests {
  private static let tag = Array("Signature: 8a477f597d28d172789f06886806bc55\n# made by a test\n".utf8)

  private func walk(_ scratch: Scratch, _ selection: Selection, _ sources: String...) throws -> SourceTree {
    let roots = try (sources.isEmpty ? ["source"] : sources).map { try SourceRoot(path: scratch.at($0)) }
    return try SourceWalk.walk(roots, selecting: selection)
  }

  private func paths(_ tree: SourceTree) throws -> [String] {
    try tree.nodes.indices.map { String(decoding: try tree.path($0).bytes, as: UTF8.self) }.sorted()
  }

  @Test func `excluded items are not counted, and their contents are not read`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/build")
    scratch.makeDirectory("source/build/inner")
    scratch.write("source/build/keep", pattern(9))
    scratch.write("source/a.o", pattern(100))
    scratch.write("source/a.c", pattern(7))
    expect(mkfifo("\(scratch.path)/source/pipe.o", 0o600), is: 0)
    scratch.setMode("source/build/inner", 0)
    let tree = try walk(scratch, selection("build/", "*.o", "!keep"))
    expect(try paths(tree), is: ["source", "source/a.c"])
    expect(tree.total, is: Tally(items: 2, bytes: 7))
    expect(tree.allocated, is: 4096)
    expect(tree.unsent.isEmpty)
  }

  @Test func `a pattern with a slash is relative to each source, whose own name is not part of it`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/source")
    for name in ["source/x", "source/source/x", "outside/x"] { scratch.write(name, [1]) }
    let tree = try walk(scratch, selection("/x", "/source/secret", "source/x", "outside/secret"), "source", "outside")
    expect(try paths(tree), is: ["outside", "outside/secret", "source", "source/source"])
  }

  @Test func `a source itself is sent, regardless of the patterns`() throws {
    let scratch = try Scratch.withFolders()
    expect(
      try paths(try walk(scratch, selection("*", "source", "secret"), "source", "outside/secret")),
      is: [
        "secret", "source",
      ])
  }

  @Test func `a pattern for directories does not match a link to a directory`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/d")
    scratch.makeLink("source/link", to: "d")
    expect(try paths(try walk(scratch, selection("*/"))), is: ["source", "source/link"])
  }

  @Test func `an excluded item is not named even if it is too deep`() throws {
    let scratch = try Scratch.withFolders()
    try DeepTree.make(in: scratch.open("source"), [0x64], depth: 2_047, file: "leaf")
    expect(try walk(scratch, Selection()).unsent.count, is: 1)
    expect(try walk(scratch, selection("leaf")).unsent.isEmpty)
  }

  @Test func `of a cache, only the directory and its mark are sent`() throws {
    let scratch = try Scratch.withFolders()
    for directory in ["cache", "cache/d", "other"] { scratch.makeDirectory("source/\(directory)") }
    for file in ["cache/CACHEDIR.TAG", "cache/d/CACHEDIR.TAG", "cache/x", "other/x"] {
      scratch.write("source/\(file)", Self.tag)
    }
    let all = try paths(try walk(scratch, Selection()))
    expect(all.count, is: 8)
    expect(
      try paths(try walk(scratch, selection(isWithoutCaches: true))),
      is: ["source", "source/cache", "source/cache/CACHEDIR.TAG", "source/other", "source/other/x"])
    expect(
      try paths(try walk(scratch, selection("CACHEDIR.TAG", isWithoutCaches: true))),
      is: ["source", "source/cache", "source/other", "source/other/x"])
    expect(
      try paths(try walk(scratch, selection(isWithoutCaches: true), "source/cache")),
      is: ["cache", "cache/CACHEDIR.TAG"])
  }

  @Test func `a file that only resembles a cache's mark does not mark a cache`() throws {
    let scratch = try Scratch.withFolders()
    let tags: [(String, [UInt8])] = [
      ("short", Self.tag.prefix(42) + []), ("empty", []), ("other", [32] + Self.tag), ("case", Self.tag.map { $0 ^ 1 }),
    ]
    scratch.write("outside/tag", Self.tag)
    for name in tags.map(\.0) + ["link", "pipe", "directory"] {
      scratch.makeDirectory("source/\(name)")
      scratch.write("source/\(name)/x", [])
    }
    for (name, bytes) in tags { scratch.write("source/\(name)/CACHEDIR.TAG", bytes) }
    scratch.makeLink("source/link/CACHEDIR.TAG", to: "../../outside/tag")
    expect(mkfifo("\(scratch.path)/source/pipe/CACHEDIR.TAG", 0o600), is: 0)
    scratch.makeDirectory("source/directory/CACHEDIR.TAG")
    let paths = try paths(try walk(scratch, selection(isWithoutCaches: true)))
    expect(paths.filter { $0.hasSuffix("/x") }.count, is: 7)
  }

  /// Stages a whole export, and lets a later run with another selection continue it. Returns the
  /// items that the later run did not send again.
  private func goOn(_ scratch: Scratch, after first: Selection, with second: Selection) throws -> Tally {
    let begun = try Export([scratch.at("source")], selecting: first)
    try Arrival(scratch, begun.offer).write(begun.outlet.frames)
    let importer = try FolderImporter(scratch)
    let staging = try #require(try importer.recover(begun.offer, transfer: 0xABC, keys: testKeys))
    let again = try Export([scratch.at("source")], selecting: second, held: HeldItems(of: staging))
    expect(try again.source.origin() == begun.source.origin())
    staging.beginSession(again.offer)
    let writer = StagingWriter(staging)
    for frame in again.outlet.frames { try writer.write(frame) }
    staging.drop(again.result.stale)
    try staging.complete(again.result.finish) { _ in }
    _ = try importer.importItems(of: staging) { _ in }
    try importer.area.clear(0xABC, testKeys)
    return again.outlet.skipped
  }

  @Test func `an item that a later run excludes is not imported, although it was staged`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/drop")
    for name in ["keep", "drop/a", "b.tmp"] { scratch.write("source/\(name)", pattern(900)) }
    scratch.letSettle()
    let held = try goOn(scratch, after: Selection(), with: selection("drop/", "*.tmp"))
    expect(held, is: Tally(items: 2, bytes: 900))
    expect(scratch.names("destination/source"), is: ["keep"])
  }

  @Test func `an item that a later run no longer excludes is imported too`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["keep", "b.tmp"] { scratch.write("source/\(name)", pattern(900)) }
    scratch.letSettle()
    let held = try goOn(scratch, after: selection("*.tmp"), with: Selection())
    expect(held, is: Tally(items: 2, bytes: 900))
    expect(scratch.snapshot("destination/source").differences(from: scratch.snapshot("source")), is: [])
  }
}
