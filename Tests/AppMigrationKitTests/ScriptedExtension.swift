import MigrationHost
import TestSupport

@testable import AppMigrationKit

/// An extension that runs a test's script.
struct ScriptedExtension: ResourcesExportingWithOptions, ResourcesImporting {
  enum OptionsType: String, CaseIterable {
    case since
  }

  /// The extension's work, and its description of itself.
  struct Script: Sendable {
    var export: @Sendable (sending ResourcesArchiver, MigrationDataContainer) async throws -> Void = { _, _ in }
    var seeRequest: @Sendable (MigrationRequestWithOptions<OptionsType>) -> Void = { _ in }
    var importing: @Sendable (URL, ResourcesImportRequest, MigrationDataContainer) async throws -> Void = { _, _, _ in }
    var progress = Progress(totalUnitCount: 4)
    var estimate = 100
    var isCompressible = true
  }

  @TaskLocal static var script = Script()

  /// Runs `body` with testers for this script, in a scratch directory's container.
  ///
  /// - Parameter limit: the time in which the script may append nothing. Scripts wait for their
  ///   tests, which other tests may delay.
  static func with<Result>(
    _ scratch: Scratch, _ script: Script, limit: IdleLimit = .off, _ body: () async throws -> Result
  ) async throws -> Result {
    try await TesterConfiguration.$idleLimitOfTask.withValue(limit) {
      try await $script.withValue(script) {
        try await AppMigrationTester.withConfiguration(
          extension: Self.self, container: scratch.container, groups: [Guest.group: scratch.group],
          bundleIdentifier: "org.example.notes", body)
      }
    }
  }

  /// Exports by a script; returns the extracted items.
  static func export(
    _ scratch: Scratch,
    _ export: @escaping @Sendable (sending ResourcesArchiver, MigrationDataContainer) async throws -> Void
  ) async throws -> [String: String] {
    try await with(scratch, Script(export: export)) {
      let tester = try await AppMigrationTester(platform: .android)
      let result = try await tester.exportController.exportResources(request: nil)
      return try Scratch.contents(of: result.extractedResourcesURL)
    }
  }

  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequestWithOptions<OptionsType>
  ) async throws {
    Self.script.seeRequest(request)
    try await Self.script.export(archiver, appContainer)
  }

  var resourcesSizeEstimate: Int { get async { Self.script.estimate } }
  var resourcesVersion: String { "7" }
  var resourcesCompressible: Bool { Self.script.isCompressible }

  func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    try await Self.script.importing(url, request, appContainer)
  }

  var resourcesImportProgress: Progress { Self.script.progress }
}
