import Expectations
import Foundation
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct AppHomeTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test func `an installed app is found by its identifier, and listed`() throws {
    let home = try scratch.home()
    expect(try home.list().apps.isEmpty)
    try scratch.install(SampleBundle("org.example.b"))
    let installation = try home.install(try SampleBundle("org.example.a").write(in: scratch))
    expect(installation.previousVersion == nil)
    expect(installation.app.bundle.path, is: Array("\(home.path)/apps/org.example.a/bundle".utf8))
    expect(try home.list().apps.map(\.identifier), is: ["org.example.a", "org.example.b"])
    expect(try home.app("org.example.a").bundle.version, is: "1.0")
    expect(mode("\(home.path)/apps/org.example.a"), is: 0o700)
  }

  @Test(arguments: ["org.example.none", "", "..", "../apps/org.example.notes", ".installing-1", "a\u{1B}"])
  func `a missing app is not found`(identifier: String) throws {
    try scratch.install()
    let home = try scratch.home()
    for body in [{ _ = try home.app(identifier) }, { try home.remove(identifier) }] as [() throws -> Void] {
      let error = #expect(throws: Failure.self) { try body() }
      expect(error?.code, is: .notInstalled)
      expect(error?.description.contains("\u{1B}"), is: false)
    }
  }

  @Test func `a copy has the bundle's files and links, and simple modes`() throws {
    var sample = SampleBundle()
    let big = String(repeating: "0123456789abcdef", count: 40_000)
    sample.files = ["Data/big": big, "Data/empty": "", "Data/edge": String(repeating: "x", count: 256 << 10)]
    sample.spoil = {
      symlink("Data/big", "\($0)/link")
      symlink("../Notes", "\($0)/Data/link")
      chmod("\($0)/Data/empty", 0o4711)
      chmod("\($0)/Data/big", 0o666)
    }
    let source = try sample.write(in: scratch)
    let copy = String(decoding: try scratch.home().install(source).app.bundle.path, as: UTF8.self)
    expect(tree(copy), is: tree(String(decoding: source, as: UTF8.self)))
    expect(content("\(copy)/Data/big"), is: big)
    expect([mode("\(copy)/Data/big"), mode("\(copy)/Data/empty"), mode("\(copy)/Data")], is: [0o644, 0o755, 0o755])
  }

  @Test func `another version replaces the installed one, and the data is kept`() throws {
    let app = try scratch.install()
    try app.prepareContainer()
    try write("data", to: "\(app.containerPath)/Documents/file")
    try write("shared", to: "\(app.groupPaths(["group.notes"])["group.notes"]!)/file")
    try ImportRecord(failure: nil, transfer: nil, date: 1).write(to: app.statusPath)
    var next = SampleBundle(version: "2.0")
    next.files["New"] = "new"
    let installation = try scratch.home().install(try next.write(in: scratch))
    expect(installation.previousVersion, is: "1.0")
    expect(installation.app.bundle.version, is: "2.0")
    expect(content("\(app.containerPath)/Documents/file"), is: "data")
    expect(content("\(scratch.path)/home/groups/group.notes/file"), is: "shared")
    expect(installation.app.importRecord?.date, is: 1)
    expect(tree("\(scratch.path)/home/apps").keys.filter { !$0.contains("/") }, is: ["org.example.notes"])
  }

  @Test(arguments: [Directory.RenameMethod.preferred, .plain])
  func `wherever an installation ends, the old version or the new one exists, and the next installation cleans up`(
    _ renaming: Directory.RenameMethod
  ) throws {
    for isThere in [false, true] {
      var ends = 0
      for number in 0... {
        let scratch = try Scratch()
        if isThere { try scratch.install() }
        var next = SampleBundle(version: "2.0")
        next.files["New"] = "new"
        let bundle = try next.write(in: scratch)
        let isDone = (try? scratch.home(failingAt: number, renaming: renaming).install(bundle)) != nil
        // The app may be requested by its name or in the list first.
        if isThere, number % 2 == 0 {
          expect(try ["1.0", "2.0"].contains(scratch.home().app("org.example.notes").bundle.version))
        }
        let found = try scratch.home().list()
        expect(found.damaged.isEmpty)
        let version = found.apps.first?.bundle.version
        expect(version == "2.0" || (!isDone && version == (isThere ? "1.0" : nil)), "\(number)")
        if version == "2.0" { expect(exists("\(scratch.path)/home/apps/org.example.notes/bundle/New")) }
        try scratch.install(SampleBundle(version: "3.0"))
        expect(tree("\(scratch.path)/home/apps").keys.filter { !$0.contains("/") }, is: ["org.example.notes"])
        expect(!exists("\(scratch.path)/home/apps/org.example.notes/bundle/New"))
        if isDone { break }
        ends += 1
      }
      expect(ends > 3)
    }
  }

  @Test func `an installation in progress is not removed by another`() throws {
    try scratch.install()
    let draft = "\(scratch.path)/home/apps/.installing-0123"
    scratch.makeDirectory("home/apps/.installing-0123")
    let directory = try Directory.open(draft)
    expect(try directory.descriptor.lock())
    try scratch.install(SampleBundle(version: "2.0"))
    expect(exists(draft))
    try directory.descriptor.unlock()
    try scratch.install(SampleBundle(version: "3.0"))
    expect(!exists(draft))
  }

  @Test func `a glance at the apps waits for no lock, and changes nothing`() throws {
    #expect(throws: Failure.self) { try AppHome.glance(at: scratch.homePath) }
    expect(!exists("\(scratch.path)/home"))
    scratch.makeDirectory("home")
    expect(try AppHome.glance(at: scratch.homePath).apps.isEmpty)
    expect(tree("\(scratch.path)/home").isEmpty)
    try scratch.install(SampleBundle("org.example.a"))
    try scratch.install(SampleBundle("org.example.b"))
    let apps = "\(scratch.path)/home/apps"
    try #require(rename("\(apps)/org.example.b", "\(apps)/.former-org.example.b") == 0)
    let catalog = try Directory.open(apps)
    try #require(try catalog.descriptor.lock())
    expect(try AppHome.glance(at: scratch.homePath).apps.map(\.identifier), is: ["org.example.a"])
    expect(exists("\(apps)/.former-org.example.b"))
  }

  @Test func `all data of an app is removed with it`() throws {
    let app = try scratch.install()
    try app.prepareContainer()
    try write("data", to: "\(app.containerPath)/Documents/file")
    try app.setContainerAside()
    try app.beginImport(transfer: String(repeating: "a", count: 32))
    try ImportRecord(failure: nil, transfer: nil, date: 1).write(to: app.statusPath)
    try write("staged", to: "\(app.stagingPath)/file")
    let folders = tree("\(scratch.path)/home").keys.filter { !$0.contains("/") }
    expect(Set(folders).isSubset(of: AppHome.Folder.allCases.map(\.rawValue)), "\(folders)")
    expect(folders.count > 6)
    try scratch.home().remove("org.example.notes")
    let left = tree("\(scratch.path)/home").keys.filter { $0.contains("/") }
    expect(left.isEmpty)
    expect(try scratch.home().list().apps.isEmpty)
  }

  @Test func `apps whose names begin with another's name do not affect each other`() throws {
    let (one, other) = (try scratch.install(SampleBundle("a.b")), try scratch.install(SampleBundle("a.b.mark.new")))
    try other.beginImport(transfer: "0")
    try one.beginImport(transfer: "1")
    try one.endImport(ImportRecord(failure: nil, transfer: nil, date: 1))
    expect(try other.unfinishedImport, is: "0")
    try scratch.home().remove("a.b")
    expect(try other.unfinishedImport, is: "0")
  }

  @Test func `a group is removed with the last app that lists it`() throws {
    let home = try scratch.home()
    for (name, groups) in [("a", ["group.one", "group.two"]), ("b", ["group.two"])] {
      try scratch.install(SampleBundle("org.example.\(name)", groups: groups)).prepareContainer()
    }
    try write("x", to: "\(home.path)/groups/group.stranger/file")
    try home.remove("org.example.a")
    expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(home.path)/groups").sorted(),
      is: [
        "group.stranger", "group.two",
      ])
    try home.remove("org.example.b")
    expect(try FileManager.default.contentsOfDirectory(atPath: "\(home.path)/groups"), is: ["group.stranger"])
  }

  @Test func `while another app is unreadable, no group is removed`() throws {
    let home = try scratch.home()
    try scratch.install(SampleBundle("org.example.a")).prepareContainer()
    try scratch.install(SampleBundle("org.example.b"))
    unlink("\(home.path)/apps/org.example.b/bundle/Info.plist")
    expect(try home.list().damaged.map(\.identifier), is: ["org.example.b"])
    try home.remove("org.example.a")
    expect(exists("\(home.path)/groups/group.notes"))
    // The damaged one can be removed too.
    try home.remove("org.example.b")
    expect(!exists("\(home.path)/apps/org.example.b"))
  }

  @Test func `wherever a removal ends, the app is whole or removed, and never returns with its data`() throws {
    var ends = 0
    for number in 0... {
      let scratch = try Scratch()
      let app = try scratch.install()
      try app.prepareContainer()
      try write("data", to: "\(app.containerPath)/Documents/file")
      try write("data", to: "\(scratch.path)/home/groups/group.notes/file")
      let isDone = (try? scratch.home(failingAt: number).remove("org.example.notes")) != nil
      if try scratch.home().list().apps.isEmpty {
        try scratch.install()
        expect(!exists("\(app.containerPath)/Documents/file"), "\(number)")
        expect(!exists("\(scratch.path)/home/groups/group.notes/file"), "\(number)")
      } else {
        expect(content("\(app.containerPath)/Documents/file"), is: "data")
      }
      if isDone { break }
      ends += 1
    }
    expect(ends > 3)
  }

  @Test func `a bundle that is damaged or has another name is listed as such`() throws {
    let home = try scratch.home()
    try scratch.install()
    expect(rename("\(home.path)/apps/org.example.notes", "\(home.path)/apps/org.example.other"), is: 0)
    let listing = try home.list()
    expect(listing.apps.isEmpty)
    expect(listing.damaged.map(\.identifier), is: ["org.example.other"])
    #expect(throws: Failure.self) { try home.app("org.example.other") }
  }

  @Test(arguments: ["a b", "a%b", "a#b", "a?b", "é", "a\\b", "a[b", "a\"b", "a\u{7F}b"])
  func `a path that changes in a URL is refused`(name: String) throws {
    let error = #expect(throws: Failure.self) { try AppHome(home: Array("\(scratch.path)/\(name)".utf8)) }
    expect(error?.code, is: .unfitApp)
    expect(error?.description.contains("because URLs must encode"), is: true)
    expect(error?.hint?.contains("PEER_HOME"), is: true)
    expect(!exists("\(scratch.path)/\(name)"))
    // The same through a link, whose own name is valid.
    scratch.makeDirectory(name)
    expect(symlink(name, "\(scratch.path)/link"), is: 0)
    #expect(throws: Failure.self) { try AppHome(home: Array("\(scratch.path)/link".utf8)) }
  }

  @Test func `every character that is allowed in the path is unchanged in a URL`() throws {
    let name = "AZaz09!$&'()*+,-.:;=@_~"
    let home = try AppHome(home: Array("\(scratch.path)/\(name)".utf8))
    expect(home.path, is: "\(scratch.path)/\(name)")
    expect(URL(fileURLWithPath: home.path, isDirectory: false).path(), is: home.path)
  }

  @Test func `a link to the directory counts as the directory`() throws {
    scratch.makeDirectory("real")
    expect(symlink("real", "\(scratch.path)/home"), is: 0)
    expect(try scratch.home().path, is: "\(scratch.path)/real")
  }
}
