import Expectations
import Glibc
import TestSupport
import Testing

@testable import AppMigrationKit

@Suite struct OwnPreferencesTests {
  @Test func `the tester reports once that a test uses the developer's own preferences`() throws {
    let program = try #require(Bundle.main.executableURL).path
    let command = "exec /usr/bin/env -i \"$0\" --testing-library swift-testing --filter OwnPreferencesProbe 2>&1"
    let (code, output) = try run("/bin/sh", ["sh", "-c", command, program])
    let text = String(decoding: output, as: UTF8.self)
    expect(code, is: 0, "\(text)")
    let lines = text.split(separator: "\n").filter { $0.contains("AppMigrationTester: ") }
    expect(lines.count, is: 1, "\(text)")
    expect(lines.first?.contains("the group group.first and all others are your own"), is: true, "\(text)")
  }
}

/// The process whose preferences stay the developer's: this program once more, with an empty
/// environment.
@Suite(.enabled(if: TestProcess.isOne && TestProcess.preferences == nil)) struct OwnPreferencesProbe {
  @Test func `configurations with groups`() async {
    let place = FileManager.default.temporaryDirectory
    for groups in [[:], ["group.first": place], ["group.second": place]] {
      await AppMigrationTester.withConfiguration(extension: OnlyImporting.self, container: place, groups: groups) {}
    }
    AppMigrationTester.configure(extension: OnlyImporting.self, container: place, groups: ["group.third": place])
  }
}
