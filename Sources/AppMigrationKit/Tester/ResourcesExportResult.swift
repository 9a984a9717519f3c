extension AppMigrationTester {
  /// The result of an export in a test.
  public struct ResourcesExportResult: Sendable {
    /// A directory with all exported items, in the form that an importer gets.
    ///
    /// It stays until the `withConfiguration` around it ends; without one, until the process ends.
    public let extractedResourcesURL: URL
    /// The export's figures.
    public let exportProperties: DeviceToDeviceExportProperties
  }

  /// The figures of an export in a test.
  public struct DeviceToDeviceExportProperties: Sendable {
    /// The bytes of the contents of all exported files; names, directories and links do not count.
    public let uncompressedBytes: Int
    /// The size of those bytes in transit; nil if the extension forbids compression.
    ///
    /// Contents are compressed frame by frame, and a frame that does not shrink counts with its
    /// plain size. The value is therefore never more than `uncompressedBytes`, and equal to it if
    /// this machine lacks libzstd.
    public let compressedBytes: Int?
    /// The extension's estimate before the export.
    public let sizeEstimate: Int
    /// The extension's `resourcesVersion`.
    public let version: String
  }
}
