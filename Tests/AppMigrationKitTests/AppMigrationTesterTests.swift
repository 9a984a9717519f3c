import Expectations
import MigrationSystem
import TestSupport
import Testing

@testable import AppMigrationKit

@Suite struct AppMigrationTesterTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch.withContainer() }

  private static let exportDocuments:
    @Sendable (sending ResourcesArchiver, MigrationDataContainer) async throws -> Void = {
      try await $0.appendItem(at: $1.documentsDirectory)
    }

  private static let importDocuments:
    @Sendable (URL, ResourcesImportRequest, MigrationDataContainer) async throws -> Void = {
      for name in try FileManager.default.contentsOfDirectory(atPath: $0.appending(path: "Documents").path) {
        try FileManager.default.moveItem(
          at: $0.appending(path: "Documents/\(name)"), to: $2.documentsDirectory.appending(path: name))
      }
    }

  @Test func `a tester imports an export into a fresh container`() async throws {
    scratch.write("container/Documents/note", "text")
    let script = ScriptedExtension.Script(export: Self.exportDocuments, importing: Self.importDocuments)
    try await ScriptedExtension.with(scratch, script) {
      let tester = try await AppMigrationTester(platform: .android)
      let exported = try await tester.exportController.exportResources(request: nil)
      let controller = try await tester.importController
      expect(controller.importedContainer == nil)
      expect(try await tester.importController === controller)
      try await controller.importResources(from: exported.extractedResourcesURL)
      let container = try #require(controller.importedContainer)
      expect(container.bundleIdentifier, is: "org.example.notes")
      expect(
        try Scratch.contents(of: container.containerRootDirectory),
        is: ["Documents": "/", "Documents/note": "text", "Library": "/", "Library/Application Support": "/"])
      expect(scratch.text("container/Documents/note"), is: "text")

      try await controller.importResources(from: exported.extractedResourcesURL)
      let second = try #require(controller.importedContainer)
      expect(second.containerRootDirectory != container.containerRootDirectory)
      expect(try FileManager.default.contentsOfDirectory(atPath: second.documentsDirectory.path).isEmpty)
    }
  }

  @Test func `the export's figures are correct`() async throws {
    scratch.write("container/Documents/repeating", String(repeating: "again and again, ", count: 100_000))
    scratch.write("container/Documents/small", "x")
    scratch.write("container/Documents/directory/empty", "")
    let size = 1_700_000 + 1
    var figures = try await figures(isCompressible: true)
    expect(figures.uncompressedBytes, is: size)
    let compressed = try #require(figures.compressedBytes)
    expect(compressed < size / 100)
    expect(compressed > 0)
    expect(figures.sizeEstimate, is: 100)
    expect(figures.version, is: "7")

    figures = try await self.figures(isCompressible: false)
    expect(figures.uncompressedBytes, is: size)
    expect(figures.compressedBytes == nil)
  }

  @Test func `contents that do not shrink count with their plain size`() async throws {
    let noise = Data(try SystemRandom.bytes(600_000))
    try noise.write(to: scratch.url("container/Documents/noise"))
    let figures = try await figures(isCompressible: true)
    expect(figures.uncompressedBytes, is: 600_000)
    expect(figures.compressedBytes, is: 600_000)
  }

  private func figures(isCompressible: Bool) async throws -> AppMigrationTester.DeviceToDeviceExportProperties {
    let script = ScriptedExtension.Script(export: Self.exportDocuments, isCompressible: isCompressible)
    return try await ScriptedExtension.with(scratch, script) {
      try await AppMigrationTester(platform: .android).exportController.exportResources(request: nil).exportProperties
    }
  }

  @Test func `a request's platform and known options reach the extension`() async throws {
    let seen = Mutex<MigrationRequestWithOptions<ScriptedExtension.OptionsType>?>(nil)
    try await ScriptedExtension.with(scratch, .init(seeRequest: { request in seen.withLock { $0 = request } })) {
      let controller = try await AppMigrationTester(platform: .android).exportController
      _ = try await controller.exportResources(request: nil)
      expect(seen.withLock { $0 }?.destinationPlatform, is: .android)
      expect(seen.withLock { $0 }?.options.isEmpty, is: true)

      let request = MigrationRequestWithOptions<ScriptedExtension.OptionsType>(
        destinationPlatform: .linux, options: [.since: Data("now".utf8)])
      _ = try await controller.exportResources(request: request)
      expect(seen.withLock { $0 }?.destinationPlatform, is: .linux)
      expect(seen.withLock { $0 }?.options, is: [.since: Data("now".utf8)])

      let foreign = MigrationRequestWithOptions<ForeignOption>(
        destinationPlatform: .linux, options: [.since: Data("then".utf8), .other: Data()])
      _ = try await controller.exportResources(request: foreign)
      expect(seen.withLock { $0 }?.options, is: [.since: Data("then".utf8)])
    }
  }

  private enum ForeignOption: String, CaseIterable {
    case since
    case other
  }

  @Test func `an import's request names the app itself unless the test says otherwise`() async throws {
    let seen = Mutex<ResourcesImportRequest?>(nil)
    let script = ScriptedExtension.Script(importing: { _, request, _ in seen.withLock { $0 = request } })
    try await ScriptedExtension.with(scratch, script) {
      let controller = try await AppMigrationTester(platform: .android).importController
      try await controller.importResources(from: scratch.container)
      var request = try #require(seen.withLock { $0 })
      expect(request.sourceVersion, is: "7")
      expect(request.sourceAppIdentifier.bundleIdentifier, is: "org.example.notes")
      expect(request.sourceAppIdentifier.platform, is: .android)
      expect(request.sourceAppIdentifier.storeIdentifier, is: .googlePlay)
      try await AppMigrationTester(platform: .linux).importController.importResources(from: scratch.container)
      expect(seen.withLock { $0 }?.sourceAppIdentifier.storeIdentifier.rawValue, is: "")

      let own = ResourcesImportRequest(
        sourceAppIdentifier: MigrationAppIdentifier(
          storeIdentifier: .googlePlay, bundleIdentifier: "org.example.other", platform: .linux), sourceVersion: "1")
      try await controller.importResources(from: scratch.container, importRequest: own)
      request = try #require(seen.withLock { $0 })
      expect(request.sourceVersion, is: "1")
      expect(request.sourceAppIdentifier.bundleIdentifier, is: "org.example.other")
    }
  }

  @Test func `the importer gets the directory unchanged, and fresh groups`() async throws {
    scratch.write("group/old", "stays at the source")
    let seen = Mutex<(URL, URL)?>(nil)
    let script = ScriptedExtension.Script(importing: { url, _, _ in
      let group = try #require(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Guest.group))
      expect(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.other") == nil)
      try Data().write(to: group.appending(path: "new"))
      seen.withLock { $0 = (url, group) }
    })
    try await ScriptedExtension.with(scratch, script) {
      let controller = try await AppMigrationTester(platform: .android).importController
      let directory = scratch.url("anything")
      try await controller.importResources(from: directory)
      let (url, group) = try #require(seen.withLock { $0 })
      expect(url, is: directory)
      expect(controller.importedContainerURL(forSecurityApplicationGroupIdentifier: Guest.group), is: group)
      expect(controller.importedContainerURL(forSecurityApplicationGroupIdentifier: "group.other") == nil)
      expect(try FileManager.default.contentsOfDirectory(atPath: group.path), is: ["new"])
      expect(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Guest.group), is: scratch.group)
    }
  }

  @Test func `a passed progress follows the export, and is complete only after a success`() async throws {
    scratch.write("container/Documents/note", String(repeating: "x", count: 50))
    let (steps, next) = AsyncStream.makeStream(of: Void.self)
    let inner = Progress(totalUnitCount: 4)
    let script = ScriptedExtension.Script(
      export: { archiver, container in
        try await archiver.appendItem(at: container.documentsDirectory.appending(path: "note"))
        for await _ in steps { return }
      },
      importing: { _, _, _ in
        inner.completedUnitCount = 2
        for await _ in steps { throw CocoaError(.fileReadCorruptFile) }
      }, progress: inner)
    try await ScriptedExtension.with(scratch, script) {
      let tester = try await AppMigrationTester(platform: .android)
      let progress = Progress(totalUnitCount: 1001)
      async let export = tester.exportController.exportResources(request: nil, progress: progress)
      try await Self.wait { progress.completedUnitCount == 500 }
      next.yield()
      _ = try await export
      expect(progress.completedUnitCount, is: 1001)
      expect(progress.isFinished)

      let second = Progress(totalUnitCount: 0)
      let failing = Task {
        try await tester.importController.importResources(from: scratch.container, progress: second)
      }
      try await Self.wait { second.completedUnitCount == 49 }
      next.yield()
      await #expect(throws: CocoaError.self) { try await failing.value }
      expect(!second.isFinished)
    }
  }

  /// Foundation on Linux does not report changes of a progress.
  static func wait(_ condition: () -> Bool) async throws {
    for _ in 0..<6_000 where !condition() { try await Task.sleep(for: .milliseconds(10)) }
    try #require(condition())
  }

  @Test func `a registered status stays until it is cleared, and empties no container`() async throws {
    scratch.write("container/Documents/note")
    try await ScriptedExtension.with(scratch, .init()) {
      expect(MigrationStatus.importStatus == nil)
      let controller = try await AppMigrationTester(platform: .android).importController
      try await controller.registerImportCompletion(with: .success)
      guard case .success = MigrationStatus.importStatus else { throw CocoaError(.coderInvalidValue) }
      try await controller.registerImportCompletion(with: .failure(Failure()))
      guard case .failure(let error) = MigrationStatus.importStatus else { throw CocoaError(.coderInvalidValue) }
      let failure = error as NSError
      expect(failure.domain, is: "org.example.failure")
      expect(failure.code, is: 3)
      expect(failure.localizedDescription, is: "it did not work")
      expect(failure.userInfo["key"] as? String == "value")
      MigrationStatus.clearImportStatus()
      expect(MigrationStatus.importStatus == nil)
    }
    expect(scratch.text("container/Documents/note"), is: "content")
    expect(MigrationStatus.importStatus == nil)
  }

  private struct Failure: CustomNSError, LocalizedError {
    static let errorDomain = "org.example.failure"
    let errorCode = 3
    var errorUserInfo: [String: Any] { ["key": "value", "number": 1] }
    let errorDescription: String? = "it did not work"
  }

  @Test func `the testers' files are removed with their configuration`() async throws {
    scratch.write("container/Documents/note")
    let urls = try await ScriptedExtension.with(scratch, .init(export: Self.exportDocuments)) {
      let exported = try await AppMigrationTester(platform: .android).exportController.exportResources(request: nil)
      let controller = try await AppMigrationTester(platform: .android).importController
      try await controller.importResources(from: exported.extractedResourcesURL)
      let urls = [exported.extractedResourcesURL, controller.importedContainer!.containerRootDirectory]
      expect(urls.allSatisfy { FileManager.default.fileExists(atPath: $0.path) })
      return urls
    }
    expect(!urls.contains { FileManager.default.fileExists(atPath: $0.path) })
  }

  @Test func `many testers work in parallel, each with its own data`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let scratch = try Scratch.withContainer()
          scratch.write("container/Documents/note", "text \(number)")
          let script = ScriptedExtension.Script(export: Self.exportDocuments, importing: Self.importDocuments)
          try await ScriptedExtension.with(scratch, script) {
            let tester = try await AppMigrationTester(platform: .android)
            let controller = try await tester.importController
            let exported = try await tester.exportController.exportResources(request: nil)
            try await controller.importResources(from: exported.extractedResourcesURL)
            let note = try #require(controller.importedContainer).documentsDirectory.appending(path: "note")
            expect(try String(contentsOf: note, encoding: .utf8), is: "text \(number)")
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `a tester without a configuration refuses several extension types`() async {
    let error = await #expect(throws: CocoaError.self) { try await AppMigrationTester(platform: .linux) }
    expect(error?.localizedDescription.contains("several migration extensions"), is: true)
  }

  @Test func `a failed export reports its reason`() async throws {
    let script = ScriptedExtension.Script(export: { _, _ in throw Failure() })
    try await ScriptedExtension.with(scratch, script) {
      let progress = Progress(totalUnitCount: 10)
      let controller = try await AppMigrationTester(platform: .android).exportController
      await #expect(throws: Failure.self) {
        try await controller.exportResources(request: nil, progress: progress)
      }
      expect(!progress.isFinished)
    }
  }

  @Test func `an extension that only imports cannot export, and the reverse`() async throws {
    try await AppMigrationTester.withConfiguration(extension: OnlyImporting.self, container: scratch.container) {
      let tester = try await AppMigrationTester(platform: .android)
      await #expect(throws: CocoaError.self) { try await tester.exportController }
      try await tester.importController.importResources(from: scratch.container)
    }
    try await AppMigrationTester.withConfiguration(extension: OnlyExporting.self, container: scratch.container) {
      let tester = try await AppMigrationTester(platform: .android)
      await #expect(throws: CocoaError.self) { try await tester.importController }
      let request = MigrationRequest(destinationPlatform: .android)
      let result = try await tester.exportController.exportResources(request: request)
      expect(result.exportProperties.uncompressedBytes, is: 0)
    }
  }
}

struct OnlyImporting: ResourcesImporting {
  func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
}

final class OnlyExporting: ResourcesExporting {
  init() {}
  func exportResources(to archiver: sending ResourcesArchiver, request: MigrationRequest) async throws {}
  var resourcesSizeEstimate: Int { get async { 0 } }
  var resourcesVersion: String { "1" }
  var resourcesCompressible: Bool { true }
}
