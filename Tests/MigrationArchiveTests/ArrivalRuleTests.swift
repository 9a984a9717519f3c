import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Which items may run, or are secrets, by the path that they would have.
@Suite struct ArrivalRuleTests {
  private static func rule(
    _ destination: String, homes: [String] = ["/home/ann"], running: [String] = [], secret: [String] = []
  ) -> ArrivalRule {
    var facts = ArrivalRule.Facts(destination: Array(destination.utf8))
    facts.homes = homes.map { Array($0.utf8) }
    facts.running = running.map { Array($0.utf8) }
    facts.secretAtHome = secret.map { Array($0.utf8) }
    return ArrivalRule(facts)
  }

  struct Case: Sendable {
    let destination: String
    let item: String
    let kind: ArrivalClasses
    var isLink = false
    var homes = ["/home/ann"]
    var running: [String] = []
  }

  private static let cases: [Case] = [
    // In a home.
    Case(destination: "/home/ann", item: "notes", kind: .files),
    Case(destination: "/home/ann", item: "notes/.git/hooks/post-checkout", kind: .files),
    Case(destination: "/home/ann", item: "binary", kind: .files),
    Case(destination: "/home/ann", item: ".bashrc", kind: .apps),
    Case(destination: "/home/ann", item: ".config/x/y", kind: .apps),
    Case(destination: "/home/ann", item: "bin/ls", kind: .apps),
    Case(destination: "/home/ann", item: "bin", kind: .apps, isLink: true),
    Case(destination: "/home/ann", item: "snap/code/1", kind: .apps),
    Case(destination: "/home/ann", item: "notes/bin/ls", kind: .files),
    Case(destination: "/home/ann", item: ".ssh", kind: .secrets),
    Case(destination: "/home/ann", item: ".ssh/id", kind: .secrets),
    Case(destination: "/home/ann", item: ".sshd", kind: .apps),
    Case(destination: "/home/ann", item: ".gnupg/gpg.conf", kind: .secrets),
    Case(destination: "/home/ann", item: ".local/share/keyrings/login.keyring", kind: .secrets),
    Case(destination: "/home/ann", item: ".local/share/keys", kind: .apps),
    Case(destination: "/home/ann/", item: ".mozilla/firefox/a", kind: .secrets),
    // Below a home, and in one of its places.
    Case(destination: "/home/ann/Incoming", item: ".bashrc", kind: .files),
    Case(destination: "/home/ann/Incoming", item: "bin/ls", kind: .files),
    Case(destination: "/home/ann/Incoming", item: ".ssh/id", kind: .files),
    Case(destination: "/home/ann/.config", item: "autostart/x.desktop", kind: .apps),
    Case(destination: "/home/ann/.config/deep/er", item: "x", kind: .apps),
    Case(destination: "/home/ann/bin", item: "ls", kind: .apps),
    Case(destination: "/home/ann/snap/x", item: "y", kind: .apps),
    Case(destination: "/home/ann/.ssh", item: "rc", kind: .secrets),
    Case(destination: "/home/ann/.local", item: "share/keyrings/x", kind: .secrets),
    Case(destination: "/home/ann/.local", item: "lib/x", kind: .apps),
    Case(destination: "/home/annex", item: ".bashrc", kind: .files),
    // Names that some disks take for these.
    Case(destination: "/home/ann", item: "BIN/ls", kind: .apps),
    Case(destination: "/home/ann", item: "b\u{AD}in./ls", kind: .apps),
    Case(destination: "/home/ann", item: "\u{17F}nap. ", kind: .apps),
    Case(destination: "/home/ann", item: "\u{200D}.bashrc", kind: .apps),
    Case(destination: "/home/ann", item: ".\u{301}bashrc", kind: .apps),
    Case(destination: "/home/ann", item: "...", kind: .apps),
    Case(destination: "/home/ann", item: ".Ssh/id", kind: .secrets),
    Case(destination: "/home/ann", item: ".\u{17F}\u{17F}h/id", kind: .secrets),
    Case(destination: "/home/ANN/Bin", item: "ls", kind: .apps),
    Case(destination: "/home", item: "Ann/.bashrc", kind: .apps),
    Case(
      destination: "/home/ann", item: "OUTILS\u{301}/Stra\u{DF}e/x", kind: .apps,
      running: ["/home/ann/outil\u{15B}/STRASSE"]),
    Case(destination: "/home/ann", item: "bins/ls", kind: .files),
    // Above homes.
    Case(destination: "/home", item: "ann/.bashrc", kind: .apps),
    Case(destination: "/home", item: "ann/notes", kind: .files),
    Case(destination: "/home", item: "ann/.ssh/id", kind: .secrets),
    Case(destination: "/home", item: "bob/.bashrc", kind: .files),
    Case(destination: "/home", item: ".bashrc", kind: .files),
    Case(destination: "/home", item: "ann", kind: .files),
    Case(destination: "/home", item: "ann", kind: .apps, isLink: true),
    Case(destination: "/", item: "home", kind: .apps, isLink: true),
    Case(destination: "/", item: "home/ann/bin/ls", kind: .apps),
    Case(destination: "/", item: "root/.profile", kind: .apps, homes: ["/home/ann", "/root"]),
    // Folders of PATH, of peer, and of the user's settings elsewhere.
    Case(destination: "/home/ann", item: "tools/bin/ls", kind: .apps, running: ["/home/ann/tools/bin"]),
    Case(destination: "/home/ann", item: "tools/bin", kind: .apps, running: ["/home/ann/tools/bin"]),
    Case(destination: "/home/ann", item: "tools", kind: .files, running: ["/home/ann/tools/bin"]),
    Case(destination: "/home/ann", item: "tools", kind: .apps, isLink: true, running: ["/home/ann/tools/bin"]),
    Case(destination: "/home/ann", item: "tools/src/x", kind: .files, running: ["/home/ann/tools/bin"]),
    Case(destination: "/home/ann", item: "tools/src", kind: .files, isLink: true, running: ["/home/ann/tools/bin"]),
    Case(destination: "/home/ann/tools", item: "bin/ls", kind: .apps, running: ["/home/ann/tools/bin"]),
    Case(destination: "/home/ann/tools/bin/more", item: "ls", kind: .apps, running: ["/home/ann/tools/bin"]),
    Case(destination: "/srv/in", item: "x", kind: .apps, running: ["/srv/in"]),
    Case(destination: "/srv/in", item: "x", kind: .files, running: ["/srv/in/xx", "/srv/inn"]),
    Case(destination: "/data/config", item: "autostart/x.desktop", kind: .apps, running: ["/data/config"]),
    Case(destination: "/srv", item: "opt/peer/share/peer/known-apps/x.app", kind: .apps, running: ["/srv/opt/peer"]),
  ]

  @Test(arguments: cases)
  func `the place of an item decides what it is`(_ example: Case) throws {
    let rule = Self.rule(
      example.destination, homes: example.homes, running: example.running, secret: [".mozilla/firefox"])
    expect(rule.kind(of: try ArchivePath(Array(example.item.utf8)), isLink: example.isLink), is: example.kind)
  }

  @Test func `a root tells what it may have, and where`() throws {
    let rule = Self.rule("/home", running: ["/home/ann/tools/bin"])
    func contents(_ path: String) throws -> (ArrivalClasses, [ArrivalClasses: [String]]) {
      let (classes, places) = rule.contents(of: try ArchivePath(Array(path.utf8)))
      return (classes, places.mapValues { $0.map { String(decoding: $0, as: UTF8.self) }.sorted() })
    }
    expect(try contents("bob") == (.files, [:]))
    expect(try contents("ann/notes") == (.files, [:]))
    expect(try contents("ann/.ssh") == (.secrets, [.secrets: ["ann/.ssh"]]))
    expect(try contents("ann/tools") == ([.files, .apps], [.apps: ["ann/tools/bin"]]))
    expect(
      try contents("ann/.local") == (
        [.apps, .secrets],
        [.apps: ["ann/.local"], .secrets: ["ann/.local/share/keyrings", "ann/.local/share/kwalletd"]]
      ))
    let home = try contents("ann")
    expect(
      home.0 == .all && home.1[.apps] == ["ann", "ann/tools/bin"] && home.1[.secrets]?.contains("ann/.ssh") == true)
  }

  @Test func `items that may run are left out one by one, and the rest of their root arrives`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer(["root"]))
    let rule = Self.rule("/d", homes: [], running: ["/d/root/bin", "/d/root/way/bin"])
    try arrival.staging.take(only: ArrivalPermit(rule, at: nil, taking: .files))
    let records = [
      try record("root", .directory), try record("root/note", .file(size: 1)), try record("root/bin", .directory),
      try record("root/bin/ls", .file(size: 1)), try link("root/way", to: "elsewhere"),
      try hardLink("root/other", to: "root/bin/ls"), try hardLink("root/bin/note", to: "root/note"),
      try record("root/bin/large", .file(size: 2)),
    ]
    // The large file comes in chunks, and one of these before its record.
    try arrival.write([
      try Crafted.frame { frame in
        try frame.chunk("root/bin/large", 1, at: 1, [1])
        for item in records { if item.size == 1 { frame.file(item, [7]) } else { frame.item(item) } }
        try frame.chunk("root/bin/large", 1, at: 0, [1])
      }
    ])
    try arrival.finish(finish(records))
    expect(scratch.names("destination") == ["root"] && scratch.names("destination/root") == ["note"])
    let refused = Dictionary(
      uniqueKeysWithValues: arrival.staging.refusals(from: 0).map {
        (String(decoding: $0.path, as: UTF8.self), $0.reason)
      })
    expect(
      refused,
      is: [
        "root/bin": .notTaken, "root/bin/ls": .notTaken, "root/way": .notTaken, "root/other": .targetNotStored,
        "root/bin/note": .notTaken, "root/bin/large": .notTaken,
      ])
  }

  /// The names and the content of what a session brings, besides directories.
  private static let brought = ["root/note", "root/bin/ls", "root/bin/deep/er", "left/x"]

  private func taking(_ taken: ArrivalClasses) -> ArrivalPermit? {
    Self.rule("/d", homes: [], running: ["/d/root/bin"]).permit(at: nil, taking: taken)
  }

  @Test func `a run that takes less keeps the rest, and one that takes more gets only what is missing`() throws {
    let scratch = try Scratch.withFolders()
    let offered = offer(["root", "left"])
    let arrival = try Arrival(scratch, offered)
    let folders = try ["root", "root/bin", "root/bin/deep", "left"].map { try record($0, .directory) }
    let files = try Self.brought.map { try record($0, .file(size: 1)) } + [try record("root/bin/large", .file(size: 2))]
    func bring(_ records: [ItemRecord], to staging: Staging) throws {
      staging.beginSession(offered)
      let held = Set(staging.report.marks)
      let missing = records.filter { !held.contains(testKeys.mark(path: $0.path, generation: 1)) }
      try StagingWriter(staging).write(
        Crafted.frame { frame in
          for item in missing { if item.size == 1 { frame.file(item, [7]) } else { frame.item(item) } }
        })
    }
    func again() throws -> Staging {
      let found = try arrival.importer.recover(offered, transfer: 0xABC, keys: testKeys)
      return try #require(found)
    }
    func staged(_ staging: Staging) -> [String] {
      (folders + files).filter { staging.shared.withLock { $0.ledger }.holds($0) }.map {
        "\(VisibleText.quoted($0.path))"
      }
    }
    try arrival.staging.take(only: taking([.files, .apps]), of: [Array("root".utf8), Array("left".utf8)])
    try bring(folders + files, to: arrival.staging)
    try arrival.write([try Crafted.frame { try $0.chunk("root/bin/large", 1, at: 0, [1]) }])
    try arrival.staging.synchronize()
    // Files only, and one root less.
    var staging = try again()
    try staging.take(only: taking(.files), of: [Array("root".utf8)])
    expect(staged(staging), is: ["'root'", "'root/note'"])
    expect(scratch.names(arrival.tree) == ["root"] && scratch.names("\(arrival.tree)/root") == ["note"])
    expect(staging.refusals(from: 0).count == 4 && staging.refusals(from: 0).allSatisfy { $0.reason == .notTaken })
    // A part comes before it is known not to be taken.
    staging.beginSession(offered)
    try StagingWriter(staging).write(Crafted.frame { try $0.chunk("root/bin/large", 1, at: 1, [1]) })
    try staging.synchronize()
    // The same after a death, and then more than ever.
    staging = try again()
    try staging.take(only: taking(.files), of: [Array("root".utf8)])
    expect(staged(staging) == ["'root'", "'root/note'"] && staging.refusals(from: 0).count == 5)
    try staging.take(only: taking([.files, .apps]), of: [Array("root".utf8), Array("left".utf8)])
    expect(staging.refusals(from: 0).isEmpty && staging.report.marks.count == 2)
    staging = try again()
    expect(staged(staging) == ["'root'", "'root/note'"] && staging.report.partials.isEmpty)
    try staging.take(only: taking([.files, .apps]), of: [Array("root".utf8), Array("left".utf8)])
    try bring(folders + files, to: staging)
    try StagingWriter(staging).write(
      Crafted.frame { frame in for index in 0..<2 { try frame.chunk("root/bin/large", 1, at: UInt64(index), [1]) } })
    try staging.synchronize()
    staging = try again()
    try staging.take(only: taking([.files, .apps]), of: [Array("root".utf8), Array("left".utf8)])
    try staging.complete(finish(folders + files)) { _ in }
    _ = try arrival.importer.importItems(of: staging) { _ in }
    try arrival.clear()
    expect(scratch.names("destination/root/bin"), is: ["deep", "large", "ls"])
    expect(scratch.names("destination"), is: ["left", "root"])
  }

  @Test func `an import judges what is concluded by the places of its own run`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer(["root"]))
    let records = [
      try record("root", .directory), try record("root/closed", .directory, mode: 0o555),
      try record("root/closed/tool", .file(size: 1)), try record("root/note", .file(size: 1)),
    ]
    try arrival.write([
      Crafted.frame { frame in
        for item in records { if item.size == 1 { frame.file(item, [7]) } else { frame.item(item) } }
      }
    ])
    try arrival.staging.complete(finish(records)) { _ in }
    let recovered = try arrival.importer.recover(offer(["root"]), transfer: 0xABC, keys: testKeys)
    let staging = try #require(recovered)
    let rule = Self.rule("/d", homes: [], running: ["/d/root/closed/tool"])
    try staging.take(only: rule.permit(at: nil, taking: .files))
    _ = try arrival.importer.importItems(of: staging) { _ in }
    try arrival.clear()
    expect(scratch.names("destination/root") == ["closed", "note"] && scratch.names("destination/root/closed") == [])
    expect(try Directory.status(of: scratch.at("destination/root/closed")).mode & 0o777, is: 0o555)
    expect(staging.lastingRefusals.map(\.reason), is: [.notTaken])
  }

  @Test func `a name that an item gets beside a taken one decides what it is`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["tools", "note", "x.db"] { scratch.write("destination/\(name)", "mine") }
    let rule = Self.rule("/d", homes: [], running: ["/d/tools (2)/bin", "/d/note (2)", "/d/x (2).db-wal"])
    let arrival = try Arrival(scratch, offer(["tools", "note", "x.db", "x.db-wal"]), existing: .merge)
    try arrival.staging.take(only: rule.permit(at: nil, taking: .files))
    let records = [
      try record("tools", .directory), try record("tools/bin", .directory), try record("tools/bin/ls", .file(size: 1)),
      try record("note", .file(size: 1)), try record("x.db", .file(size: 1)), try record("x.db-wal", .file(size: 1)),
    ]
    try arrival.write([
      Crafted.frame { frame in
        for item in records { if item.size == 1 { frame.file(item, [7]) } else { frame.item(item) } }
      }
    ])
    try arrival.finish(finish(records))
    expect(
      scratch.names("destination"), is: ["note", "note (3)", "tools", "tools (3)", "x (3).db", "x (3).db-wal", "x.db"])
  }

  @Test func `a part is named by its places, never by its sender`() throws {
    let scratch = try Scratch.withFolders()
    let roots = ["music", "pictures"].map { Root(kind: .directory, name: Array($0.utf8)) }
    let places = try RootDestinations(["music": Array("bin".utf8), "pictures": Array("Bilder".utf8)])
    let importer = try FolderImporter(StagingArea(at: scratch.at("destination")), judging: Self.rule("/home/ann"))
    let arrival = Self.rule("/home/ann").arrival(of: roots, at: places)
    expect(arrival.name == "bin, Bilder" && arrival.roots == [.apps, .files])
    expect(arrival.places, is: [.apps: [Array("bin".utf8)]])
    let names = ["a", "b", "c", "d"].map { Root(kind: .file, name: Array($0.utf8)) }
    expect(importer.arrival(of: Part(.folders(names), name: "x")).name, is: "a, b, c and 1 more")
  }
}
