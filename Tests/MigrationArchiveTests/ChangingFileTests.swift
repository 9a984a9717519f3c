import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Sources that change while they are sent. One version arrives, or none and a report.
@Suite struct ChangingFileTests {
  /// Exports `source/file`, calling `change` at every request for a buffer, and imports the result.
  private func send(
    _ scratch: Scratch, _ change: @escaping @Sendable (Int) -> Void
  ) throws -> (export: Export, arrived: TreeSnapshot.Entry?) {
    scratch.write("source/calm", [1, 2, 3])
    let export = try Export([scratch.at("source")], outlet: Outlet(whenBuffer: change))
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    expect(scratch.snapshot("destination")["source/calm"]?.content, is: [1, 2, 3])
    expect(export.result.finish.unsent, is: UInt64(export.outlet.unsent.count))
    try expectDrainBetweenGenerations(export)
    expect(scratch.openDescriptors() <= 6)
    return (export, scratch.snapshot("destination")["source/file"])
  }

  /// No chunk of a generation is submitted before all data of the previous generation has been
  /// drained.
  private func expectDrainBetweenGenerations(_ export: Export) throws {
    var current: Generation?
    var drained = true
    for event in export.outlet.events {
      switch event {
      case .drained: drained = true
      case .submitted(let index):
        for entry in try entriesOf(export.outlet.frames[index]) where entry.text == "source/file" {
          if let current, current != entry.generation { expect(drained, "no drain between two generations") }
          current = entry.generation
        }
        drained = false
      }
    }
  }

  @Test(arguments: [1000, 262_144, 262_145, 3_000_000])
  func `a file that grows during a transfer arrives complete`(_ size: Int) throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(size))
    let at = size > 1 << 20 ? 2 : 1
    let (export, arrived) = try send(scratch) { number in
      if number == at { scratch.patch("source/file", [1, 2, 3], at: size) }
    }
    expect(arrived?.content, is: pattern(size) + [1, 2, 3])
    expect(export.outlet.unsent.isEmpty)
  }

  @Test(arguments: [1000, 262_144, 262_145, 3_000_000])
  func `a file that shrinks during a transfer arrives at its new size`(_ size: Int) throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(size))
    let at = size > 1 << 20 ? 2 : 1
    let (_, arrived) = try send(scratch) { number in
      if number == at { scratch.cut("source/file", to: size / 3) }
    }
    expect(arrived?.content, is: Array(pattern(size).prefix(size / 3)))
  }

  @Test(arguments: [1000, 3_000_000])
  func `an edit of equal size with a restored time does not mix two versions`(_ size: Int) throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(size))
    scratch.setTime("source/file", 1_000_000, 5)
    let at = size > 1 << 20 ? 3 : 1
    let (_, arrived) = try send(scratch) { number in
      guard number == at else { return }
      scratch.patch("source/file", pattern(size, seed: 77), at: 0)
      scratch.setTime("source/file", 1_000_000, 5)
    }
    expect(arrived?.content, is: pattern(size, seed: 77))
    expect(arrived?.seconds, is: 1_000_000)
  }

  @Test(arguments: [1000, 3_000_000])
  func `a file that is replaced arrives as the new file`(_ size: Int) throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(size))
    let at = size > 1 << 20 ? 2 : 1
    let (_, arrived) = try send(scratch) { number in
      guard number == at else { return }
      scratch.write("outside/new", pattern(size, seed: 5))
      scratch.move("outside/new", to: "source/file")
    }
    // A small file is read in one call, and either version is consistent.
    expect(arrived?.content == pattern(size, seed: 5) || (at == 1 && arrived?.content == pattern(size)))
  }

  @Test(arguments: [1000, 3_000_000])
  func `a file that vanishes is named`(_ size: Int) throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(size))
    let at = size > 1 << 20 ? 2 : 1
    let (export, arrived) = try send(scratch) { number in
      if number == at { scratch.remove("source/file") }
    }
    expect(arrived == nil)
    expect(export.outlet.unsent.map(\.reason), is: [.vanished])
    expect(export.outlet.unsent.map(\.path), is: [Array("source/file".utf8)])
  }

  /// Passes of one run over `source`, each of which meets a change when everything has been read.
  private func passes(_ scratch: Scratch, _ change: @escaping @Sendable (Int) -> Void) throws -> (Int) throws ->
    [String]
  {
    scratch.letSettle()
    let source = try FolderSource(paths: [scratch.at("source")])
    _ = try source.prepare(until: StopSignal())
    return { pass in
      let outlet = Outlet()
      let result = try source.export(ExportSettings(outlet), for: nil) { export in
        outlet.read(export)
        change(pass)
      }
      expect(result.finish.unsent, is: UInt64(outlet.unsent.count))
      return outlet.unsent.map { String(decoding: $0.path, as: UTF8.self) }
    }
  }

  @Test(arguments: [
    ("x.db", "x.db-wal"), ("repository/.git/HEAD", "repository/file"), ("level/CURRENT", "level/000005.ldb"),
    ("mail/Inbox", "mail/Inbox.msf"), ("x", "x-journal"),
  ])
  func `what belongs together is sent again if one of it changes behind the other, and named after some tries`(
    one: String, other: String
  ) throws {
    let scratch = try Scratch.withFolders()
    for name in [one, other, "alone", "x.db-shm"] { scratch.write("source/\(name)", Array(name.utf8)) }
    let pass = try passes(scratch) { number in
      scratch.write("source/\(other)", [UInt8](repeating: 1, count: number + 20))
      scratch.write("source/x.db-shm", [UInt8](repeating: 1, count: number + 20))
      scratch.write("source/alone", [UInt8](repeating: 1, count: number + 20))
    }
    for number in 1...3 {
      let failure = thrown { _ = try pass(number) } as? Failure
      expect(failure?.code == .connection && failure?.name == Array("source/\(other)".utf8), "\(number)")
    }
    expect(try pass(4), is: ["source/\(other)"])
  }

  @Test func `a database that may have had a sidecar file meanwhile is sent again, until it stays as it is`() throws {
    let scratch = try Scratch.withFolders()
    let database = Array("SQLite format 3\0".utf8)
    for name in ["f/x.db", "f/calm.db", "g/still.db"] { scratch.write("source/\(name)", database) }
    scratch.write("source/f/text", [1])
    let pass = try passes(scratch) { number in
      // A transaction: its journal comes and goes.
      scratch.write("source/f/x.db-journal", [1])
      scratch.remove("source/f/x.db-journal")
      scratch.write("source/f/text", [2])
      scratch.write("source/g/still.db", database + [1])
      if number < 3 { scratch.write("source/f/x.db", database + [UInt8](repeating: 1, count: number)) }
    }
    for _ in 1...2 { expect((thrown { _ = try pass(1) } as? Failure)?.name, is: Array("source/f/x.db".utf8)) }
    expect(try pass(3), is: [])
  }

  @Test
  func `what was left out is sent with what belongs to it if it changes behind that, and not looked at otherwise`()
    throws
  {
    let scratch = try Scratch.withFolders()
    for name in ["Inbox", "Inbox.msf"] {
      scratch.write("source/\(name)", Array(name.utf8))
      scratch.setTime("source/\(name)", 1_500_000_000)
    }
    func names(besides leftOut: [String]) throws -> Failure? {
      scratch.letSettle()
      let source = try FolderSource(paths: [scratch.at("source")])
      _ = try source.prepare(until: StopSignal())
      let marks = try leftOut.map { name in
        testKeys.presentMark(
          path: try ArchivePath(Array("source/\(name)".utf8)), size: UInt64(name.utf8.count),
          modified: ItemTime(seconds: 1_500_000_000, nanoseconds: 0))
      }
      var held = HeldItems()
      held.add(Held(kind: .present, marks: marks.sorted()))
      let outlet = Outlet()
      return thrown {
        _ = try source.export(ExportSettings(outlet, held: held), for: nil) { export in
          outlet.read(export)
          scratch.setMode("source/Inbox.msf", 0o600)
        }
      } as? Failure
    }
    expect(try names(besides: ["Inbox.msf"])?.name, is: Array("source/Inbox.msf".utf8))
    expect(try names(besides: ["Inbox", "Inbox.msf"]) == nil)
  }

  @Test func `what belongs together and did not change is looked at once more, and sent once`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["x.db", "x.db-wal"] { scratch.write("source/\(name)", Array(name.utf8)) }
    expect(try passes(scratch) { _ in }(1), is: [])
  }

  @Test func `what is made in a folder that was listed before is named`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["folder/a", "other/b"] { scratch.write("source/\(name)", [1]) }
    let pass = try passes(scratch) { _ in
      scratch.write("source/folder/new", [1])
      scratch.makeDirectory("source/sub")
      scratch.write("source/sub/file", [1])
    }
    expect(try pass(1).sorted(), is: ["source/folder/new", "source/sub"])
  }

  @Test func `a file that keeps changing is named`() throws {
    let scratch = try Scratch.withFolders()
    // Larger than a frame, so that each reading requests buffers, and each request changes the
    // file.
    scratch.write("source/file", pattern(2_000_000))
    let (export, arrived) = try send(scratch) { number in
      scratch.patch("source/file", [UInt8(truncatingIfNeeded: number)], at: 0)
    }
    expect(arrived == nil)
    expect(export.outlet.unsent.map(\.reason), is: [.keepsChanging])
    expect(export.result.finish.total.items, is: 2)
  }

  @Test func `a large file that becomes small or empty arrives in that state`() throws {
    for size in [0, 10] {
      let scratch = try Scratch.withFolders()
      scratch.write("source/file", pattern(3_000_000))
      let (_, arrived) = try send(scratch) { number in
        if number == 3 { scratch.cut("source/file", to: size) }
      }
      expect(arrived?.size, is: size)
    }
  }

  @Test func `a hole that is filled while its file is read arrives with its data`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(2_000_000))
    scratch.cut("source/file", to: 8_000_000)
    let (_, arrived) = try send(scratch) { number in
      if number == 2 { scratch.patch("source/file", pattern(100), at: 6_000_000) }
    }
    expect(arrived?.content[6_000_000..<6_000_100].elementsEqual(pattern(100)), is: true)
    expect(arrived?.size, is: 8_000_000)
  }

  @Test func `an item that another type replaces between walk and export is named and not followed`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["file", "gone"] { scratch.write("source/\(name)", pattern(10)) }
    for name in ["dir", "away", "swapped"] {
      scratch.makeDirectory("source/\(name)")
      scratch.write("source/\(name)/inner", [1])
    }
    scratch.makeLink("source/link", to: "file")
    scratch.write("source/pipe", [1])
    let export = try Export([scratch.at("source")]) {
      scratch.remove("source/file")
      scratch.makeLink("source/file", to: "../outside/secret")
      scratch.remove("source/gone")
      scratch.move("source/dir", to: "outside/dir")
      scratch.makeLink("source/dir", to: "../outside")
      scratch.move("source/away", to: "outside/away")
      scratch.move("source/swapped", to: "outside/swapped")
      scratch.write("source/swapped", [1])
      scratch.remove("source/link")
      scratch.makeDirectory("source/link")
      scratch.remove("source/pipe")
      precondition(mkfifo("\(scratch.path)/source/pipe", 0o600) == 0)
    }
    let named = export.outlet.unsent.map { String(decoding: $0.path, as: UTF8.self) }
    expect(
      named.sorted(),
      is: [
        "source/away", "source/away/inner", "source/dir", "source/dir/inner", "source/file", "source/gone",
        "source/link", "source/pipe", "source/swapped", "source/swapped/inner",
      ])
    for unsent in export.outlet.unsent
    where ["source/dir", "source/dir/inner", "source/file"].map({ Array($0.utf8) }).contains(unsent.path) {
      expect(unsent.reason, is: .replaced, "\(unsent)")
    }
    expect(try export.entries.map(\.text), is: ["source"])
    expect(export.result.finish.unsent, is: 10)
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
  }

  @Test func `the files of a directory that is replaced during the transfer stay separate`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/d")
    for name in 0..<6 { scratch.write("source/d/\(name)", pattern(700_000, seed: 1)) }
    let outlet = Outlet { number in
      guard number == 4 else { return }
      scratch.move("source/d", to: "outside/d")
      scratch.makeDirectory("source/d")
      for name in 0..<6 { scratch.write("source/d/\(name)", pattern(700_000, seed: 2)) }
    }
    let export = try Export([scratch.at("source")], outlet: outlet)
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(outlet.frames)
    try arrival.finish(export.result.finish)
    for name in 0..<6 {
      let content = scratch.snapshot("destination")["source/d/\(name)"]?.content
      expect(content == pattern(700_000, seed: 1) || content == pattern(700_000, seed: 2))
    }
  }

  @Test func `a file that cannot be read is named`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", [1])
    scratch.setMode("source/file", 0)
    let folders = ["", "/source", "/source/file", "/destination"].map { scratch.path + $0 }
    try withoutPrivileges(owning: folders) { [self] in
      let (export, arrived) = try send(scratch) { _ in }
      expect(arrived == nil)
      expect(export.outlet.unsent.map(\.reason), is: [.unreadable])
    }
  }

  @Test func `an export that is stopped ends immediately`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", pattern(3_000_000))
    let source = try FolderSource(paths: [scratch.at("source")])
    _ = try source.prepare(until: StopSignal())
    let outlet = Outlet()
    outlet.stop()
    expect(failure { try source.export(to: outlet) }, is: "stopped")
    expect(outlet.frames.isEmpty && outlet.unsent.isEmpty)
    expect(scratch.openDescriptors(), is: 2)
  }
}
