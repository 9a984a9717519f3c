import Expectations
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A source that cannot be read any more in a later session: what came of it earlier is not stale.
@Suite struct UnreadableSourceTests {
  private let scratch: Scratch
  private let readable: [ItemRecord]
  private let lost: [ItemRecord]
  private let arrival: Arrival

  init() throws {
    scratch = try Scratch.withFolders()
    readable = [try record("root", .directory), try record("root/a", .file(size: 1))]
    lost = [
      try record("root/dir", .directory), try record("root/dir/b", .file(size: 2)),
      try record("root/dir/sub/c", .file(size: 3)), try record("root/directory", .file(size: 4)),
    ]
    arrival = try Arrival(scratch, offer())
    let (readable, lost) = (readable, lost)
    let frame = Crafted.frame { crafted in
      for record in readable + lost {
        if record.kind == .file {
          crafted.file(record, pattern(Int(record.size)))
        } else {
          crafted.item(record)
        }
      }
    }
    try arrival.write([frame])
    // The second session does not see them.
    arrival.staging.beginSession(offer())
    arrival.staging.drop(lost.map { testKeys.mark(path: $0.path, generation: $0.generation) })
  }

  private func arrives(keeping kept: UnreadableSource) throws -> [String] {
    try arrival.staging.complete(finish(readable), keeping: kept) { _ in }
    _ = try arrival.importer.importItems(of: arrival.staging) { _ in }
    return scratch.snapshot("destination/root").entries.keys.map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  private func path(_ name: String) -> [UInt8] { Array(name.utf8) }

  @Test func `complete files of a folder that could not be listed arrive, and what is gone does not`() throws {
    let names = try arrives(keeping: UnreadableSource([path("root/dir"), path("no//path")], isAll: false))
    expect(names.filter { !$0.isEmpty }, is: ["a", "dir", "dir/b", "dir/sub", "dir/sub/c"])
    expect(scratch.read("destination/root/dir/sub/c"), is: pattern(3))
  }

  @Test func `nothing is stale as long as not every unreadable path is named`() throws {
    let names = try arrives(keeping: UnreadableSource([], isAll: true))
    expect(names.filter { !$0.isEmpty }.count, is: 6)
  }

  /// How the newer state of a complete file ends.
  enum Ending: CaseIterable { case unreadable, gone, complete }

  @Test(arguments: Ending.allCases)
  func `a complete file is kept until its newer state is complete, and arrives if the source fails on the way`(
    _ ending: Ending
  ) throws {
    let newer = try record("root/directory", .file(size: 8), generation: 2)
    try arrival.write([try Crafted.frame { try $0.chunk("root/directory", 2, at: 0, Array(pattern(8)[..<5])) }])
    if ending == .complete {
      let end = try Crafted.frame { crafted in
        crafted.item(newer)
        try crafted.chunk("root/directory", 2, at: 5, Array(pattern(8)[5...]))
      }
      try arrival.write([end])
    }
    let kept = UnreadableSource(ending == .unreadable ? [path("root/directory")] : [], isAll: false)
    try arrival.staging.complete(finish(readable + (ending == .complete ? [newer] : [])), keeping: kept) { _ in }
    expect(scratch.names(arrival.tree), is: ["root"])
    _ = try arrival.importer.importItems(of: arrival.staging) { _ in }
    expect(scratch.names("destination/root").sorted(), is: (ending == .gone ? ["a"] : ["a", "directory"]))
    guard ending != .gone else { return }
    expect(scratch.read("destination/root/directory"), is: pattern(ending == .complete ? 8 : 4))
  }

  /// What a process that died, or a power loss, has left of a file that was kept.
  enum Loss: CaseIterable {
    case nothing
    /// The file has its own name still.
    case name
    /// The newer state is complete, and its content was not durable.
    case newer
    /// Nothing of the newer state came to the disk.
    case allOfNewer
  }

  @Test(arguments: Loss.allCases)
  func `a complete file whose newer state is not is found again by the process after a kill`(_ loss: Loss) throws {
    try arrival.write([try Crafted.frame { try $0.chunk("root/directory", 2, at: 0, Array(pattern(8)[..<5])) }])
    let (own, kept) = (
      "\(arrival.tree)/root/directory",
      "\(arrival.tree)/\(try #require(scratch.names(arrival.tree).first { $0.hasPrefix(".peer-") }))"
    )
    switch loss {
    case .nothing: break
    case .name:
      scratch.remove(own)
      scratch.move(kept, to: own)
    case .newer:
      try arrival.write([
        try Crafted.frame { crafted in
          crafted.item(try record("root/directory", .file(size: 8), generation: 2))
          try crafted.chunk("root/directory", 2, at: 5, Array(pattern(8)[5...]))
        }
      ])
      scratch.patch(own, [0xEE], at: 2)
    case .allOfNewer: scratch.remove(own)
    }
    let again = try #require(try arrival.importer.recover(offer(), transfer: 0xABC, keys: testKeys))
    again.beginSession(offer())
    again.drop(lost.map { testKeys.mark(path: $0.path, generation: $0.generation) })
    try again.complete(finish(readable), keeping: UnreadableSource([path("root/directory")], isAll: false)) { _ in }
    _ = try arrival.importer.importItems(of: again) { _ in }
    expect(scratch.names("destination/root").sorted(), is: ["a", "directory"])
    expect(scratch.read("destination/root/directory"), is: pattern(4))
    expect(scratch.names(arrival.tree), is: [])
  }

  @Test func `without an unreadable path, what is gone is dropped`() throws {
    expect(try arrives(keeping: UnreadableSource()).filter { !$0.isEmpty }, is: ["a"])
  }
}
