import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// `--existing merge`: nothing that exists changes, and everything arrives.
@Suite struct MergingTests {
  /// A source and a destination with one root each, and a receiver that merges them.
  private struct Ground {
    let scratch: Scratch

    init() throws {
      scratch = try Scratch.withFolders()
      scratch.makeDirectory("source/root")
      scratch.makeDirectory("destination/root")
    }

    /// A file below the root, the same on both sides if it has the same content.
    func write(_ side: String, _ name: String, _ content: String, time: Int = 1_500_000_000) {
      var parts = name.split(separator: "/").dropLast()
      var missing: [String] = []
      while !parts.isEmpty, !scratch.exists("\(side)/root/\(parts.joined(separator: "/"))") {
        missing.append(parts.joined(separator: "/"))
        parts.removeLast()
      }
      for folder in missing.reversed() { scratch.makeDirectory("\(side)/root/\(folder)") }
      scratch.write("\(side)/root/\(name)", Array(content.utf8))
      scratch.setTime("\(side)/root/\(name)", time)
    }

    func writeBoth(_ name: String, _ content: String) {
      for side in ["source", "destination"] { write(side, name, content) }
    }

    /// One transfer. Returns what was sent, and what was renamed.
    func migrate() throws -> (sent: [String], renamed: [String], result: LeftOut) {
      scratch.letSettle()
      let root = [scratch.at("source/root")]
      let offer = try Export(root).offer
      let arrival = try Arrival(scratch, offer, existing: .merge)
      let present = try arrival.importer.present(
        offer, for: arrival.staging, takesBases: false)
      expect(present.taken, is: [])
      var held = HeldItems()
      held.add(Held(kind: .present, marks: present.present))
      let export = try Export(root, held: held)
      try arrival.write(export.outlet.frames)
      try arrival.finish(export.result.finish)
      expect(Array(arrival.staging.refusals(from: 0)), is: [])
      let sent = try export.entries.compactMap { $0.record?.kind == .directory ? nil : $0.text }
      return (
        sent.map { String($0.dropFirst(5)) }.sorted(),
        arrival.staging.renamed.map { "\($0.path.text.dropFirst(5)) > \($0.target.text.dropFirst(5))" },
        export.result.finish.leftOut
      )
    }

    func text(_ name: String) -> String? {
      guard scratch.exists("destination/root/\(name)") else { return nil }
      return String(decoding: scratch.read("destination/root/\(name)"), as: UTF8.self)
    }
  }

  @Test func `merge changes no existing item, and puts what differs beside it`() throws {
    let ground = try PreparedGround(for: .merge)
    let conflicts = try ground.migrate(.merge)
    expect(ground.broken(.merge, isWhole: true), is: [])
    expect(conflicts.notStored, is: [])
    // A folder is named once.
    let expected = PreparedGround.merged.map { "\($1) > \($0)" }.filter { !$0.contains("work/") && !$0.contains("/x ") }
    expect(
      conflicts.renamed.map { "\($0.path.text) > \($0.target.text)" }.sorted(),
      is: (expected + ["photos/to-folder > photos/to-folder (2)", "photos/work > photos/work (2)"]).sorted())
  }

  @Test func `what is equal is not sent, and what differs arrives beside it once`() throws {
    let ground = try Ground()
    ground.writeBoth("equal", "1")
    ground.write("source", "differs.txt", "new")
    ground.write("destination", "differs.txt", "old", time: 1_400_000_000)
    for side in ["source", "destination"] { ground.scratch.makeLink("\(side)/root/link", to: "there") }
    let first = try ground.migrate()
    expect(first.sent == ["differs.txt"] && first.renamed == ["differs.txt > differs (2).txt"])
    expect(first.result, is: LeftOut(present: 2, differing: 0))
    // The same again adds nothing, and says where it is.
    expect(try ground.migrate().renamed, is: first.renamed)
    expect(ground.text("differs.txt") == "old" && ground.text("differs (2).txt") == "new")
    expect(ground.text("differs (3).txt") == nil)
  }

  @Test(arguments: [
    // What both have, what the source has besides, what the destination has besides, and the new
    // names.
    (["a.db", "a.db-wal"], [], [], []),
    (["a.db"], ["a.db-wal"], [], ["a.db", "a.db-wal"]),
    (["a.db-shm", "a.db-wal"], ["a.db"], [], ["a.db", "a.db-shm", "a.db-wal"]),
    (["a.db"], [], ["a.db-wal"], []),
    ([], ["a.db"], ["a.db-journal"], ["a.db"]),
    ([], ["a.db-journal"], ["a.db"], ["a.db-journal"]),
    ([], ["a.db", "a.db-wal"], [], []),
    ([], ["trip-journal"], [], []),
    (["trip-journal"], [], [], []),
    (["a"], ["a-wal"], ["a (2)-journal"], ["a", "a-wal"]),
  ])
  func `a file and its sidecar files arrive together, under one new name if one of them differs`(
    _ both: [String], _ sent: [String], _ there: [String], _ renamed: [String]
  ) throws {
    let ground = try Ground()
    for name in both { ground.writeBoth(name, name) }
    for name in sent { ground.write("source", name, "new \(name)") }
    for name in there { ground.write("destination", name, "old \(name)") }
    let before = ground.scratch.snapshot("destination/root")
    let outcome = try ground.migrate()
    let number = there.contains("a (2)-journal") ? 3 : 2
    let base = renamed.first { !$0.contains("-") } ?? "a.db"
    let stem =
      base.split(separator: ".").joined(separator: " (\(number)).") + (base.contains(".") ? "" : " (\(number))")
    expect(outcome.renamed, is: renamed.map { "\($0) > \(stem)\($0.dropFirst(base.count))" })
    for name in renamed { expect(ground.text("\(stem)\(name.dropFirst(base.count))"), is: content(name)) }
    for name in sent where renamed.isEmpty { expect(ground.text(name), is: "new \(name)") }
    let after = ground.scratch.snapshot("destination/root")
    for (path, entry) in before.entries { expect(after.entries[path], is: entry) }
    func content(_ name: String) -> String { both.contains(name) ? name : "new \(name)" }
  }

  @Test func `another file with the name of a sidecar file does not split a file from its sidecar files`() throws {
    let ground = try Ground()
    for index in 0..<600 { ground.write("source", "file \(index)", "\(index)") }
    ground.write("source", "file 0-wal", "new")
    ground.write("destination", "file 0", "old")
    expect(try ground.migrate().renamed, is: ["file 0 > file 0 (2)", "file 0-wal > file 0 (2)-wal"])
  }

  @Test(arguments: [".git", ".hg", ".svn"], ["source", "destination", "both"])
  func `a folder under version control on one side arrives whole if one member differs`(
    _ mark: String, _ side: String
  ) throws {
    let ground = try Ground()
    for place in ["source", "destination"] where side == "both" || side == place {
      ground.write(place, "work/\(mark)/config", "config")
    }
    for name in ["work/a", "work/sub/b"] { ground.writeBoth(name, name) }
    // What the other side lacks differs; what only the destination has does not.
    let isEqual = side != "source"
    ground.write("destination", "work/own", "own")
    expect(try ground.migrate().renamed, is: (isEqual ? [] : ["work > work (2)"]))
    expect(ground.text("work (2)/sub/b"), is: (isEqual ? nil : "work/sub/b"))
    ground.write("source", "work/sub/b", "changed")
    expect(try ground.migrate().renamed, is: ["work > \(isEqual ? "work (2)" : "work (3)")"])
    let arrived = ground.scratch.snapshot("destination/root/\(isEqual ? "work (2)" : "work (3)")")
    expect(arrived.differences(from: ground.scratch.snapshot("source/root/work")), is: [])
    expect(ground.text("work/sub/b") == "work/sub/b" && ground.text("work/own") == "own")
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"))
  func `a folder arrives beside another file system`() throws {
    let ground = try Ground()
    ground.writeBoth("sub/x", "x")
    let place = ground.scratch.path("destination/root/sub")
    try #require(mount("tmpfs", place, "tmpfs", 0, "size=1m") == 0)
    defer { umount2(place, CInt(MNT_DETACH)) }
    expect(try ground.migrate().renamed, is: ["sub > sub (2)"])
    expect(ground.scratch.names("destination/root/sub") == [] && ground.text("sub (2)/x") == "x")
  }
}
