import Expectations
import Foundation
import Glibc
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// The rules for apps that are installed together, and the owners of groups.
@Suite struct NeighbourTests {
  private static let clip = "org.example.notes.clip"
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// Requires that a bundle is refused for this reason, and that nothing has changed.
  private func refuse(
    _ sample: SampleBundle, _ key: String, _ reason: String, remove: String? = nil, file: String = "Entitlements.plist",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = tree("\(scratch.path)/home")
    let error = try #require(throws: Failure.self, sourceLocation: sourceLocation) { try scratch.install(sample) }
    expect(error.code, is: .unfitApp, sourceLocation: sourceLocation)
    expect(
      error.description, is: "the bundle is invalid: '\(file)': \(key): \(reason)", sourceLocation: sourceLocation)
    expect(error.fault?.key, is: key, sourceLocation: sourceLocation)
    if let remove {
      expect(
        error.hint?.contains("'peer app remove \(remove)'"), is: true, "\(error.hint ?? "")",
        sourceLocation: sourceLocation)
    }
    expect(tree("\(scratch.path)/home"), is: before, sourceLocation: sourceLocation)
  }

  private static let parentKey = SampleBundle.parentKey
  private static let clipKey = SampleBundle.clipKey
  private static let groupsKey = "com.apple.security.application-groups"
  private static let owned = "the group 'group.notes' belongs to the app org.example.notes and its clip \(clip)"

  @Test func `a clip is refused while its app is installed`() throws {
    try scratch.install(.app())
    try refuse(
      .clip(), Self.parentKey, "its app org.example.notes is installed, and replaces the clip",
      remove: "org.example.notes")
  }

  @Test func `an association that only one side declares is refused, in either order`() throws {
    try scratch.install(.clip())
    try refuse(
      .app(clip: nil), Self.clipKey,
      "the clip \(Self.clip) is installed and names org.example.notes as its app, which does not name it as its clip",
      remove: Self.clip)
    try refuse(
      .app(clip: "org.example.notes.other"), Self.clipKey,
      "the clip \(Self.clip) is installed and names org.example.notes as its app, which does not name it as its clip",
      remove: Self.clip)
    try refuse(
      .app("org.example", clip: Self.clip, groups: []), Self.clipKey,
      "the clip \(Self.clip) is installed, and does not name org.example as its app", remove: Self.clip)
    try scratch.home().remove(Self.clip)
    try scratch.install(.app(clip: nil))
    try refuse(
      .clip(), Self.parentKey,
      "the app org.example.notes is installed, and does not name \(Self.clip) as its clip", remove: "org.example.notes")
    try scratch.home().remove("org.example.notes")
    try scratch.install(SampleBundle(Self.clip))
    try refuse(
      .app(groups: []), Self.clipKey,
      "the app \(Self.clip) is installed, and does not name org.example.notes as its app",
      remove: Self.clip)
    try scratch.home().remove(Self.clip)
    try scratch.install(.app(groups: []))
    try refuse(
      SampleBundle(Self.clip), Self.parentKey,
      "the app org.example.notes is installed and names \(Self.clip) as its clip, which does not name it as its app",
      remove: "org.example.notes")
    try refuse(
      .app("org.example", clip: Self.clip, groups: []), Self.clipKey,
      "the app org.example.notes is installed, and names the same clip, \(Self.clip)", remove: "org.example.notes")
  }

  @Test func `another version has the role of the installed one, an app or the clip of the same app`() throws {
    try scratch.install(.clip())
    try refuse(
      SampleBundle(Self.clip), Self.parentKey, "\(Self.clip) is installed as the clip of org.example.notes",
      remove: Self.clip)
    try refuse(
      .clip(of: "org.example"), Self.parentKey, "\(Self.clip) is installed as the clip of org.example.notes",
      remove: Self.clip)
    try scratch.home().remove(Self.clip)
    try scratch.install(SampleBundle(Self.clip))
    try refuse(.clip(), Self.parentKey, "\(Self.clip) is installed as an app", remove: Self.clip)
  }

  @Test func `a counterpart with a damaged bundle must be removed first`() throws {
    try scratch.install(.clip())
    unlink("\(scratch.path)/home/apps/\(Self.clip)/bundle/Info.plist")
    try refuse(
      .app(), Self.clipKey, "\(Self.clip) is installed, and its bundle is damaged", remove: Self.clip)
    try scratch.home().remove(Self.clip)
    try scratch.install(.app())
    unlink("\(scratch.path)/home/apps/org.example.notes/bundle/Info.plist")
    try refuse(
      .clip(), Self.parentKey, "org.example.notes is installed, and its bundle is damaged", remove: "org.example.notes")
  }

  @Test(arguments: [false, true])
  func `a third app never gets the group of a clip and its app`(isStarted: Bool) throws {
    try scratch.install(SampleBundle("org.example.third", groups: []))
    let third = SampleBundle("org.example.third", version: "2.0")
    var extensionAlone = third
    extensionAlone.entitlements = nil
    let other = SampleBundle.clip("org.example.notes.other")
    let clip = try scratch.install(.clip())
    if isStarted { try clip.prepareContainer() }
    try refuse(third, Self.groupsKey, Self.owned, remove: Self.clip)
    try refuse(
      extensionAlone, Self.groupsKey, Self.owned, remove: Self.clip,
      file: "Extensions/Migration.appex/Entitlements.plist")
    // Another clip of the same app is neither of the two.
    try refuse(other, Self.groupsKey, Self.owned, remove: Self.clip)
    let app = try scratch.install(.app())
    if isStarted { try app.prepareContainer() }
    try refuse(third, Self.groupsKey, Self.owned, remove: "org.example.notes")
    // Also if the app no longer lists it, as long as there is data.
    if isStarted {
      try scratch.install(.app(version: "2.0", groups: []))
      try refuse(third, Self.groupsKey, Self.owned, remove: "org.example.notes")
    }
    try scratch.home().remove("org.example.notes")
    expect(tree("\(scratch.path)/home/groups").isEmpty)
    try scratch.install(third)
  }

  @Test func `a clip whose group another app lists is refused`() throws {
    try scratch.install(SampleBundle("org.example.third"))
    try refuse(
      .clip(), Self.groupsKey, "the group 'group.notes' is listed by org.example.third already",
      remove: "org.example.third")
    // The existing data may belong to an unreadable app.
    try scratch.home().app("org.example.third").prepareContainer()
    unlink("\(scratch.path)/home/apps/org.example.third/bundle/Info.plist")
    try refuse(
      .clip(), Self.groupsKey,
      "the group 'group.notes' has data, and the bundle of org.example.third, which may list it, is damaged",
      remove: "org.example.third")
    try scratch.home().remove("org.example.third")
    try scratch.install(.clip())
  }

  @Test func `an app that is installed while a bundle is copied counts as well`() throws {
    let (path, third) = (scratch.homePath, try SampleBundle("org.example.third").write(in: scratch))
    let home = try AppHome(home: path) { change throws(Failure) in
      guard change.hasPrefix("make apps/.installing-"), change.hasSuffix("/bundle") else { return }
      _ = try AppHome(home: path).install(third)
    }
    let error = try #require(throws: Failure.self) { try home.install(try SampleBundle.clip().write(in: scratch)) }
    expect(error.description.contains("is listed by org.example.third already"), "\(error)")
    expect(try home.list().apps.map(\.identifier), is: ["org.example.third"])
    expect(tree("\(scratch.path)/home/apps").keys.filter { !$0.contains("/") }, is: ["org.example.third"])
  }

  @Test func `an outdated record blocks no app, and is removed`() throws {
    try scratch.install(.clip())
    // The state after a crash before the clip is published.
    try #require(rename("\(scratch.path)/home/apps/\(Self.clip)", "\(scratch.path)/gone") == 0)
    try scratch.install(SampleBundle("org.example.third"))
    expect(tree("\(scratch.path)/home/groups").isEmpty)
  }

  @Test func `the owners of a group are recorded before the clip is installed`() throws {
    for number in 0... {
      let scratch = try Scratch()
      let bundle = try SampleBundle.clip(groups: ["group.a", "group.b"]).write(in: scratch)
      let isDone = (try? scratch.home(failingAt: number).install(bundle)) != nil
      let isThere = try scratch.home().list().apps.count == 1
      for group in ["group.a", "group.b"] where isThere {
        expect(
          content("\(scratch.path)/home/groups/.\(group).owner"), is: "org.example.notes \(Self.clip)\n", "\(number)")
      }
      let third = SampleBundle("org.example.third", groups: ["group.a"])
      expect((try? scratch.install(third)) == nil || !isThere, "\(number)")
      if isDone { break }
    }
  }

  @Test func `wherever a removal ends, the next one removes the rest of the groups`() throws {
    for number in 0... {
      let scratch = try Scratch()
      try scratch.install(.clip(groups: ["group.a", "group.b"])).prepareContainer()
      try scratch.install(.app(groups: ["group.a"])).prepareContainer()
      try write("x", to: "\(scratch.path)/home/groups/group.a/file")
      let isDone = (try? scratch.home(failingAt: number).remove("org.example.notes")) != nil
      _ = try? scratch.home().remove("org.example.notes")
      expect(tree("\(scratch.path)/home/groups").isEmpty, "\(number)")
      try scratch.install(SampleBundle("org.example.third", groups: ["group.a", "group.b"]))
      if isDone { break }
    }
  }

  @Test func `a group that is kept because of a damaged app is removed once that is settled`() throws {
    try scratch.install(.clip()).prepareContainer()
    try scratch.install(SampleBundle("org.example.third", groups: []))
    unlink("\(scratch.path)/home/apps/org.example.third/bundle/Info.plist")
    try scratch.home().remove(Self.clip)
    expect(exists("\(scratch.path)/home/groups/group.notes"))
    let error = try #require(throws: Failure.self) { try scratch.install(SampleBundle("org.example.other")) }
    expect(error.hint?.contains("'peer app remove org.example.third'"), is: true)
    try scratch.home().remove("org.example.third")
    try scratch.install(SampleBundle("org.example.other"))
    expect(!exists("\(scratch.path)/home/groups/group.notes"))
  }

  @Test func `only a correctly written record is valid`() {
    let owner = AppHome.GroupOwner(app: "a.b", clip: "a.b.c")
    expect(AppHome.GroupOwner(owner.encoded), is: owner)
    for text in ["", "a.b a.b.c", "a.b\n", "a.b a.b.c d\n", "a/b a.b.c\n", "a.b  a.b.c\n", "a.b a.b.c\n\n"] {
      expect(AppHome.GroupOwner(Array(text.utf8)) == nil, "\(text)")
    }
    expect(AppHome.GroupOwner.group(".group.notes.owner"), is: "group.notes")
    for name in ["group.notes", ".owner", ".a.owner.new", "a.owner", "..owner"] {
      expect(AppHome.GroupOwner.group(name) == nil)
    }
    // The temporary file of one record is not the record of another group.
    expect(AppHome.GroupOwner.group("\(AppHome.GroupOwner.place(of: "a").dropFirst("groups/".count)).new") == nil)
  }
}
