import Expectations
import Foundation
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct AppVariablesTests {
  private let scratch: Scratch
  private let app: InstalledApp

  init() throws {
    scratch = try Scratch()
    var sample = SampleBundle(groups: ["group.notes"])
    sample.extensionEntitlements?["com.apple.security.application-groups"] = ["group.inner"]
    app = try scratch.install(sample)
  }

  private func caller(_ name: String) -> String? {
    [
      "PATH": "/bin", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "Europe/Berlin", "DISPLAY": ":0", "HOME": "/root",
      "LD_PRELOAD": "x", "SSH_AUTH_SOCK": "y", "PEER_HOME": "z",
    ][name]
  }

  @Test func `an app has its container as its home, and from its caller only variables about the user`() throws {
    let variables = app.variables(from: caller)
    let container = app.containerPath
    var expected = [
      "HOME": container, "CFFIXED_USER_HOME": container, "TMPDIR": "\(container)/tmp",
      "XDG_DATA_HOME": "\(container)/Library/Application Support", "XDG_CACHE_HOME": "\(container)/Library/Caches",
      "XDG_CONFIG_HOME": "\(container)/.config", "PATH": "/bin", "LANG": "de_DE.UTF-8", "LC_TIME": "C",
      "TZ": "Europe/Berlin", "DISPLAY": ":0",
    ]
    expected[AppEnvironment.variable] = variables[AppEnvironment.variable]
    expect(variables, is: expected)
    let text = try #require(variables[AppEnvironment.variable])
    let environment = try JSONDecoder().decode(AppEnvironment.self, from: Data(text.utf8))
    expect(
      environment,
      is: AppEnvironment(
        bundleIdentifier: "org.example.notes", container: container,
        groups: ["group.notes": "\(scratch.path)/home/groups/group.notes"], status: app.statusPath))
  }

  @Test func `an extension has its own groups, a channel, and no display`() throws {
    let variables = try app.site(nil).variables(channel: 9, from: caller)
    expect(variables["DISPLAY"] == nil && variables["LANG"] == "de_DE.UTF-8")
    expect(variables["TMPDIR"], is: "\(scratch.path)/home/scratch/org.example.notes")
    let text = try #require(variables[AppEnvironment.variable])
    let environment = try JSONDecoder().decode(AppEnvironment.self, from: Data(text.utf8))
    expect(environment.channel, is: 9)
    expect(environment.groups, is: ["group.inner": "\(scratch.path)/home/groups/group.inner"])
  }

  @Test func `without a PATH an extension gets the usual one`() {
    expect(app.variables(from: { _ in nil })["PATH"], is: "/usr/local/bin:/usr/bin:/bin")
  }

  @Test func `processes of an app share a group's defaults, and keep their own in the container`() throws {
    try app.prepareContainer()
    let group = "group.notes"
    let processes = [app.variables(), try app.site(nil).variables(channel: 3)]
    for (process, former, value) in [(processes[0], "", "app"), (processes[1], "app", "extension")] {
      var variables = process
      variables["TMPDIR"] = "\(app.containerPath)/tmp"
      variables[DefaultsProbe.variable] = "\(group) \(value) \(former)"
      expect(try runAgain("DefaultsProbe", environment: variables), is: 0)
    }
    let file = "\(scratch.path)/home/groups/\(group)/Library/Preferences/\(group).plist"
    let data = try Data(contentsOf: URL(fileURLWithPath: file))
    let properties = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: String]
    expect(properties, is: ["key": "extension"])
    expect(tree("\(app.containerPath)/.config")["\(group).plist"], is: "-> \(file)")
    expect(try app.holdsData)
  }
}

/// A process of an app that uses its defaults. It is this program once more, because the library
/// reads its environment only at its start.
@Suite struct DefaultsProbe {
  static let variable = "PEER_TEST_DEFAULTS"
  static var task: String? { ProcessInfo.processInfo.environment[variable] }

  @Test(.enabled(if: DefaultsProbe.task != nil, "started by another test alone")) func `defaults are read and written`()
    throws
  {
    let words = try #require(Self.task).split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let defaults = try #require(UserDefaults(suiteName: words[0]))
    expect(defaults.string(forKey: "key") ?? "", is: words[2])
    defaults.set(words[1], forKey: "key")
    expect(defaults.synchronize())
    UserDefaults.standard.set(1, forKey: "own")
    expect(UserDefaults.standard.synchronize())
    expect(FileManager.default.temporaryDirectory.path(), is: "\(NSHomeDirectory())/tmp/")
  }
}
