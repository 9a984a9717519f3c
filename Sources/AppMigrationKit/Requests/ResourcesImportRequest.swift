/// Where the data of an import comes from.
public struct ResourcesImportRequest: Sendable {
  /// The app that exported it.
  public let sourceAppIdentifier: MigrationAppIdentifier
  /// The `resourcesVersion` of its exporter.
  public let sourceVersion: String

  /// Makes a request; only tests need to.
  public init(sourceAppIdentifier: MigrationAppIdentifier, sourceVersion: String) {
    self.sourceAppIdentifier = sourceAppIdentifier
    self.sourceVersion = sourceVersion
  }
}
