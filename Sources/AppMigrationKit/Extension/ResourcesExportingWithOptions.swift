/// An extension that exports its app's data, and lets the other device ask for variants of it.
///
/// Authors without options adopt `ResourcesExporting`.
public protocol ResourcesExportingWithOptions: AppMigrationExtension {
  /// The options that the extension knows. Other options that the other device asks for are
  /// dropped.
  associatedtype OptionsType: CaseIterable, Hashable, RawRepresentable, Sendable where OptionsType.RawValue == String

  /// Appends all data for the other device, and returns at the end.
  ///
  /// Append items without long pauses: the system ends an export that appends nothing for 20
  /// seconds while no append is pending. Let a `CancellationError` of the archiver through.
  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequestWithOptions<OptionsType>
  ) async throws

  /// The estimated size of the export in bytes; rather a little too high than too low.
  ///
  /// The other device needs it to show progress and to check its free space.
  var resourcesSizeEstimate: Int { get async }

  /// The version of the data's format. The importer gets it as `sourceVersion`.
  var resourcesVersion: String { get }

  /// Whether the data may be compressed on its way; false if compression would only cost time.
  var resourcesCompressible: Bool { get }
}
