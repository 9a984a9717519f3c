/// An extension that exports its app's data, and lets the other device ask for variants of it.
///
/// Authors without options adopt `ResourcesExporting`.
public protocol ResourcesExportingWithOptions: AppMigrationExtension {
  /// The options that the extension knows. One that the other device asks for and that is not among them is dropped.
  associatedtype OptionsType: CaseIterable, Hashable, RawRepresentable, Sendable where OptionsType.RawValue == String

  /// Appends everything that is to arrive on the other device, and returns when that is done.
  ///
  /// Items are to be appended without long pauses: an export that appends nothing for 20 seconds, while nothing keeps it
  /// waiting, is ended and given up. A `CancellationError` that the archiver throws is to be let through.
  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequestWithOptions<OptionsType>
  ) async throws

  /// About how many bytes the export will come to; rather a little too many than too few.
  ///
  /// The other device shows its progress by it, and checks its free space.
  var resourcesSizeEstimate: Int { get async }

  /// The version of the data's format, which the importer is given as `sourceVersion`.
  var resourcesVersion: String { get }

  /// Whether the data may be compressed on its way; false where that would only cost time.
  var resourcesCompressible: Bool { get }
}
