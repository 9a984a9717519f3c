import Expectations
import TestSupport
import Testing

@testable import AppMigrationKit

@Suite struct MigrationDataContainerTests {
  @Test(arguments: ["/data/app", "/data/app/"])
  func `directories end without a slash, so that authors can append names`(_ root: String) {
    let container = MigrationDataContainer(bundleIdentifier: "a.b", root: URL(filePath: root))
    expect(container.documentsDirectory.path(), is: "/data/app/Documents")
    expect(container.documentsDirectory.path, is: "/data/app/Documents")
    expect(container.applicationSupportDirectory.path, is: "/data/app/Library/Application Support")
    expect(container.documentsDirectory.appending(path: "a%20b").path, is: "/data/app/Documents/a%20b")
  }

  @Test func `the directories of URL lead into the app's container`() async throws {
    let scratch = try Scratch.withContainer()
    try await ScriptedExtension.with(scratch, .init()) {
      expect(URL.documentsDirectory.path(), is: scratch.path("container/Documents/"))
      expect(URL.applicationSupportDirectory.path, is: scratch.path("container/Library/Application Support"))
    }
  }

  @Test func `both directories can be set, independently`() {
    var container = MigrationDataContainer(bundleIdentifier: "a.b", root: URL(filePath: "/data/app"))
    container.documentsDirectory = URL(filePath: "/elsewhere")
    expect(container.documentsDirectory.path, is: "/elsewhere")
    expect(container.applicationSupportDirectory.path, is: "/data/app/Library/Application Support")
    container.applicationSupportDirectory = URL(filePath: "/there")
    expect(container.applicationSupportDirectory.path, is: "/there")
    expect(container.containerRootDirectory.path, is: "/data/app")
  }

  @Test func `an extension without a container ends with a message`() async throws {
    let result = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent],
      performing: { _ = await OnlyImporting().appContainer })
    expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("only when peer starts it"))
  }

  @Test func `a process without surroundings has no groups and no status`() async {
    await #expect(processExitsWith: .success) {
      precondition(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.a") == nil)
      precondition(MigrationStatus.importStatus == nil)
      MigrationStatus.clearImportStatus()
    }
  }
}
