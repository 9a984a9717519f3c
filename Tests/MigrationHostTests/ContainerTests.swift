import Expectations
import Foundation
import Glibc
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct ContainerTests {
  private let scratch: Scratch
  private let app: InstalledApp

  init() throws {
    scratch = try Scratch()
    app = try scratch.install()
  }

  @Test func `a container can be prepared repeatedly`() throws {
    try app.prepareContainer()
    let first = tree(app.containerPath)
    expect(
      Set(first.keys),
      is: [
        "Documents", "Library", "Library/Application Support", "Library/Caches", "tmp", ".config",
        ".config/group.notes.plist",
      ])
    try app.prepareContainer()
    expect(tree(app.containerPath), is: first)
    expect(mode(app.containerPath), is: 0o700)
    expect(mode("\(scratch.path)/home/groups/group.notes"), is: 0o700)
    expect(try !app.holdsData)
  }

  @Test func `each group's preferences are one file for all processes that list the group`() throws {
    try app.prepareContainer()
    let home = try scratch.home().path
    let target = "\(home)/groups/group.notes/Library/Preferences/group.notes.plist"
    expect(tree(app.containerPath)[".config/group.notes.plist"], is: "-> \(target)")
    // A group that the next version does not list is inaccessible to it, but keeps its data.
    try write("kept", to: target)
    let next = try scratch.install(SampleBundle(version: "2.0", groups: ["group.other"]))
    try next.prepareContainer()
    expect(Set(tree("\(app.containerPath)/.config").keys), is: ["group.other.plist"])
    expect(content(target), is: "kept")
  }

  @Test func `preferences from before the group existed become the group's, and are never lost`() throws {
    try app.prepareContainer()
    let link = "\(app.containerPath)/.config/group.notes.plist"
    let target = "\(scratch.path)/home/groups/group.notes/Library/Preferences/group.notes.plist"
    unlink(link)
    try write("mine", to: link)
    try app.prepareContainer()
    expect(content(target), is: "mine")
    expect(content(link), is: "mine")
    unlink(link)
    try write("second", to: link)
    try app.prepareContainer()
    expect(content(link), is: "mine")
    expect(tree("\(app.containerPath)/.config").values.contains("second"))
    // A link that came with imported data was not created here.
    unlink(link)
    expect(symlink("/elsewhere/group.notes.plist", link), is: 0)
    expect(try app.holdsData)
    try app.prepareContainer()
    expect(content(link), is: "mine")
  }

  @Test(
    arguments: [
      ("Documents/file", true), ("file", true), (".hidden", true), ("Library/Caches/x", true), ("a/b/c/d", true),
      (".config/other.plist", true), (".config/group.other.plist", true), ("tmp/file", false), ("tmp/a/b", false),
      ("Documents/tmp/file", true),
    ] as [(String, Bool)])
  func `a file outside tmp is data`(name: String, isData: Bool) throws {
    try app.prepareContainer()
    try write("x", to: "\(app.containerPath)/\(name)")
    expect(try app.holdsData, is: isData)
  }

  @Test func `links, sockets and pipes are data, directories are not`() throws {
    expect(try !app.holdsData)
    try app.prepareContainer()
    scratch.makeDirectory("home/containers/org.example.notes/a/b/c")
    expect(try !app.holdsData)
    expect(symlink("nowhere", "\(app.containerPath)/a/link"), is: 0)
    expect(try app.holdsData)
    unlink("\(app.containerPath)/a/link")
    expect(mkfifo("\(app.containerPath)/a/b/pipe", 0o600), is: 0)
    expect(try app.holdsData)
  }

  @Test func `a directory that its owner has closed counts as data, for root as well`() throws {
    try app.prepareContainer()
    let closed = "\(app.containerPath)/closed"
    expect(mkdir(closed, 0), is: 0)
    expect(try app.holdsData)
    expect(chmod(closed, 0o700), is: 0)
    expect(try !app.holdsData)
  }

  @Test(arguments: [0, 0o500, 0o300] as [mode_t])
  func `a container that the app has closed can be prepared, moved aside, moved back and cleared`(mode: mode_t) throws {
    try app.prepareContainer()
    try write("x", to: "\(app.containerPath)/Documents/file")
    chmod("\(app.containerPath)/.config", mode)
    chmod(app.containerPath, mode)
    expect(try app.holdsData)
    try app.setContainerAside()
    expect(try !app.holdsData)
    try app.putContainerBack()
    expect(content("\(app.containerPath)/Documents/file"), is: "x")
    chmod(app.containerPath, mode)
    try app.prepareContainer()
    expect(content("\(app.containerPath)/Documents/file"), is: "x")
    chmod(app.containerPath, mode)
    try app.clearContainer()
    expect(try !app.holdsData)
  }

  @Test func `clearing leaves an empty container, regardless of its contents`() throws {
    try app.prepareContainer()
    try write("shared", to: "\(scratch.path)/home/groups/group.notes/file")
    try write("x", to: "\(app.containerPath)/Documents/file", mode: 0)
    for name in ["closed", "fixed"] {
      try write("x", to: "\(app.containerPath)/\(name)/inside/file")
      chmod("\(app.containerPath)/\(name)/inside", 0o500)
    }
    chmod("\(app.containerPath)/closed", 0)
    // Deeper than the longest path.
    let deep = SharedDirectory(try Directory.open(app.containerPath))
    var directory = deep
    for _ in 0..<600 {
      try directory.directory.makeDirectory("deeeeeeeep")
      directory = SharedDirectory(try directory.directory.openChildDirectory("deeeeeeeep"))
    }
    _ = try directory.directory.createFile("file")
    expect(try app.holdsData)
    let expected = tree(try scratch.install(SampleBundle("org.example.fresh")).prepared().containerPath)
    try app.clearContainer()
    expect(Set(tree(app.containerPath).keys), is: Set(expected.keys))
    expect(try !app.holdsData)
    expect(!exists("\(scratch.path)/home/trash/org.example.notes"))
    expect(content("\(scratch.path)/home/groups/group.notes/file"), is: "shared")
  }

  @Test func `a container that the app has partly linked elsewhere is kept that way`() throws {
    try app.prepareContainer()
    let documents = "\(app.containerPath)/Documents"
    expect(rmdir(documents), is: 0)
    scratch.makeDirectory("elsewhere")
    expect(symlink("\(scratch.path)/elsewhere", documents), is: 0)
    try app.prepareContainer()
    expect(tree(app.containerPath)["Documents"], is: "-> \(scratch.path)/elsewhere")
  }
}

extension InstalledApp {
  /// The same, with its container.
  func prepared() throws -> InstalledApp {
    try prepareContainer()
    return self
  }
}
