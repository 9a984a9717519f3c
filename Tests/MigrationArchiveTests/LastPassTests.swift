import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The last pass of a migration: what the same device has brought before, and what has changed since.
@Suite struct LastPassTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/root")
    scratch.makeDirectory("destination/root")
  }

  private func write(_ side: String, _ name: String, _ content: String, time: Int = 1_500_000_000) {
    let folders = name.split(separator: "/").dropLast()
    for count in 1..<(folders.count + 1) {
      let folder = "\(side)/root/\(folders.prefix(count).joined(separator: "/"))"
      if !scratch.exists(folder) { scratch.makeDirectory(folder) }
    }
    scratch.write("\(side)/root/\(name)", Array(content.utf8))
    scratch.setTime("\(side)/root/\(name)", time)
  }

  private func text(_ name: String) -> String? {
    guard scratch.exists("destination/root/\(name)") else { return nil }
    return String(decoding: scratch.read("destination/root/\(name)"), as: UTF8.self)
  }

  private static let source = SourceIdentity(1)

  private func arrived() throws -> ArrivedItems { try Passes(scratch).arrived(from: Self.source) }

  /// One transfer.
  @discardableResult
  private func pass(
    from source: SourceIdentity = source, _ removals: ArrivedItems.Removals = .unsettled,
    existing: Existing = .merge, unread: [String] = []
  ) throws -> Passes.Pass {
    try Passes(scratch).pass(from: source, removals, existing: existing, unread: unread)
  }

  @Test func `untouched means the same inode, size, time and change, or where these prove nothing the content`() throws
  {
    let time = Timestamp(seconds: 5, nanoseconds: 7)
    var item = ArrivedItem(
      source: Self.source, path: try ArchivePath([97]), target: try ArchivePath([98]), kind: .file, size: 4,
      modified: ItemTime(time),
      entry: ArrivedItem.Entry(inode: 9, changed: ItemTime(time), size: 3, modified: ItemTime(time)))
    item.sum = [1]
    func isUntouched(
      _ kind: FileKind = .regular, inode: UInt64 = 9, size: UInt64 = 3, at modified: Timestamp? = time,
      changed: Timestamp? = time, tellsEntriesApart: Bool = true, mayHaveChanged: Bool = false, content: [UInt8]? = [1]
    ) -> Bool {
      let there = ExistingEntry(
        kind: kind, mode: 0o600, device: 1, inode: inode, size: size, modified: modified, changed: changed)
      return item.isUntouched(there, tellsEntriesApart: tellsEntriesApart, mayHaveChanged: mayHaveChanged) { content }
    }
    let later = Timestamp(seconds: 5, nanoseconds: 8)
    expect(isUntouched() && isUntouched(changed: later, mayHaveChanged: true))
    expect(!isUntouched(.directory) && !isUntouched(inode: 8) && !isUntouched(size: 4))
    expect(
      !isUntouched(at: later) && !isUntouched(at: nil) && !isUntouched(changed: later) && !isUntouched(changed: nil))
    expect(isUntouched(inode: 8, tellsEntriesApart: false) && !isUntouched(tellsEntriesApart: false, content: [2]))
    expect(!isUntouched(tellsEntriesApart: false, content: nil))
  }

  @Test func `a second pass brings what changed, replaces what nobody touched, and nothing else`() throws {
    for name in ["same", "changed", "both", "mine", "removed there", "removed", "newer", "moved", "f/in", "f/g/deep"] {
      write("source", name, "first \(name)")
    }
    write("destination", "taken.txt", "own")
    write("source", "taken.txt", "first")
    scratch.makeLink("source/root/link", to: "there")
    try pass()
    expect(text("taken (2).txt") == "first" && text("f/g/deep") == "first f/g/deep")

    for name in ["changed", "both", "newer", "taken.txt", "f/in"] {
      write("source", name, "second \(name)", time: 1_600_000_000)
    }
    write("source", "new", "new")
    scratch.remove("source/root/removed there")
    write("destination", "both", "mine now")
    write("destination", "mine", "mine now")
    for name in ["removed", "newer"] { scratch.remove("destination/root/\(name)") }
    scratch.makeDirectory("destination/root/elsewhere")
    scratch.move("destination/root/moved", to: "destination/root/elsewhere/moved")
    let second = try pass()
    expect(second.sent, is: ["both", "changed", "f/in", "new", "newer", "taken.txt"])
    expect(second.refused, is: ["newer"])
    expect(second.away.sorted() == ["moved", "newer", "removed"] && second.stayed == ["removed there"])
    let expected: [String: String?] = [
      "same": "first same", "changed": "second changed", "both": "mine now", "both (2)": "second both",
      "mine": "mine now",
      "removed there": "first removed there", "removed": nil, "newer": nil, "moved": nil,
      "elsewhere/moved": "first moved", "f/in": "second f/in", "taken.txt": "own", "taken (2).txt": "second taken.txt",
      "taken (3).txt": nil, "new": "new", "mine (2)": nil, "changed (2)": nil,
    ]
    for (name, content) in expected { expect(text(name), is: content, "\(name)") }
    // A third one has nothing to bring, and one with another change replaces what came beside.
    expect(try pass().sent, is: [])
    write("source", "both", "third", time: 1_700_000_000)
    expect(try pass().sent, is: ["both"])
    expect(text("both") == "mine now" && text("both (2)") == "third" && text("both (3)") == nil)
  }

  /// What is at the destination, without the dates in names.
  private var outcome: [String: String] {
    var outcome: [String: String] = [:]
    for name in scratch.snapshot("destination").entries.keys.map({ String(decoding: $0, as: UTF8.self) }) {
      let isFile = scratch.exists("destination/\(name)/.") == false
      outcome[name.replacing(/before-[0-9-]*/, with: "before")] = isFile ? scratch.text("destination/\(name)") : ""
    }
    return outcome
  }

  /// A second pass with everything that may happen, which dies at an operation, or meets another program
  /// there. Returns whether it got so far.
  private func secondPass(
    dyingAt last: Int?, isBehind: Bool, meeting stranger: (at: Int, act: @Sendable () -> Void)? = nil
  ) throws -> Bool {
    for name in ["changed", "both", "f/g/b", "work/.git/refs", "work/a"] { write("source", name, "first \(name)") }
    write("destination", "taken", "own")
    write("source", "taken", "first")
    try pass()
    for name in ["changed", "both", "f/g/b", "work/a", "taken"] {
      write("source", name, "second \(name)", time: 1_600_000_000)
    }
    write("source", "f/new", "new")
    write("destination", "both", "mine")
    scratch.move("destination/root/f", to: "destination/root/moved")
    scratch.letSettle()
    let root = [scratch.at("source/root")]
    let arrival = try Arrival(scratch, try Export(root).offer, existing: .merge)
    let export = try Export(root)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    func goOn(dyingAt last: Int?) throws -> Bool {
      let disk = try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination"))
      let mortal = MortalDisk(disk, dyingAt: nil, diesAfter: isBehind)
      let staging = try Staging.recover(from: mortal, for: export.offer, transfer: 0xABC, keys: testKeys)
      mortal.life.withLock { ($0.operations, $0.last, $0.stranger) = (0, last, stranger) }
      staging.arrivals = try arrived()
      var moves = FolderImport(staging, to: mortal)
      do {
        try moves.run { _ in }
        try staging.finishImport()
        expect(staging.refusals(from: 0).map(\.path), is: [Array("root/f/g/b".utf8)])
      } catch {
        expect(mortal.hasDied, "\(error)")
      }
      return mortal.life.withLock { life in life.isOver || stranger.map { life.operations >= $0.at } ?? false }
    }
    let hasDied = try goOn(dyingAt: last)
    if hasDied, stranger == nil { expect(try !goOn(dyingAt: nil)) }
    try arrival.clear()
    return hasDied
  }

  @Test(arguments: [false, true])
  func `a second pass that dies at any operation ends like one that does not`(_ isBehind: Bool) throws {
    let whole = try LastPassTests()
    expect(try !whole.secondPass(dyingAt: nil, isBehind: isBehind))
    let expected = whole.outcome
    expect(expected["root/taken (2)"] == "second taken" && expected["root/work.before/a"] == "first work/a")
    expect(expected["root/both (2)"] == "second both" && expected["root/f/new"] == "new")
    expect(expected["root/f/g/b"] == nil && expected["root/moved/g/b"] == "first f/g/b")
    var last = (isBehind ? 1 + Rounds.step / 2 : 1) - Rounds.step
    repeat { last += Rounds.step } while try dies(at: last)
    expect(last > 15)
    func dies(at last: Int) throws -> Bool {
      let one = try LastPassTests()
      let hasDied = try one.secondPass(dyingAt: last, isBehind: isBehind)
      let found = one.outcome
      expect(found, is: expected, "died at \(last)")
      return hasDied && found == expected
    }
  }

  /// How a program saves a file.
  enum Saving: CaseIterable { case inPlace, renamed, timeKept }

  /// The second pass also dies behind the operation before which the file is saved, and is given up.
  @Test(arguments: Saving.allCases, [false, true])
  func `a file that is saved here while its later version comes is kept`(_ saving: Saving, dies: Bool) throws {
    var (at, lost) = (1 - Rounds.step, 0)
    repeat { at += Rounds.step } while try meets(at: at)
    expect(at > 15)
    // Between the last look and the step itself, nothing shows that such a file was saved.
    expect(lost <= (saving == .timeKept ? 1 : 0))
    func meets(at: Int) throws -> Bool {
      let one = try LastPassTests()
      let place = "destination/root/changed"
      let hasMet = try one.secondPass(
        dyingAt: dies ? at : nil, isBehind: dies,
        meeting: (
          at,
          { [scratch = one.scratch] in
            scratch.write(saving == .renamed ? "\(place).new" : place, Array("saved changed".utf8))
            if saving == .renamed { scratch.move("\(place).new", to: place) }
            if saving == .timeKept { scratch.setTime(place, 1_500_000_000) }
          }
        ))
      if hasMet, !one.outcome.values.contains("saved changed") {
        lost += 1
        expect(saving, is: .timeKept, "at \(at)")
      }
      return hasMet
    }
  }

  @Test func `what a failed import brings back has not arrived, and comes again`() throws {
    for name in ["work/.git/refs", "work/a"] { write("source", name, "first") }
    try pass()
    write("source", "work/a", "second", time: 1_600_000_000)
    scratch.letSettle()
    let root = [scratch.at("source/root")]
    let arrival = try Arrival(scratch, try Export(root).offer, existing: .merge)
    arrival.staging.arrivals = try arrived()
    let export = try Export(root)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    let importer = FolderImporter(
      try StagingArea(at: scratch.at("destination")), existing: .merge,
      completing: { () throws(Failure) in throw Failure(.importFailed, "no") })
    expect(thrown { _ = try importer.importItems(of: arrival.staging) { _ in } } != nil)
    try arrival.clear()
    expect(text("work/a"), is: "first")
    expect(try pass().sent, is: ["work/.git/refs", "work/a"])
    // Its renaming has touched the old one.
    expect(text("work/a") == "first" && text("work (2)/a") == "second")
  }

  @Test func `a folder that was moved here stays away, and comes only for what is new in it`() throws {
    for name in ["f/a", "f/g/b", "h/c"] { write("source", name, name) }
    scratch.makeDirectory("source/root/f/empty")
    try pass()
    scratch.move("destination/root/f", to: "destination/root/moved")
    scratch.move("destination/root/h", to: "destination/root/moved/h")
    let second = try pass()
    expect(second.sent == [] && second.away == ["f", "h"])
    expect(scratch.names("destination/root").sorted(), is: ["moved"])
    write("source", "f/a", "changed", time: 1_600_000_000)
    write("source", "f/new", "new")
    let third = try pass()
    expect(third.refused, is: ["f/a"])
    expect(
      scratch.names("destination/root").sorted() == ["f", "moved"] && scratch.names("destination/root/f") == ["new"])
  }

  @Test func `a folder under version control is replaced whole, or arrives beside if anything was touched`() throws {
    for name in ["work/.git/refs", "work/.git/old", "work/a"] { write("source", name, name) }
    try pass()
    write("source", "work/a", "second", time: 1_600_000_000)
    scratch.remove("source/root/work/.git/old")
    try pass()
    let aside = try #require(scratch.names("destination/root").first { $0.hasPrefix("work.before-") })
    expect(scratch.names("destination/root").count == 2 && text("\(aside)/.git/old") == "work/.git/old")
    expect(text("work/a") == "second" && text("work/.git/old") == nil)
    // Nothing new, and then a change on both sides.
    write("destination", "work/own", "own")
    expect(try pass().sent, is: [])
    expect(scratch.names("destination/root").count, is: 2)
    write("source", "work/a", "third", time: 1_700_000_000)
    try pass()
    expect(text("work/a") == "second" && text("work/own") == "own" && text("work (2)/a") == "third")
    // Only the time of a directory tells that something was removed: all of the rest comes.
    scratch.remove("source/root/work/.git/refs")
    expect(try pass().sent, is: ["work/a"])
    expect(text("work (2)/a") == "third" && text("work (2)/.git/refs") == nil)
  }

  @Test
  func `what became something else on the old computer takes the place of what was not touched, and of nothing else`()
    throws
  {
    for name in ["folder/in", "mine/in", "moved/in", "file", "edited", "link to be"] {
      write("source", name, "first \(name)")
    }
    scratch.makeLink("source/root/link", to: "there")
    try pass()
    for name in ["folder", "mine", "moved"] {
      scratch.move("source/root/\(name)", to: "gone \(name)")
      scratch.makeLink("source/root/\(name)", to: "/elsewhere")
    }
    for name in ["file", "edited", "link", "link to be"] { scratch.remove("source/root/\(name)") }
    for name in ["file/in", "edited/in"] { write("source", name, "second") }
    write("source", "link", "second")
    scratch.makeLink("source/root/link to be", to: "there")
    write("destination", "mine/own", "own")
    write("destination", "edited", "own")
    // The user has moved it to another disk.
    scratch.move("destination/root/moved", to: "destination/away")
    scratch.makeLink("destination/root/moved", to: "../away")
    let second = try pass()
    // The user has moved one folder, in whose place a link lies.
    expect(second.refused == [] && second.away == [] && second.stayed == ["mine/in"])
    expect(second.removed, is: Done.Removed())
    func aside(_ name: String) -> String {
      scratch.names("destination/root").first { $0.hasPrefix("\(name).before-") } ?? "nothing"
    }
    expect(text("\(aside("folder"))/in") == "first folder/in" && text("\(aside("file"))") == "first file")
    expect(text("\(aside("link to be"))") == "first link to be" && text("file/in") == "second")
    expect(text("link") == "second" && text("mine/own") == "own" && text("edited") == "own")
    expect(text("edited (2)/in") == "second" && scratch.text("destination/away/in") == "first moved/in")
    let names = scratch.names("destination/root")
    expect(
      names.contains("mine (2)") && names.count { $0.contains(".before-") } == 4 && names.count == 14,
      "\(names.sorted())")
    let third = try pass()
    expect(
      third.sent == [] && third.removed == Done.Removed() && scratch.names("destination/root").count == names.count)
    // Back again: it comes with everything in it.
    scratch.remove("source/root/folder")
    scratch.move("gone folder", to: "source/root/folder")
    let back = try pass()
    expect(back.sent == ["folder/in"] && back.removed == Done.Removed() && text("folder/in") == "first folder/in")
  }

  @Test func `what belongs together arrives whole or not at all where it was moved or removed here`() throws {
    for name in ["work/.git/refs", "work/a", "f/work/.git/refs", "f/work/a", "f/b"] { write("source", name, name) }
    try pass()
    for name in ["work", "f"] { scratch.move("destination/root/\(name)", to: "destination/\(name)") }
    for name in ["work", "f/work"] {
      write("source", "\(name)/.git/new", "new")
      write("source", "\(name)/.git/refs", "second", time: 1_600_000_000)
    }
    for removals in [.unsettled, .meant] as [ArrivedItems.Removals] {
      let second = try pass(removals)
      expect(second.refused.contains("work") && second.refused.contains("f/work"))
      expect(scratch.names("destination/root"), is: [])
    }
    write("source", "f/new", "new")
    try pass()
    expect(scratch.names("destination/root") == ["f"] && scratch.names("destination/root/f") == ["new"])
    try pass(.again)
    expect(text("work/.git/refs") == "second" && text("work/a") == "work/a" && text("f/work/.git/new") == "new")
    expect(text("f/b"), is: "f/b")
  }

  @Test func `what is wanted again arrives, also where it belongs together with what is here`() throws {
    for name in ["x.db", "x.db-wal", "y.db", "y.db-wal", "work/.git/refs", "work/a"] { write("source", name, name) }
    try pass()
    for name in ["x.db", "x.db-wal", "y.db-wal", "work/a"] { scratch.remove("destination/root/\(name)") }
    expect(try pass().removed.count, is: 4)
    let again = try pass(.again)
    expect(again.removed == Done.Removed() && text("x.db") == "x.db" && text("x.db-wal") == "x.db-wal")
    expect(text("y (2).db-wal") == "y.db-wal" && text("work (2)/a") == "work/a")
    expect(text("work (2)/.git/refs") == "work/.git/refs" && text("work/a") == nil)
    let last = try pass()
    expect(last.sent == [] && last.removed == Done.Removed())
  }

  @Test func `what is gone on both devices is not counted, and no user is asked about it`() throws {
    for name in ["a", "f/b", "work/.git/ab/c", "work/d", "kept/e"] { write("source", name, name) }
    try pass()
    for side in ["source", "destination"] {
      for name in ["a", "f", "work/.git/ab"] {
        scratch.move("\(side)/root/\(name)", to: "\(side) \(name.replacing("/", with: "-"))")
      }
    }
    scratch.move("destination/root/kept", to: "away")
    let second = try pass()
    expect(second.removed == Done.Removed(count: 2, unsettled: 2) && second.away == ["kept"])
    let asked = try arrived().unsettled(in: try StagingArea(at: scratch.at("destination")), at: nil)
    expect(asked.map(\.items), is: [2])
    // Once more on the old device, it is new.
    write("source", "a", "anew")
    expect(try pass().sent.contains("a") && text("a") == "anew")
  }

  @Test func `what an app has removed on the old device was not removed here`() throws {
    for name in ["a", "cache/b"] { write("source", name, name) }
    scratch.move("destination/root", to: "destination/before")
    try pass(existing: .setAside)
    scratch.move("source/root/cache", to: "gone")
    write("source", "a", "second", time: 1_600_000_000)
    let second = try pass(existing: .setAside)
    expect(text("a") == "second" && second.removed == Done.Removed() && second.away == [])
  }

  @Test func `what the old device could not read was not removed there`() throws {
    for name in ["dying/a", "dying/b", "gone"] { write("source", name, name) }
    try pass()
    for name in ["dying", "gone"] { scratch.move("source/root/\(name)", to: "\(name)") }
    scratch.remove("destination/root/dying/b")
    let second = try pass(unread: ["dying"])
    expect(second.stayed == ["gone"] && second.away == ["dying/b"])
    expect(second.removed, is: Done.Removed(count: 1, unsettled: 1))
  }

  @Test func `a database and its sidecar files arrive beside if they changed, and never again without a change`() throws
  {
    for name in ["x.db", "x.db-wal"] { write("source", name, name) }
    try pass()
    write("destination", "x.db", "mine")
    expect(try pass().sent, is: [])
    expect(scratch.names("destination/root").sorted(), is: ["x.db", "x.db-wal"])
    write("source", "x.db", "second", time: 1_600_000_000)
    try pass()
    expect(text("x.db") == "mine" && text("x (2).db") == "second" && text("x (2).db-wal") == "x.db-wal")
  }

  @Test func `the place where an earlier version lies decides what its next version is`() throws {
    for name in ["text", "mode", "f/in", "free"] { write("source", name, "first") }
    for name in ["text", "mode", "f", "free"] { write("destination", name, "own") }
    try pass()
    let names = ["text (2)", "f (2)/in", "free (2)"]
    expect(names.map(text), is: ["first", "first", "first"])
    for name in ["text", "f/in", "free"] { write("source", name, "second", time: 1_600_000_000) }
    chmod(scratch.path("source/root/mode"), 0o400)
    func mode() throws -> UInt32 { try Directory.status(of: scratch.at("destination/root/mode (2)")).mode & 0o777 }
    let first = try mode()
    var facts = ArrivalRule.Facts(destination: Array("/d".utf8))
    facts.running = ["text (2)", "mode (2)", "f (2)"].map { Array("/d/root/\($0)".utf8) }
    let permit = ArrivalRule(facts).permit(at: nil, taking: .files)
    expect(try Passes(scratch).pass(from: Self.source, taking: permit).following, is: ["mode"])
    expect(try names.map(text) == ["first", "first", "second"] && mode() == first)
    try pass()
    expect(try names.map(text) == ["second", "second", "second"] && mode() == 0o400)
  }

  @Test(arguments: Passes.Death.allCases)
  func `what the user changes before the record of it is written, keeping size and time, counts as touched`(
    death: Passes.Death
  ) throws {
    let names = ["own", "new/own", "kept", "new/kept"]
    for name in names { write("source", name, "first") }
    let scratch = scratch
    func edit(_ names: [String]) -> @Sendable () -> Void {
      {
        scratch.letSettle()
        for name in names {
          scratch.write("destination/root/\(name)", Array("own..".utf8))
          scratch.setTime("destination/root/\(name)", 1_500_000_000)
        }
      }
    }
    try Passes(scratch).pass(from: Self.source, dying: death, meanwhile: edit(["own", "new/own"]))
    for name in names { write("source", name, "second", time: 1_600_000_000) }
    try pass()
    expect(["own", "own (2)", "new/own", "new/own (2)"].map(text), is: ["own..", "second", "own..", "second"])
    expect(["kept", "new/kept"].map(text) == ["second", "second"] && text("kept (2)") == nil)
    // The same of what follows.
    for name in ["kept", "new/kept"] { scratch.setMode("source/root/\(name)", 0o604) }
    let third = try Passes(scratch).pass(from: Self.source, dying: death) {
      scratch.letSettle()
      scratch.write("destination/root/kept", Array("own...".utf8))
      scratch.setTime("destination/root/kept", 1_600_000_000)
    }
    expect(third.following, is: ["kept", "new/kept"])
    for name in ["kept", "new/kept"] { write("source", name, "third", time: 1_700_000_000) }
    try pass()
    expect(["kept", "kept (2)", "new/kept"].map(text), is: ["own...", "third", "third"])
  }

  /// A pass that dies behind an operation of its import, before which the file `a` is saved, keeping size and
  /// time; another run completes it, or the transfer is given up. Returns whether it got so far.
  private func passIsKilled(at last: Int, saving content: String, isGivenUp: Bool) throws -> Bool {
    scratch.letSettle()
    let root = [scratch.at("source/root")]
    let arrival = try Arrival(scratch, try Export(root).offer, existing: .merge)
    arrival.staging.arrivals = try arrived()
    let present = try arrival.importer.present(
      try Export(root).offer, for: arrival.staging, takesBases: false)
    var held = HeldItems()
    held.add(Held(kind: .arrived, marks: present.arrived))
    held.add(Held(kind: .state, marks: present.states))
    held.add(Held(kind: .content, marks: present.contents))
    let export = try Export(root, held: held)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    let disk = try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination"))
    let mortal = MortalDisk(disk, dyingAt: nil, diesAfter: true)
    let staging = try Staging.recover(from: mortal, for: export.offer, transfer: 0xABC, keys: testKeys)
    let save: @Sendable () -> Void = { [scratch] in
      scratch.letSettle()
      scratch.write("destination/root/a", Array(content.utf8))
      scratch.setTime("destination/root/a", 1_500_000_000)
    }
    mortal.life.withLock { ($0.operations, $0.last, $0.stranger) = (0, last, isGivenUp ? (last, save) : nil) }
    staging.arrivals = try arrived()
    var moves = FolderImport(staging, to: mortal)
    _ = thrown { try moves.run { _ in } }
    if !isGivenUp, mortal.hasDied {
      save()
      let again = try #require(try arrival.importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
      again.arrivals = try arrived()
      _ = try arrival.importer.importItems(of: again) { _ in }
    }
    try arrival.clear()
    return mortal.hasDied
  }

  /// A second pass of one file, killed at each of its operations, in a home of its own each time; `pass`
  /// returns whether it was.
  private static func killedAtEach(_ pass: (LastPassTests, Int) throws -> Bool) throws {
    var (at, hasDied) = (0, true)
    while hasDied {
      at += 1
      let one = try LastPassTests()
      one.write("source", "a", "first")
      try one.pass()
      hasDied = try pass(one, at)
    }
    expect(at > 3)
  }

  @Test func `a file that is saved when its newer version takes its place outlives a kill, and giving up`() throws {
    try Self.killedAtEach { one, at in
      one.write("source", "a", "second", time: 1_600_000_000)
      let hasDied = try one.passIsKilled(at: at, saving: "own content", isGivenUp: true)
      expect(!hasDied || one.outcome.values.contains("own content"), "at \(at)")
      return hasDied
    }
  }

  @Test func `a file that is saved when its metadata has followed in half counts as touched`() throws {
    try Self.killedAtEach { one, at in
      one.scratch.setMode("source/root/a", 0o604)
      let hasDied = try one.passIsKilled(at: at, saving: "own..", isGivenUp: false)
      one.write("source", "a", "second", time: 1_600_000_000)
      try one.pass()
      expect(!hasDied || one.outcome.values.contains("own.."), "at \(at)")
      return hasDied
    }
  }

  @Test func `names of one file are replaced together`() throws {
    write("source", "one", "first")
    expect(Glibc.link(scratch.path("source/root/one"), scratch.path("source/root/two")), is: 0)
    try pass()
    scratch.remove("source/root/one")
    scratch.remove("source/root/two")
    write("source", "one", "second", time: 1_600_000_000)
    expect(Glibc.link(scratch.path("source/root/one"), scratch.path("source/root/two")), is: 0)
    try pass()
    expect(text("one") == "second" && text("two") == "second")
    expect(scratch.names("destination/root").sorted(), is: ["one", "two"])
  }

  @Test func `another name of a file has arrived, also if it came before the file's content`() throws {
    let time = ItemTime(seconds: 1_500_000_000, nanoseconds: 0)
    let records = [
      try record("root", .directory, modified: time), try hardLink("root/two", to: "root/one"),
      try record("root/one", .file(size: 5), modified: time),
    ]
    let arrival = try Arrival(scratch, offer(), existing: .merge)
    arrival.staging.arrivals = try arrived()
    let frame = Crafted.frame { crafted in
      for record in records.dropLast() { crafted.item(record) }
      crafted.file(records[2], Array("first".utf8))
    }
    try arrival.write([frame])
    try arrival.finish(finish(records))
    expect(text("two"), is: "first")
    expect(try arrived().item(at: try ArchivePath(Array("root/two".utf8))) != nil)
  }

  @Test func `data that was not touched is known as such, until anything in it is touched or added`() throws {
    for name in ["app/a", "app/sub/b"] { write("source", name, name) }
    try pass()
    // The folder itself was merged.
    scratch.remove("arrived")
    scratch.move("destination/root", to: "destination/before")
    try pass()
    let home = try Directory.open(scratch.at("destination"))
    let roots = [(key: Array("root".utf8), place: Array("root".utf8))]
    expect(try arrived().areUntouched(roots, in: home))
    expect(try !arrived().areUntouched(roots + [(key: Array("other".utf8), place: Array("other".utf8))], in: home))
    // What the app writes when it is merely started does not count.
    let written = Set(try ["root/app/sub/b", "root/app/sub/new"].map { try ArchivePath(Array($0.utf8)) })
    scratch.write("destination/root/app/sub/b", "more")
    scratch.write("destination/root/app/sub/new", "new")
    expect(try !arrived().areUntouched(roots, in: home))
    expect(try arrived().areUntouched(roots, in: home, besides: written))
    scratch.write("destination/root/app/a", "more")
    expect(try !arrived().areUntouched(roots, in: home, besides: written))
  }

  @Test func `an earlier pass has brought all of a source until one of its items changes, comes or goes`() throws {
    for name in ["a", "sub/b"] { write("source", name, name) }
    try pass()
    let root = Root(kind: .directory, name: Array("root".utf8))
    func hasAll(of roots: [Root]? = nil) throws -> Bool {
      scratch.letSettle()
      let summary = try FolderSource(paths: [scratch.at("source/root")]).prepare(until: StopSignal())
      return try arrived().hasAll(of: roots ?? [root], items: summary.total.items, changed: summary.changed)
    }
    // What became of it here does not matter.
    scratch.write("destination/root/a", "mine")
    expect(try hasAll() && !hasAll(of: [root, Root(kind: .file, name: Array("other".utf8))]))
    for change in [
      { write("source", "sub/b", "newer", time: 1_600_000_000) }, { write("source", "new", "new") },
      { scratch.setMode("source/root/a", 0o604) }, { scratch.remove("source/root/new") },
    ] {
      change()
      expect(try !hasAll())
      try pass()
    }
    expect(try !arrived().hasAll(of: [root], items: 4, changed: nil))
  }

  @Test func `what was removed here is counted apart until the user says that it was meant, or wants it again`() throws
  {
    for name in ["a", "f/b", "f/c", "d"] { write("source", name, name) }
    try pass()
    expect(try pass().leftOut, is: LeftOut(present: 6))
    for name in ["a", "f", "d"] { scratch.move("destination/root/\(name)", to: "gone \(name)") }
    for _ in 0..<2 {
      let second = try pass()
      expect(second.leftOut == LeftOut(removed: 4) && second.removed == Done.Removed(count: 5, unsettled: 5))
      expect(scratch.names("destination/root") == [] && second.away.sorted() == ["a", "d", "f"])
    }
    let meant = try pass(.meant)
    expect(meant.removed, is: Done.Removed(count: 5, unsettled: 0))
    // A newer version of what was meant to go stays away, and is named; a new item arrives.
    write("source", "a", "newer", time: 1_600_000_000)
    write("source", "f/new", "new")
    let later = try pass()
    expect(later.refused == ["a"] && later.removed.unsettled == 0 && later.leftOut.removed == 3)
    expect(scratch.names("destination/root") == ["f"] && scratch.names("destination/root/f") == ["new"])
    // It does not cross again, until it changes once more.
    let quiet = try pass()
    expect(quiet.sent == [] && quiet.refused == [] && quiet.removed == Done.Removed(count: 4, unsettled: 0))
    write("source", "a", "newest", time: 1_650_000_000)
    expect(try pass().refused == ["a"] && pass().sent == [])
    let again = try pass(.again)
    expect(again.sent == ["a", "d", "f/b", "f/c"] && again.removed == Done.Removed())
    expect(text("a") == "newest" && text("f/b") == "f/b" && text("d") == "d" && text("f/new") == "new")
    expect(try pass().leftOut, is: LeftOut(present: 7))
  }

  @Test func `a version that was kept away arrives when the earlier one is back in its place`() throws {
    for name in ["a", "work/.git/refs", "work/a"] { write("source", name, "old") }
    try pass()
    for name in ["a", "work"] { scratch.move("destination/root/\(name)", to: "gone \(name)") }
    for name in ["a", "work/a"] { write("source", name, "newer", time: 1_600_000_000) }
    expect(try pass().refused.contains("a"))
    expect(try pass().sent, is: [])
    for name in ["a", "work"] { scratch.move("gone \(name)", to: "destination/root/\(name)") }
    let back = try pass()
    expect(back.sent.contains("a") && back.sent.contains("work/a"))
    expect(scratch.names("destination/root").contains { text($0) == "newer" })
  }

  @Test func `a change that keeps size and time follows: new content is sent, and of equal content the metadata alone`()
    throws
  {
    for name in ["container", "mode", "touched", "removed", "work/.git/refs", "work/a"] { write("source", name, name) }
    write("source", "big", String(repeating: "0123456", count: 100_000))
    try pass()
    // The folders count, too.
    expect(try pass().leftOut, is: LeftOut(present: 10))
    // As a container does it: other content, and the old time.
    write("source", "container", "CONTAINER")
    write("source", "big", String(repeating: "6543210", count: 100_000))
    for name in ["mode", "touched", "removed", "work/a", "work/.git/refs"] {
      scratch.setMode("source/root/\(name)", 0o604)
    }
    scratch.setMode("destination/root/touched", 0o640)
    scratch.move("destination/root/removed", to: "gone")
    let second = try pass()
    expect(second.sent, is: ["big", "container"])
    expect(second.following, is: ["mode", "touched", "work/.git/refs", "work/a"])
    expect(second.refused == [] && second.leftOut.removed == 1)
    expect(text("container") == "CONTAINER" && text("big")?.hasPrefix("6543210") == true)
    let modes = ["mode", "touched", "work/a"].map { scratch.snapshot("destination/root").entries[Array($0.utf8)]?.mode }
    expect(modes, is: [0o604, 0o640, 0o604])
    expect(scratch.names("destination/root").sorted(), is: ["big", "container", "mode", "touched", "work"])
    // Nothing is asked a second time, and what followed counts as untouched.
    let third = try pass()
    expect(third.sent == [] && third.following == [])
    write("source", "mode", "newer", time: 1_600_000_000)
    expect(try pass().sent == ["mode"] && text("mode") == "newer")
  }

  @Test func `new content of equal size and time arrives beside what was touched here, and is never taken for equal`()
    throws
  {
    write("source", "a", "first")
    try pass()
    write("source", "a", "other")
    scratch.setMode("destination/root/a", 0o640)
    expect(try pass().sent, is: ["a"])
    expect(text("a") == "first" && text("a (2)") == "other")
  }

  @Test func `another source has nothing that arrived, and replaces nothing`() throws {
    write("source", "a", "mine")
    try pass()
    write("source", "a", "older", time: 1_400_000_000)
    write("source", "b", "other")
    let other = SourceIdentity(2)
    expect(try pass(from: other).sent, is: ["a", "b"])
    expect(text("a") == "mine" && text("a (2)") == "older" && text("b") == "other")
    // Each has its own versions from now on.
    write("source", "a", "newer", time: 1_600_000_000)
    expect(try pass(from: other).sent == ["a"] && text("a") == "mine" && text("a (2)") == "newer")
    write("source", "a", "newest", time: 1_700_000_000)
    expect(try pass().sent == ["a"] && text("a") == "newest" && text("a (2)") == "newer")
    // Nothing tells a source without a number from others.
    write("source", "a", "nameless", time: 1_800_000_000)
    try pass(from: .unknown)
    write("source", "a", "once more", time: 1_850_000_000)
    try pass(from: .unknown)
    expect(text("a") == "newest" && text("a (3)") == "nameless" && text("a (4)") == "once more")
  }

  @Test func `an import whose items are in place succeeds, also where no record of them can be written`() throws {
    write("source", "a", "new")
    let root = [scratch.at("source/root")]
    let export = try Export(root)
    let arrival = try Arrival(scratch, export.offer, existing: .merge)
    let full = try Descriptor.openThroughLinks(Array("/dev/full".utf8), .readWrite)
    arrival.staging.arrivals = try ArrivedItems(DiskFile(full), of: [Array("root".utf8): Self.source])
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    expect(text("a"), is: "new")
    expect(scratch.names("destination"), is: ["root"])
  }

  @Test func `a record that is cut short is forgotten, and the newest record of a path counts`() throws {
    func item(_ name: String, _ size: UInt64) throws -> ArrivedItem {
      let path = try ArchivePath(Array("root/\(name)".utf8))
      return ArrivedItem(
        source: Self.source, path: path, target: path, kind: .file, size: size,
        modified: ItemTime(seconds: 1, nanoseconds: 0), entry: nil)
    }
    for (name, size) in [("a", 1), ("b", 2), ("a", 3)] as [(String, UInt64)] {
      let items = try arrived()
      try items.add(try item(name, size))
      try items.flush()
    }
    scratch.write("arrived", scratch.read("arrived") + [0, 0, 0, 60, 18, 1, 2, 3])
    let items = try arrived()
    try items.add(try item("c", 4))
    try items.flush()
    var found: [UInt64] = []
    try arrived().visit { found.append($0.size) }
    expect(found, is: [2, 3, 4])
    expect(try arrived().item(at: ArchivePath(Array("root/a".utf8)))?.size, is: 3)
  }
}

extension ArchivePath {
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
