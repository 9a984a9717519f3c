import Expectations
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationApps

/// A home as a desktop makes it, in German.
func germanHome() throws -> Scratch {
  let scratch = try Scratch()
  scratch.write(
    ".config/user-dirs.dirs", "XDG_DOCUMENTS_DIR=\"$HOME/Dokumente\"\nXDG_MUSIC_DIR=\"$HOME/Dokumente/Musik\"\n")
  scratch.write("Dokumente/brief.txt", [UInt8](repeating: 7, count: 1000))
  scratch.write("Dokumente/Musik/lied", [UInt8](repeating: 7, count: 500))
  scratch.write("Projekte/a.c", "int x;")
  scratch.write("notes.txt", "n")
  scratch.write(".bashrc", "alias")
  scratch.write("bin/tool", "#!/bin/sh")
  return scratch
}

func inventory(_ scratch: Scratch, _ apps: [MovableApp] = [], records: [String] = []) throws -> Inventory {
  let home = SharedDirectory(try Directory.open(scratch.path))
  return try Inventory(of: home, apps: apps, records: records.map { Array($0.utf8) })
}

func place(_ root: String, _ path: String, _ kind: ItemKind = .directory) -> HomeItem {
  HomeItem(root: Array(root.utf8), path: Array(path.utf8), kind: kind)
}

func names(_ inventory: Inventory) -> [String] { inventory.entries.map { String(decoding: $0.name, as: UTF8.self) } }

@Suite struct InventoryTests {
  private func leftOut(_ inventory: Inventory) -> [String: Omission.Reason] {
    Dictionary(uniqueKeysWithValues: inventory.leftOut.map { (String(decoding: $0.path, as: UTF8.self), $0.reason) })
  }

  @Test func `the user's folders come first, dot names and bin last and not ticked`() throws {
    let inventory = try inventory(try germanHome())
    expect(
      names(inventory), is: ["Dokumente", "Dokumente/Musik", "Projekte", "notes.txt", ".bashrc", ".config", "bin"])
    expect(inventory.entries.map(\.isTicked), is: [true, true, true, true, false, false, false])
    expect(inventory.entries.map(\.mayRun), is: [false, false, false, false, true, true, true])
    expect(inventory.entries[1].subject, is: .folder(.music, place("music", "Dokumente/Musik")))
  }

  @Test func `caches, trash, records, unfinished transfers and what cannot be sent are left out, and listed`() throws {
    let scratch = try Scratch()
    scratch.makeDirectory(".peer-\(String(repeating: "0a", count: 16))-1")
    for name in [".cache/x", ".local/share/Trash/files", ".local/share/peer", ".ecryptfs"] {
      scratch.makeDirectory(name)
    }
    scratch.write(".local/share/app/data", "12345")
    scratch.write(".local/share/peer/key", "key")
    scratch.write(".local/share/Trash/files/old", "old")
    expect(mkfifo(scratch.path("pipe"), 0o600), is: 0)
    var inventory = try inventory(scratch, records: [scratch.path(".local/share/peer"), "/elsewhere"])
    expect(names(inventory), is: [".local"])
    expect(
      leftOut(inventory),
      is: [
        ".cache": .cache, ".ecryptfs": .encrypted, ".local/share/Trash": .trash, ".local/share/peer": .ownRecords,
        ".peer-\(String(repeating: "0a", count: 16))-1": .unfinishedTransfer, "pipe": .notSendable,
      ])
    try inventory.measure(until: StopSignal())
    expect(inventory.entries[0].size?.tally, is: Tally(items: 4, bytes: 5))
  }

  @Test func `a folder of the user that is marked as a cache moves, and a disk's trash in one is named`() throws {
    let scratch = try Scratch()
    let mark = "Signature: 8a477f597d28d172789f06886806bc55"
    for name in ["Documents/thesis/CACHEDIR.TAG", ".app/cache/CACHEDIR.TAG"] { scratch.write(name, mark) }
    for name in ["Documents/thesis/text", ".app/cache/x", "Documents/disk/.Trash-1000/old"] {
      scratch.write(name, "123")
    }
    let app = MovableApp(.described, identifier: "app", name: "App", places: [place("config", ".app")])
    var inventory = try inventory(scratch, [app])
    try inventory.measure(until: StopSignal())
    let documents = try #require(inventory.entries.first { $0.name == Array("Documents".utf8) })
    expect(documents.size?.tally, is: Tally(items: 5, bytes: UInt64(mark.utf8.count) + 3))
    expect(inventory.entries[0].size?.tally.items, is: 3, "an app's cache has only its mark")
    expect(leftOut(inventory), is: ["Documents/disk/.Trash-1000": .trash])
    expect(inventory.leftOut[0].size?.tally, is: Tally(items: 2, bytes: 3))
  }

  @Test func `a path belongs to one entry: sizes count it once`() throws {
    let scratch = try germanHome()
    scratch.write("Projekte/app/data", [UInt8](repeating: 1, count: 100))
    scratch.write(".app/rc", "rc")
    scratch.write("Projekte-alt/app/data", "old")
    scratch.write("Projekte-alt/b.c", "int y;")
    let app = MovableApp(
      .described, identifier: "app", name: "App",
      places: [place("config", ".app"), place("data", "Projekte/app"), place("old", "Projekte-alt/app")],
      exclusions: [Array("*.log".utf8)])
    scratch.write("Projekte/app/x.log", "log")
    var inventory = try inventory(scratch, [app])
    var measured: [Int] = []
    try inventory.measure(until: StopSignal()) { index, _ in measured.append(index) }
    expect(
      names(inventory),
      is: [
        "App", "Dokumente", "Dokumente/Musik", "Projekte", "Projekte-alt", "notes.txt", ".bashrc", ".config", "bin",
      ])
    expect(measured, is: Array(0..<9))
    expect(inventory.entries.map { $0.size?.tally.bytes }, is: [105, 1000, 500, 6, 6, 1, 5, 74, 9])
  }

  @Test func `the walk ends when the signal is set`() throws {
    let scratch = try germanHome()
    var inventory = try inventory(scratch)
    let stop = StopSignal()
    stop.set()
    #expect(throws: Failure.self) { try inventory.measure(until: stop) }
    expect(inventory.entries.allSatisfy { $0.size == nil })
  }

  @Test func `a link to a folder of the user is followed, and what it leads to moves once`() throws {
    let scratch = try germanHome()
    scratch.write("Projekte/film", [UInt8](repeating: 1, count: 7))
    scratch.makeLink("Videos", to: "Projekte")
    var inventory = try inventory(scratch)
    let videos = try #require(inventory.entries.first { $0.answers(to: Array("videos".utf8)) })
    expect(
      videos.linkTarget == scratch.at("Projekte") && !inventory.entries.contains { $0.name == Array("Projekte".utf8) })
    try inventory.measure(until: StopSignal())
    expect(inventory.entries.first { $0.linkTarget != nil }?.size?.tally.bytes, is: 13)
  }

  @Test func `a link moves as a link, and its target is told`() throws {
    let scratch = try germanHome()
    scratch.makeLink("Videos", to: "/srv/videos")
    var inventory = try inventory(scratch)
    let link = try #require(inventory.entries.first { $0.name == Array("Videos".utf8) })
    expect(link.linkTarget, is: Array("/srv/videos".utf8))
    expect(link.subject, is: .item(place("Videos", "Videos", .symbolicLink)))
    try inventory.measure(until: StopSignal())
    expect(inventory.entries.first { $0.linkTarget != nil }?.size?.tally, is: Tally(items: 1, bytes: 0))
  }

  @Test func `no link on the way to a folder of another computer is followed`() throws {
    let scratch = try germanHome()
    let outside = try Scratch()
    outside.makeDirectory("Musik")
    scratch.write(".config/user-dirs.dirs", "XDG_MUSIC_DIR=\"$HOME/out/Musik\"\n")
    scratch.makeLink("out", to: outside.path)
    let home = SharedDirectory(try Directory.open(scratch.path))
    expect(
      try Inventory(of: home, apps: [], isElsewhere: true).entries.allSatisfy { !$0.answers(to: Array("music".utf8)) })
    #expect(throws: Failure.self) {
      try SourceRoot(Array("out/Musik".utf8), beneath: home, as: Array("music".utf8))
    }
  }
}
