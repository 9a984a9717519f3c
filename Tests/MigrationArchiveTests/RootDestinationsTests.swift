import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Roots that are keys arrive at the places that the receiver knows.
@Suite struct RootDestinationsTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.withFolders()
    for key in ["documents", "music", "pictures"] {
      scratch.makeDirectory("source/\(key)")
      scratch.write("source/\(key)/file", Array(key.utf8))
      scratch.setTime("source/\(key)/file", 1_500_000_000)
    }
  }

  private static func places(_ places: [String: String]) throws -> RootDestinations {
    try RootDestinations(places.mapValues { Array($0.utf8) })
  }

  private static let german = try? places(["documents": "Dokumente", "music": "Medien/Musik", "pictures": "Bilder"])

  private func migrate(_ existing: Existing = .merge, _ places: RootDestinations? = german) throws -> [String] {
    scratch.letSettle()
    let roots = ["documents", "music", "pictures"].map { scratch.at("source/\($0)") }
    let offer = try Export(roots).offer
    let arrival = try Arrival(scratch, offer, existing: existing, places: places)
    let present = try arrival.importer.present(offer, for: arrival.staging, takesBases: false)
    var held = HeldItems()
    if !present.present.isEmpty { held.add(Held(kind: .present, marks: present.present)) }
    let export = try Export(roots, held: held)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    return arrival.staging.renamed.map { "\($0.path.text) > \($0.target.text)" }
      + arrival.staging.refusals(from: 0).map { "\(String(decoding: $0.path, as: UTF8.self)): \($0.reason.words)" }
      .sorted()
  }

  private func text(_ name: String) -> String? {
    scratch.exists("destination/\(name)") ? String(decoding: scratch.read("destination/\(name)"), as: UTF8.self) : nil
  }

  @Test func `roots arrive at their places, which are made or merged`() throws {
    scratch.makeDirectory("destination/Dokumente")
    scratch.write("destination/Dokumente/own", [1])
    expect(try migrate(), is: [])
    expect(text("Dokumente/file") == "documents" && text("Medien/Musik/file") == "music")
    expect(text("Bilder/file") == "pictures" && text("Dokumente/own") == "\u{1}")
    expect(scratch.names("destination"), is: ["Bilder", "Dokumente", "Medien"])
    // What has arrived is known by its place, and what differs is named by it.
    scratch.write("source/documents/file", Array("changed".utf8))
    expect(try migrate(), is: ["documents/file > Dokumente/file (2)"])
    expect(text("Dokumente/file") == "documents" && text("Dokumente/file (2)") == "changed")
    expect(text("Medien/Musik/file (2)") == nil)
  }

  @Test func `an item is named by its place`() throws {
    let places = try RootDestinations(["documents": Array("Meine/Dokumente".utf8)])
    let named = ["documents", "documents/a/b", "music/c"].map { places.place(of: Array($0.utf8)) }
    expect(named, is: ["Meine/Dokumente", "Meine/Dokumente/a/b", "music/c"].map { Array($0.utf8) })
  }

  @Test func `a taken place is refused by its own name`() throws {
    scratch.makeDirectory("destination/Medien")
    expect(try migrate(.refuse), is: [])
    scratch.makeDirectory("outside/elsewhere")
    expect(
      thrown { _ = try migrate(.refuse) }.map { "\($0)" }, is: "'Dokumente' already exists in the destination")
    expect(try migrate(.keepBoth).contains("pictures > Bilder (2)"))
    expect(try migrate(.replace) == [] && text("Bilder/file") == "pictures")
  }

  @Test func `a root whose place is a file or a link, or unknown, is named, and the others arrive`() throws {
    scratch.write("destination/Medien", [1])
    scratch.makeLink("destination/Bilder", to: scratch.path("outside"))
    let places = try Self.places(["documents": "Dokumente", "music": "Medien/Musik", "pictures": "Bilder"])
    let reasons = [
      "music": "'Medien' is not a folder",
      "pictures": "'Bilder' is a link, and leads to no folder of yours on the disk of this directory",
    ]
    let importer = try FolderImporter(scratch, existing: .merge, places: places)
    let free = Figures.size(try FileSystemSpace.of(Directory.open(scratch.path("outside")).descriptor).availableBytes)
    let roots = ["documents", "music", "other", "pictures"].map { Root(kind: .directory, name: Array($0.utf8)) }
    expect(
      try importer.unplaceable(roots).map { "\($0.root) \($0.reason)" },
      is: [
        "1 nothing can arrive at 'Medien/Musik': \(reasons["music"] ?? "")", "2 this device has no place for 'other'",
        "3 nothing can arrive at 'Bilder': 'Bilder' is a link to '\(scratch.path("outside"))', which is outside of "
          + "this directory (\(free) free there)",
      ])
    expect(
      try migrate(.merge, places),
      is: [
        "music/file: its folder is not stored",
        "music: the destination has no place for it, or something else is there",
        "pictures/file: its folder is not stored",
        "pictures: the destination has no place for it, or something else is there",
      ])
    expect(
      text("Dokumente/file") == "documents" && scratch.names("outside") == ["secret"] && text("Medien") == "\u{1}")
    expect(failure { try importer.judge(offer(["music"])) }, is: "unfit")
    expect(failure { try importer.judge(offer(["documents", "music"])) } == nil)
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"))
  func `a place on another file system is refused`() throws {
    scratch.makeDirectory("destination/Medien")
    try #require(mount("tmpfs", scratch.path("destination/Medien"), "tmpfs", 0, "size=1m") == 0)
    defer { umount2(scratch.path("destination/Medien"), CInt(MNT_DETACH)) }
    expect(
      try migrate(),
      is: [
        "music/file: its folder is not stored",
        "music: the destination has no place for it, or something else is there",
      ])
    expect(scratch.names("destination/Medien"), is: [])
  }

  @Test func `two roots with one place do not replace each other's items`() throws {
    let places = try Self.places(["documents": "Media", "music": "Media", "pictures": "Media/Pictures"])
    expect(failure { _ = try migrate(.replace, places) }, is: "unfit")
    expect(try migrate(.merge, places), is: ["music/file > Media/file (2)"])
    expect(text("Media/file") == "documents" && text("Media/file (2)") == "music")
    expect(text("Media/Pictures/file"), is: "pictures")
  }

  @Test func `an import that dies at any operation puts each root at its place once`() throws {
    let places = try #require(Self.german)
    var last = 0
    var hasDied = true
    while hasDied {
      last += 1
      let ground = try RootDestinationsTests()
      ground.scratch.makeDirectory("destination/Dokumente")
      ground.scratch.write("destination/Dokumente/file", [1])
      let roots = ["documents", "music", "pictures"].map { ground.scratch.at("source/\($0)") }
      let export = try Export(roots)
      let arrival = try Arrival(ground.scratch, export.offer, existing: .merge, places: places)
      try arrival.write(export.outlet.frames)
      try arrival.staging.complete(export.result.finish) { _ in }
      let mortal = MortalDisk(
        try reopened(Staging.name(of: 0xABC), in: try ground.scratch.open("destination")), dyingAt: nil,
        diesAfter: last % 2 == 0, renaming: .promising)
      let staging = try Staging.recover(from: mortal, for: export.offer, transfer: 0xABC, keys: testKeys)
      mortal.life.withLock { life in
        life.operations = 0
        life.last = (last + 1) / 2
      }
      var moves = FolderImport(staging, to: mortal, at: places)
      do {
        try moves.run { _ in }
        try staging.finishImport()
      } catch {
        expect(mortal.hasDied, "\(error)")
      }
      hasDied = mortal.hasDied
      let again = try #require(
        try arrival.importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
      _ = try arrival.importer.importItems(of: again) { _ in }
      try arrival.clear()
      expect(ground.text("Dokumente/file") == "\u{1}" && ground.text("Dokumente/file (2)") == "documents", "\(last)")
      expect(ground.text("Medien/Musik/file") == "music" && ground.text("Bilder/file") == "pictures", "\(last)")
      expect(ground.scratch.names("destination/Dokumente"), is: ["file", "file (2)"], "\(last)")
      expect(ground.scratch.names("destination"), is: ["Bilder", "Dokumente", "Medien"], "\(last)")
    }
    expect(last > 15)
  }

  @Test(arguments: ["", "/home", "../x", "a/../b", "a//b", ".peer-\(String(repeating: "0", count: 32))/x"])
  func `a place that is not below the destination is no place`(_ place: String) {
    expect(failure { _ = try Self.places(["documents": place]) }, is: "unfit")
  }
}
