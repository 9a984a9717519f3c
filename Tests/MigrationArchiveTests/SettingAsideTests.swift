import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The data of an app takes the places of existing data, which is set aside.
@Suite struct SettingAsideTests {
  private let scratch: Scratch
  private let places: RootDestinations

  init() throws {
    scratch = try Scratch.withFolders()
    for key in ["config", "data", "rc"] { scratch.makeDirectory("source/\(key)") }
    for name in ["config/settings", "data/new"] { scratch.write("source/\(name)", Array("new".utf8)) }
    scratch.makeDirectory("destination/.config")
    for name in [".config/app/settings", ".app/old"] { scratch.write("destination/\(name)", Array("old".utf8)) }
    places = try RootDestinations([
      "config": Array(".config/app".utf8), "data": Array(".app".utf8), "rc": Array(".apprc".utf8),
    ])
    scratch.letSettle()
  }

  private var roots: [[UInt8]] { ["config", "data", "rc"].map { scratch.at("source/\($0)") } }

  private func migrate() throws {
    let export = try Export(roots)
    let arrival = try Arrival(scratch, export.offer, existing: .setAside, places: places)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
  }

  private func text(_ name: String) -> String? {
    scratch.exists("destination/\(name)") ? scratch.text("destination/\(name)") : nil
  }

  /// The names of old data of a place.
  private func asides(_ folder: String, _ name: String) -> [String] {
    scratch.names(folder).filter { $0.hasPrefix("\(name).before-") }
  }

  private func isNew() -> Bool {
    text(".config/app/settings") == "new" && text(".app/new") == "new" && text(".app/old") == nil
      && scratch.exists("destination/.apprc")
  }

  /// Whether everything is as it was, with nothing beside it.
  private func isOld() -> Bool {
    text(".config/app/settings") == "old" && text(".app/old") == "old" && text(".app/new") == nil
      && scratch.names("destination/.config") == ["app"] && asides("destination", ".app") == []
  }

  @Test func `the old data stands beside, with the date, as often as there is any`() throws {
    try migrate()
    expect(isNew())
    let first = asides("destination/.config", "app")
    expect(first.count == 1 && first[0].count == "app.before-2026-11-25".count)
    expect(scratch.text("destination/.config/\(first[0])/settings"), is: "old")
    try migrate()
    expect(isNew())
    expect(asides("destination/.config", "app"), is: [first[0], first[0] + "-2"])
    expect(scratch.text("destination/.config/\(first[0])/settings"), is: "old")
    expect(asides("destination", ".app").count, is: 2)
    expect(asides("destination", ".apprc").count, is: 1)
  }

  @Test(arguments: ["n", "\u{E9}"]) func `old data with the longest name gets a shorter one`(letter: String) throws {
    let name = String(String(repeating: letter, count: 255).utf8.prefix(254))!
    scratch.write("destination/\(name)/old", Array("old".utf8))
    for number in 1...2 {
      let export = try Export([scratch.at("source/data")])
      let arrival = try Arrival(
        scratch, export.offer, existing: .setAside, places: try RootDestinations(["data": Array(name.utf8)]))
      try arrival.write(export.outlet.frames)
      try arrival.finish(export.result.finish)
      let asides = scratch.names("destination").filter { $0.contains(".before-") }
      let first = try #require(asides.first { !$0.hasSuffix("-2") })
      expect(asides.count == number && asides.allSatisfy { $0.utf8.count > 250 && $0.hasPrefix(letter) })
      expect(text("\(name)/new") == "new" && scratch.text("destination/\(first)/old") == "old")
    }
  }

  @Test func `a failure brings all old data back`() throws {
    var (at, failures) = (0, 0)
    var isOver = false
    while !isOver {
      at += 1
      let ground = try SettingAsideTests()
      let (_, staging, mortal) = try ground.interrupted()
      // Another program takes the last root away before it is put in place.
      let root = ground.scratch.path("destination/\(String(decoding: staging.disk.name, as: UTF8.self))/tree/rc")
      mortal.life.withLock { life in
        life.operations = 0
        life.stranger = (at, { rmdir(root) })
      }
      var moves = FolderImport(staging, to: mortal, at: ground.places)
      let hasFailed = thrown { try moves.run { _ in } } != nil
      if hasFailed { failures += 1 }
      expect(hasFailed ? ground.isOld() : ground.isNew(), "at \(at)")
      isOver = mortal.life.withLock { $0.operations < at }
    }
    expect(failures > 10)
  }

  private func interrupted() throws -> (Export, Staging, MortalDisk) {
    let export = try Export(roots)
    let arrival = try Arrival(scratch, export.offer, existing: .setAside, places: places)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    let mortal = MortalDisk(
      try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination")), dyingAt: nil, diesAfter: false)
    return (export, try Staging.recover(from: mortal, for: export.offer, transfer: 0xABC, keys: testKeys), mortal)
  }

  @Test func `an import that dies at any operation loses nothing and can be completed`() throws {
    var last = 0
    var hasDied = true
    while hasDied {
      last += 1
      let ground = try SettingAsideTests()
      let (export, staging, mortal) = try ground.interrupted()
      mortal.life.withLock { life in
        life.operations = 0
        life.last = (last + 1) / 2
        life.diesAfter = last % 2 == 0
      }
      var moves = FolderImport(staging, to: mortal, at: ground.places)
      do {
        try moves.run { _ in }
        try staging.finishImport()
      } catch {
        expect(mortal.hasDied, "\(error)")
      }
      hasDied = mortal.hasDied
      let importer = try FolderImporter(ground.scratch, existing: .setAside, places: ground.places)
      let again = try #require(try importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
      _ = try importer.importItems(of: again) { _ in }
      try importer.area.clear(0xABC, testKeys)
      expect(ground.isNew(), "\(last)")
      for (folder, name, file) in [("destination/.config", "app", "settings"), ("destination", ".app", "old")] {
        let asides = ground.asides(folder, name)
        expect(asides.count, is: 1, "\(last): \(asides)")
        for aside in asides { expect(ground.scratch.text("\(folder)/\(aside)/\(file)"), is: "old", "\(last)") }
      }
    }
    expect(last > 15)
  }

  @Test func `a failure brings all old data back, wherever an import before has died`() throws {
    var (last, failures) = (0, 0)
    var hasDied = true
    while hasDied {
      last += 1
      let ground = try SettingAsideTests()
      let (export, staging, mortal) = try ground.interrupted()
      mortal.life.withLock { life in
        life.operations = 0
        life.last = (last + 1) / 2
        life.diesAfter = last % 2 == 0
      }
      var moves = FolderImport(staging, to: mortal, at: ground.places)
      _ = thrown { try moves.run { _ in } }
      hasDied = mortal.hasDied
      let name = String(decoding: staging.disk.name, as: UTF8.self)
      let isTaken = rmdir(ground.scratch.path("destination/\(name)/tree/rc")) == 0
      let importer = try FolderImporter(ground.scratch, existing: .setAside, places: ground.places)
      let again = try #require(try importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
      let hasFailed = thrown { _ = try importer.importItems(of: again) { _ in } } != nil
      if hasFailed { failures += 1 }
      expect(hasFailed == isTaken && (isTaken ? ground.isOld() : ground.isNew()), "\(last)")
    }
    expect(failures > 15)
  }

  @Test func `giving a transfer up brings all old data back, wherever its import has died`() throws {
    var (last, changes) = (0, 0)
    var hasDied = true
    while hasDied {
      last += 1
      let ground = try SettingAsideTests()
      let (_, staging, mortal) = try ground.interrupted()
      mortal.life.withLock { life in
        life.operations = 0
        life.last = (last + 1) / 2
        life.diesAfter = last % 2 == 0
      }
      var moves = FolderImport(staging, to: mortal, at: ground.places)
      _ = thrown { try moves.run { _ in } }
      hasDied = mortal.hasDied
      // A kill brings nothing back.
      guard hasDied else { continue }
      if ground.asides("destination/.config", "app") != [] { changes += 1 }
      expect(try StagingArea.discard(0xABC, testKeys, from: ground.scratch.at("destination")) == nil, "\(last)")
      expect(ground.isOld() && !ground.scratch.exists("destination/.apprc"), "\(last)")
      expect(ground.scratch.names("destination").filter { $0.hasPrefix(".peer-") }, is: [], "\(last)")
    }
    expect(changes > 10)
  }

  @Test func `a transfer is not given up while old data cannot come back, or what arrived was changed here`() throws {
    let (_, staging, mortal) = try interrupted()
    // All roots are in place, and nothing says so yet.
    var moves = FolderImport(staging, to: mortal, at: places)
    try moves.run { _ in }
    scratch.letSettle()
    let own = "destination/.config/app/settings"
    scratch.write(own, Array("own".utf8))
    scratch.setTime(own, 1_400_000_000)
    for _ in 1...2 {
      let failure = thrown { _ = try StagingArea.discard(0xABC, testKeys, from: scratch.at("destination")) }
      expect("\(try #require(failure))".contains(".config/app/settings' was changed here"))
      expect(text(".config/app/settings") == "own" && text(".app/new") == "new" && asides("destination", ".app") != [])
    }
    scratch.remove(own)
    expect(rmdir(scratch.path("destination/.config/app")), is: 0)
    scratch.write("destination/.config/app", Array("of another".utf8))
    for _ in 1...2 {
      let failure = thrown { _ = try StagingArea.discard(0xABC, testKeys, from: scratch.at("destination")) }
      let aside = try #require(asides("destination/.config", "app").first)
      expect("\(try #require(failure))".contains("'.config/app', now '.config/\(aside)', cannot be brought back"))
      expect(scratch.text("destination/.config/\(aside)/settings") == "old" && text(".config/app") == "of another")
    }
    let name = staging.disk.name
    expect(
      try StagingArea.setAside(by: name, in: scratch.open("destination")).count, is: 1,
      "the other has come back")
    scratch.remove("destination/.config/app")
    expect(try StagingArea.discard(0xABC, testKeys, from: scratch.at("destination")) == nil)
    expect(isOld())
  }

  /// All roots are in place, and nothing says so yet.
  private func placed() throws -> (offer: Offer, aside: String) {
    let (export, staging, mortal) = try interrupted()
    var moves = FolderImport(staging, to: mortal, at: places)
    try moves.run { _ in }
    scratch.letSettle()
    return (export.offer, "destination/.config/\(try #require(asides("destination/.config", "app").first))")
  }

  /// Twice, it fails for a reason, and leaves everything.
  private func isRefused(for reason: String) throws {
    let before = scratch.snapshot("destination")
    for _ in 1...2 {
      let failure = thrown { _ = try StagingArea.discard(0xABC, testKeys, from: scratch.at("destination")) }
      expect("\(try #require(failure))".contains(reason))
      for (name, entry) in before.entries where !name.starts(with: Array(".peer-".utf8)) {
        expect(scratch.snapshot("destination").entries[name], is: entry, "\(String(decoding: name, as: UTF8.self))")
      }
    }
  }

  @Test func `a file is not changed here by the arrival of a root that is its other name`() throws {
    expect(rmdir(scratch.path("source/rc")), is: 0)
    expect(link(scratch.path("source/data/new"), scratch.path("source/rc")), is: 0)
    _ = try placed()
    // As its arrival does it, were the clock finer.
    scratch.move("destination/.apprc", to: "rc")
    scratch.move("rc", to: "destination/.apprc")
    expect(try StagingArea.discard(0xABC, testKeys, from: scratch.at("destination")) == nil)
    expect(isOld() && !scratch.exists("destination/.apprc"))
  }

  @Test func `a transfer is not given up when the user has put the old data away`() throws {
    let (_, aside) = try placed()
    scratch.write("destination/.config/app/settings", Array("own".utf8))
    scratch.move(aside, to: "put away")
    try isRefused(for: "the old data of '.config/app' is not beside it any more")
  }

  @Test func `a transfer is not given up when the user has taken old data into the new`() throws {
    let (_, aside) = try placed()
    scratch.move("\(aside)/settings", to: "destination/.config/app/mine")
    try isRefused(for: "'.config/app' was changed here")
  }

  @Test func `a change of the new data counts also if the old data changes later`() throws {
    let (_, aside) = try placed()
    scratch.write("destination/.config/app/settings", Array("own".utf8))
    scratch.letSettle()
    for aside in [aside, "destination/\(asides("destination", ".app")[0])"] { scratch.write("\(aside)/more", [1]) }
    try isRefused(for: ".config/app/settings' was changed here")
  }

  @Test func `an import that fails leaves what the user has changed since an earlier one died`() throws {
    let (offer, aside) = try placed()
    scratch.write("destination/.config/app/settings", Array("own".utf8))
    let importer = FolderImporter(
      try StagingArea(at: scratch.at("destination")), existing: .setAside, places: places,
      completing: { () throws(Failure) in throw Failure(.importFailed, "no") })
    for _ in 1...2 {
      let again = try #require(try importer.recover(offer, transfer: 0xABC, keys: testKeys))
      let failure = thrown { _ = try importer.importItems(of: again) { _ in } }
      expect("\(try #require(failure))".contains(".config/app/settings' was changed here"))
      expect(text(".config/app/settings") == "own" && text(".app/new") == "new")
      expect(scratch.text("\(aside)/settings"), is: "old")
    }
    try isRefused(for: ".config/app/settings' was changed here")
  }

  @Test(
    arguments: [
      (0, "1970-01-01"), (86_399, "1970-01-01"), (86_400, "1970-01-02"), (951_782_400, "2000-02-29"),
      (1_764_028_800, "2025-11-25"), (1_709_164_800, "2024-02-29"), (4_107_542_399, "2100-02-28"), (-1, "1969-12-31"),
    ] as [(Int64, String)])
  func `a moment has its day`(_ seconds: Int64, _ day: String) {
    expect(CivilDate.text(Timestamp(seconds: seconds, nanoseconds: 0)), is: day)
  }
}
