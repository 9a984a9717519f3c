import Expectations
import Glibc
import MigrationSystem
import TestSupport
import Testing

@testable import AppMigrationKit

@Suite struct PreferencesTests {
  private let scratch: Scratch
  static let suite = "group.org.example.preferences"

  init() throws { scratch = try Scratch.withContainer() }

  private func configured<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await AppMigrationTester.withConfiguration(
      extension: OnlyImporting.self, container: scratch.container, groups: [Self.suite: scratch.group], body)
  }

  @Test func `a test's defaults are in its process's directory, not among the developer's`() async throws {
    try await configured {
      let defaults = try #require(UserDefaults(suiteName: Self.suite))
      defaults.set("value", forKey: "key")
      expect(defaults.synchronize())
      let directory = try #require(TestProcess.preferences)
      expect(FileManager.default.fileExists(atPath: "\(directory)/\(Self.suite).plist"))
      let passwd = getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/root"
      for home in [NSHomeDirectory(), passwd] {
        expect(!FileManager.default.fileExists(atPath: "\(home)/.config/\(Self.suite).plist"))
      }
    }
  }

  @Test func `the directory is removed with the process`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent],
      performing: {
        UserDefaults(suiteName: "left")?.set(1, forKey: "key")
        UserDefaults(suiteName: "left")?.synchronize()
        let directory = try #require(TestProcess.preferences)
        try #require(FileManager.default.fileExists(atPath: "\(directory)/left.plist"))
        print("at \(directory) end")
      })
    let output = String(decoding: result.standardOutputContent, as: UTF8.self)
    let directory = try #require(output.split(separator: " ").first { $0.hasPrefix("/") })
    expect(!FileManager.default.fileExists(atPath: String(directory)))
  }

  @Test func `a configuration begins with empty defaults of its groups`() async throws {
    try await configured {
      UserDefaults(suiteName: Self.suite)?.set("of the first", forKey: "key")
      expect(UserDefaults(suiteName: Self.suite)?.string(forKey: "key"), is: "of the first")
    }
    try await configured {
      expect(UserDefaults(suiteName: Self.suite)?.string(forKey: "key") == nil)
    }
  }

  @Test func `configurations with a common group run one after the other`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          try await configured {
            let defaults = try #require(UserDefaults(suiteName: Self.suite))
            expect(defaults.object(forKey: "key") == nil)
            defaults.set(number, forKey: "key")
            for _ in 0..<20 { await Task.yield() }
            expect(defaults.integer(forKey: "key"), is: number)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `a configuration inside another one shares its groups`() async throws {
    try await configured {
      UserDefaults(suiteName: Self.suite)?.set("outer", forKey: "key")
      try await configured {
        expect(UserDefaults(suiteName: Self.suite)?.string(forKey: "key"), is: "outer")
      }
    }
  }

  @Test func `an exporter finds no defaults of a group that its configuration does not list`() async throws {
    let unlisted = "group.org.example.unlisted"
    let seen = Mutex<[String?]>([])
    let script = ScriptedExtension.Script(export: { _, _ in
      let value = { UserDefaults(suiteName: $0)?.string(forKey: "key") }
      seen.withLock { $0 = [value(unlisted), value(Guest.group)] }
      UserDefaults(suiteName: unlisted)?.set("meanwhile", forKey: "other")
    })
    // The exporters of other tests leave alone what belongs to this outer configuration.
    try await AppMigrationTester.withConfiguration(
      extension: OnlyImporting.self, container: scratch.container, groups: [unlisted: scratch.group]
    ) {
      try await ScriptedExtension.with(scratch, script) {
        for suite in [unlisted, Guest.group] { UserDefaults(suiteName: suite)?.set("value", forKey: "key") }
        _ = try await AppMigrationTester(platform: .linux).exportController.exportResources(request: nil)
      }
      expect(seen.withLock { $0 }, is: [nil, "value"])
      let defaults = UserDefaults(suiteName: unlisted)
      expect(defaults?.string(forKey: "key") == "value" && defaults?.string(forKey: "other") == "meanwhile")
    }
  }

  @Test func `an error gives the groups back`() async throws {
    await #expect(throws: CancellationError.self) { try await configured { throw CancellationError() } }
    try await configured {}
  }

  @Test func `changed defaults are among the items that a failed import left`() async throws {
    try await AppMigrationTester.withConfiguration(
      extension: SettingAndFailing.self, container: scratch.container, groups: [Self.suite: scratch.group]
    ) {
      UserDefaults(suiteName: Self.suite)?.set("before", forKey: "other")
      let controller = try await AppMigrationTester(platform: .linux).importController
      await #expect(throws: CocoaError.self) { try await controller.importResources(from: scratch.container) }
      expect(controller.leftInGroups, is: [Self.suite: ["Library/Preferences/\(Self.suite).plist"]])
    }
  }

  /// It sets a default of the group, and fails.
  struct SettingAndFailing: ResourcesImporting {
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      UserDefaults(suiteName: PreferencesTests.suite)?.set("half", forKey: "key")
      throw CocoaError(.fileReadCorruptFile)
    }
  }
}
