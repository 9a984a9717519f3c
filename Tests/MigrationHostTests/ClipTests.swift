import Expectations
import Foundation
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// The app that replaces its clip.
@Suite struct ClipTests {
  private static let app = "org.example.notes"
  private static let clip = "org.example.notes.clip"
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// A clip with data of its own and in its group.
  private static func installClip(_ scratch: Scratch, groups: [String] = ["group.notes"]) throws {
    let app = try scratch.install(.clip(groups: groups))
    try app.prepareContainer()
    try write("own", to: "\(app.containerPath)/Documents/file")
    for group in groups { try write("of \(group)", to: "\(scratch.path)/home/groups/\(group)/file") }
  }

  private static func names(_ folder: String, _ scratch: Scratch) -> [String] {
    tree("\(scratch.path)/home/\(folder)").keys.filter { !$0.contains("/") }.sorted()
  }

  /// Requires that either the clip or the app is whole, and that the group is unchanged.
  private static func check(_ scratch: Scratch, _ comment: Comment) throws {
    let listing = try scratch.home().list()
    expect(listing.damaged.isEmpty, comment)
    let installed = listing.apps.map(\.identifier)
    expect(installed == [app] || installed == [clip], comment)
    let file = "\(scratch.path)/home/containers/\(clip)/Documents/file"
    if installed == [clip] {
      expect(content(file), is: "own", comment)
    } else {
      expect(!exists("\(scratch.path)/home/containers/\(clip)"), comment)
      expect(!exists("\(scratch.path)/home/apps/.removing-\(clip)"), comment)
    }
    expect(content("\(scratch.path)/home/groups/group.notes/file"), is: "of group.notes", comment)
    expect(content("\(scratch.path)/home/groups/.group.notes.owner"), is: "\(app) \(clip)\n", comment)
  }

  @Test func `an app replaces its clip, the clip's own data is removed, and the groups are kept`() throws {
    try Self.installClip(scratch)
    let group = tree("\(scratch.path)/home/groups")
    let installation = try scratch.home().install(try SampleBundle.app().write(in: scratch))
    expect(installation.replacement, is: AppHome.Replacement(clip: Self.clip, groups: []))
    expect(installation.previousVersion == nil)
    try Self.check(scratch, "")
    expect(tree("\(scratch.path)/home/groups"), is: group)
    expect(Self.names("apps", scratch), is: [Self.app])
    let again = try scratch.home().install(try SampleBundle.app(version: "2.0").write(in: scratch))
    expect(again.replacement == nil && again.previousVersion == "1.0")
  }

  @Test func `a clip that was replaced is started as its app`() throws {
    try Self.installClip(scratch)
    do {
      let before = try scratch.home().start(Self.clip)
      expect(before.app.identifier == Self.clip && before.replacedClip == nil)
    }
    try Self.lockOnceFree(scratch)
    try scratch.install(.app())
    let after = try scratch.home().start(Self.clip)
    expect(after.app.identifier == Self.app && after.replacedClip == Self.clip)
    let error = try #require(throws: Failure.self) { try scratch.home().app(Self.clip) }
    expect(error.code == .notInstalled && error.description.contains("its app \(Self.app) has replaced it"))
    #expect(throws: Failure.self) { try scratch.home().remove(Self.clip) }
    #expect(throws: Failure.self) { try scratch.home().start("org.example.none") }
  }

  /// Returns when no process that another test is starting has a copy of the clip's lock.
  private static func lockOnceFree(_ scratch: Scratch) throws {
    _ = try scratch.home().app(clip).lockOnceFree(.installing)
  }

  @Test func `a running clip is not replaced`() throws {
    try Self.installClip(scratch)
    let started = try scratch.home().start(Self.clip)
    let error = try #require(throws: Failure.self) { try scratch.install(.app()) }
    withExtendedLifetime(started) {}
    expect(error.code == .appInUse && error.hint == "Close it first.")
    expect(error.description.contains("the clip \(Self.clip) is running (process \(getpid()))"), "\(error)")
    expect(error.fault?.key, is: SampleBundle.clipKey)
    try Self.check(scratch, "")
    expect(Self.names("apps", scratch), is: [Self.clip])
  }

  @Test func `a group that only the clip listed is removed with it`() throws {
    try Self.installClip(scratch, groups: ["group.clip", "group.notes", "group.third"])
    // An update no longer lists a group, which still belongs to the two.
    try scratch.install(.clip(version: "1.1", groups: ["group.clip", "group.notes"]))
    expect(exists("\(scratch.path)/home/groups/group.third"))
    let installation = try scratch.home().install(try SampleBundle.app().write(in: scratch))
    expect(installation.replacement?.groups, is: ["group.clip", "group.third"])
    expect(Self.names("groups", scratch), is: [".group.notes.owner", "group.notes"])
  }

  /// The first command after a crash.
  enum First: CaseIterable { case run, list, installClip, installApp, removeClip, status }

  private static func perform(_ first: First, _ scratch: Scratch) throws {
    let isThere = names("apps", scratch).contains(app)
    switch first {
    case .run:
      let started = try scratch.home().start(clip)
      expect(started.app.identifier, is: (isThere ? app : clip))
      withExtendedLifetime(started) {}
    case .list: _ = try scratch.home().list()
    case .installClip:
      do {
        try scratch.install(.clip(version: "1.1"))
      } catch let error as Failure {
        expect(error.code == .unfitApp && error.fault?.key == SampleBundle.parentKey, "\(error)")
        expect(try scratch.home().app(app).bundle.version, is: "1.0")
      }
    case .installApp:
      try scratch.install(.app(version: "2.0"))
      expect(try scratch.home().list().apps.map(\.bundle.version), is: ["2.0"])
    case .removeClip:
      // That removal may remove the clip with its group; this test requires only that an installed
      // app stays whole.
      guard isThere else { return }
      let error = try #require(throws: Failure.self) { try scratch.home().remove(clip) }
      expect(error.code, is: .notInstalled)
    case .status: expect((try? scratch.home().app(app)) != nil || (try? scratch.home().app(clip)) != nil)
    }
  }

  @Test(arguments: First.allCases, [Directory.RenameMethod.preferred, .plain])
  func `wherever a replacement ends, the clip or the app exists, and so does the group`(
    first: First, renaming: Directory.RenameMethod
  ) throws {
    var both = 0
    for number in 0... {
      let scratch = try Scratch()
      try Self.installClip(scratch)
      let bundle = try SampleBundle.app().write(in: scratch)
      let isDone = (try? scratch.home(failingAt: number, renaming: renaming).install(bundle)) != nil
      let names = Self.names("apps", scratch)
      if names.contains(Self.app) && names.contains(Self.clip) { both += 1 }
      // The list that is read without a lock has one of the two.
      expect(try AppHome.glance(at: scratch.homePath).apps.count, is: 1)
      try Self.perform(first, scratch)
      // By this one command alone.
      expect(Self.names("apps", scratch).filter { $0 == Self.app || $0.hasSuffix(Self.clip) }.count, is: 1, "\(number)")
      try Self.check(scratch, "\(number)")
      if isDone { break }
    }
    // Between publishing and removing.
    expect(both, is: 1)
  }

  /// A home in which the clip and the app are both installed, as a crash leaves them.
  private static func both() throws -> Scratch {
    let (scratch, other) = (try Scratch(), try Scratch())
    try installClip(scratch)
    try other.install(.app())
    try FileManager.default.copyItem(
      atPath: "\(other.path)/home/apps/\(app)", toPath: "\(scratch.path)/home/apps/\(app)")
    return scratch
  }

  @Test func `a crash during the settling is settled`() throws {
    for number in 0... {
      let scratch = try Self.both()
      // The list succeeds although the rest cannot be removed: it counts as removed.
      expect(try scratch.home(failingAt: number).list().apps.map(\.identifier), is: [Self.app])
      let isDone =
        !exists("\(scratch.path)/home/apps/.removing-\(Self.clip)")
        && !exists(
          "\(scratch.path)/home/apps/\(Self.clip)")
      expect(try scratch.home().app(Self.app).identifier, is: Self.app)
      try Self.check(scratch, "\(number)")
      expect(Self.names("apps", scratch), is: [Self.app])
      if isDone { break }
      expect(number < 20)
    }
  }

  @Test func `an installation reports the clip that an earlier one has left`() throws {
    let scratch = try Self.both()
    let installation = try scratch.home().install(try SampleBundle.app(version: "2.0").write(in: scratch))
    expect(installation.replacement?.clip == Self.clip && installation.previousVersion == "1.0")
  }

  @Test func `a clip that another process is removing is left to that process`() throws {
    let scratch = try Self.both()
    let lock = try AppLock.take(.removing, of: Self.clip, in: try scratch.home().files)
    expect(try scratch.home().list().apps.map(\.identifier), is: [Self.app])
    expect(exists("\(scratch.path)/home/apps/\(Self.clip)"))
    withExtendedLifetime(lock) {}
  }
}
