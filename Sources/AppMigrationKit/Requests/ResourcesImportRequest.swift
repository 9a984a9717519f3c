/// The source of an import's data.
public struct ResourcesImportRequest: Sendable {
  /// The app that exported the data.
  public let sourceAppIdentifier: MigrationAppIdentifier
  /// The `resourcesVersion` of its exporter.
  public let sourceVersion: String

  /// Makes a request; only tests need this.
  public init(sourceAppIdentifier: MigrationAppIdentifier, sourceVersion: String) {
    self.sourceAppIdentifier = sourceAppIdentifier
    self.sourceVersion = sourceVersion
  }
}
