import Expectations
import Glibc
import MigrationHost
import TestSupport
import Testing

@testable import AppMigrationKit

@Suite struct TesterEnvironmentTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch.withContainer() }

  @Test func `the environment can hold a whole configuration`() throws {
    let variables = [
      "PEER_TEST_CONTAINER": scratch.path("container"), "PEER_TEST_BUNDLE_IDENTIFIER": "org.example.named",
      "PEER_TEST_GROUPS": "group.a=\(scratch.path("group")):group.b=\(scratch.path("container/Documents"))",
      "PEER_TEST_EXTENSION": "OnlyImporting", "PEER_TEST_STORE": "other", "PEER_TEST_IDLE_LIMIT": "2.5",
    ]
    let environment = try TesterEnvironment { variables[$0] }
    expect(environment.container?.path(), is: scratch.path("container"))
    expect(
      environment.groups.mapValues { $0.path },
      is: [
        "group.a": scratch.path("group"), "group.b": scratch.path("container/Documents"),
      ])
    expect(environment.bundleIdentifier, is: "org.example.named")
    expect(environment.type, is: "OnlyImporting")
    expect(environment.store, is: "other")
    expect(environment.idleLimit, is: .seconds(2.5))
    expect(try TesterEnvironment { $0 == "PEER_TEST_IDLE_LIMIT" ? "off" : nil }.idleLimit, is: .off)
    let nothing = try TesterEnvironment { _ in nil }
    expect(nothing.container == nil)
    expect(nothing.groups.isEmpty)
    expect(nothing.idleLimit, is: .standard)
  }

  @Test(arguments: [
    ("PEER_TEST_CONTAINER", "/nowhere/at/all"), ("PEER_TEST_CONTAINER", "/etc/hostname"),
    ("PEER_TEST_GROUPS", "group.a"), ("PEER_TEST_GROUPS", "group.a=/nowhere/at/all"),
    ("PEER_TEST_IDLE_LIMIT", "never"), ("PEER_TEST_IDLE_LIMIT", "0"),
  ])
  func `an error names the invalid variable`(_ name: String, _ value: String) {
    let error = #expect(throws: CocoaError.self) { try TesterEnvironment { $0 == name ? value : nil } }
    expect(error?.localizedDescription.contains(name), is: true)
  }

  /// Sets the environment of a test's process. Use it only in a separate process.
  private static func tell(_ variables: [String: String]) {
    for (name, value) in variables { setenv(name, value, 1) }
  }

  private static func temporaryContainer() throws -> URL {
    let url = FileManager.default.temporaryDirectory.appending(path: "told-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url.appending(path: "Documents"), withIntermediateDirectories: true)
    return url
  }

  @Test func `a tester without a configuration takes it from the environment`() async {
    await #expect(processExitsWith: .success) {
      let container = try Self.temporaryContainer()
      defer { try? FileManager.default.removeItem(at: container) }
      Self.tell([
        "PEER_TEST_CONTAINER": container.path, "PEER_TEST_EXTENSION": "AppMigrationKitTests.OnlyExporting",
        "PEER_TEST_GROUPS": "group.told=\(container.path)", "PEER_TEST_BUNDLE_IDENTIFIER": "org.example.told",
      ])
      let files = FileManager.default
      try #require(files.containerURL(forSecurityApplicationGroupIdentifier: "group.told")?.path == container.path)
      let result = try await AppMigrationTester(platform: .android).exportController.exportResources(request: nil)
      try #require(result.exportProperties.version == "1")
      let told = await OnlyExporting().appContainer
      try #require(told.bundleIdentifier == "org.example.told")
      try #require(told.containerRootDirectory.path == container.path)
    }
  }

  @Test func `an error names the unknown extension and the existing ones`() async {
    await #expect(processExitsWith: .success) {
      Self.tell(["PEER_TEST_EXTENSION": "Another"])
      let error = await #expect(throws: CocoaError.self) { try await AppMigrationTester(platform: .android) }
      let words = try #require(error?.localizedDescription)
      try #require(words.contains("PEER_TEST_EXTENSION is \"Another\"") && words.contains("OnlyExporting"))
    }
  }

  @Test func `an export from an empty container says how to name a container`() async {
    await #expect(processExitsWith: .success) {
      Self.tell(["PEER_TEST_EXTENSION": "ExportingOneFile"])
      let controller = try await AppMigrationTester(platform: .android).exportController
      let error = await #expect(throws: CocoaError.self) { try await controller.exportResources(request: nil) }
      try #require(error?.code == .fileReadNoSuchFile)
      let words = try #require(error?.localizedDescription)
      try #require(words.contains("AppMigrationTester.withConfiguration") && words.contains("PEER_TEST_CONTAINER"))
    }
  }
}

/// It exports a file of its app by Foundation's calls.
struct ExportingOneFile: ResourcesExporting {
  func exportResources(to archiver: sending ResourcesArchiver, request: MigrationRequest) async throws {
    let note = appContainer.documentsDirectory.appending(path: "note.txt")
    _ = try String(contentsOf: note, encoding: .utf8)
    try await archiver.appendItem(at: note)
  }
  var resourcesSizeEstimate: Int { get async { 0 } }
  var resourcesVersion: String { "1" }
  var resourcesCompressible: Bool { true }
}
