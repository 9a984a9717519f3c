import AppMigrationKit

/// An extension in a target whose declarations belong to the main actor by default.
public struct SettingsExtension: ResourcesExporting, ResourcesImporting {
  public init() {}

  public func exportResources(to archiver: sending ResourcesArchiver, request: MigrationRequest) async throws {
    try await archiver.appendItem(at: appContainer.applicationSupportDirectory.appending(path: "settings.json"))
  }

  public var resourcesSizeEstimate: Int { get async { 4_096 } }
  public var resourcesVersion: String { "1" }
  public var resourcesCompressible: Bool { true }

  public func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    let name = "settings.json"
    try FileManager.default.copyItem(
      at: url.appending(path: name), to: appContainer.applicationSupportDirectory.appending(path: name))
  }
}
