extension AppMigrationTester {
  /// What an export in a test came to.
  public struct ResourcesExportResult: Sendable {
    /// A directory with everything that was exported, as an importer would be given it.
    ///
    /// It stays until the `withConfiguration` that it was made in ends; without one, as long as the process.
    public let extractedResourcesURL: URL
    /// The export's figures.
    public let exportProperties: DeviceToDeviceExportProperties
  }

  /// The figures of an export in a test.
  public struct DeviceToDeviceExportProperties: Sendable {
    /// The bytes of the contents of all exported files; names, directories and links count nothing.
    public let uncompressedBytes: Int
    /// What those bytes come to on their way; nil if the extension says that they are not to be compressed.
    ///
    /// Contents are compressed frame by frame, and a frame that does not shrink is counted as it is, so that this is never
    /// more than `uncompressedBytes`. It is as much where this machine lacks libzstd.
    public let compressedBytes: Int?
    /// What the extension estimated before.
    public let sizeEstimate: Int
    /// The extension's `resourcesVersion`.
    public let version: String
  }
}
