@_exported public import Foundation

/// An extension that moves its app's data to or from another device.
///
/// Its abilities follow from the other protocols that its type adopts: `ResourcesExporting` (or
/// `ResourcesExportingWithOptions`), `ResourcesImporting`, or both.
public protocol AppMigrationExtension: AppExtension, Sendable {
  /// The place of the containing app's data.
  var appContainer: MigrationDataContainer { get }
}

extension AppMigrationExtension {
  /// The container that `peer` grants to this process, or that a tester configured for this task.
  ///
  /// In a process that has neither, reading this property ends the program.
  public var appContainer: MigrationDataContainer {
    guard let surroundings = AppSurroundings.current else {
      preconditionFailure(
        "an extension has an app's container only when peer starts it, or within AppMigrationTester.withConfiguration")
    }
    return surroundings.container
  }

  /// The configuration of migration extensions.
  @MainActor public var configuration: some AppExtensionConfiguration { MigrationExtensionConfiguration() }

  /// Runs the extension's process: serves the system's requests until there are no more.
  ///
  /// Does not return. If another program than `peer` started the process, it says so on standard
  /// error and exits with 2.
  public static func main() throws { ExtensionService.run(Self.self) }
}

/// The empty configuration.
private struct MigrationExtensionConfiguration: AppExtensionConfiguration {}

/// A program that a system starts for an app, for one purpose.
///
/// Apple's platforms have this protocol in ExtensionFoundation. Here it comes with the only kind of
/// extension.
public protocol AppExtension {
  /// The extension's configuration.
  associatedtype Configuration: AppExtensionConfiguration

  /// Makes the extension. Its process makes it once, on the main actor, before the process reports
  /// its abilities.
  ///
  /// A device asks for these abilities before it lets another device send data. The extension
  /// cannot change the app's data at that time.
  @MainActor @preconcurrency init()

  /// This extension's configuration.
  @MainActor @preconcurrency var configuration: Configuration { get }

  /// Runs the extension's process. An extension gets this method from the protocol that it adopts;
  /// its author adds `@main`.
  static func main() throws
}

/// The configuration of an extension. A migration extension has no choices.
public protocol AppExtensionConfiguration {}

/// An extension that exports its app's data and has no options.
public protocol ResourcesExporting: ResourcesExportingWithOptions
where OptionsType == MigrationDefaultSupportedOptions {}

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

/// An extension that imports the data from its app on another device.
public protocol ResourcesImporting: AppMigrationExtension {
  /// Puts the received data into the app's container, which is empty except for `Documents` and
  /// `Library/Application Support`.
  ///
  /// It may move items out of the directory. If it throws, the system empties the app's container,
  /// but not the containers of the app's groups. An importer that writes to groups removes its own
  /// data there before it throws.
  /// - Parameters:
  ///   - url: the directory with all exported items, under the paths that the exporter chose.
  ///   - request: the source of the data.
  func importResources(at url: URL, request: ResourcesImportRequest) async throws

  /// The progress of the import. The system reads it before the import begins, and then a few times
  /// a second.
  ///
  /// Return one progress from a stored property, or a new one each time with the counts of the
  /// moment. If the property returns different objects and none moves, the system shows the first
  /// progress that the import makes by `Progress(totalUnitCount:)` in its own task. It does not see
  /// a progress that is made on the main actor.
  var resourcesImportProgress: Progress { get }
}

extension ResourcesImporting {
  /// A progress that does not move until the system completes it. Apple's framework requires the
  /// property.
  public var resourcesImportProgress: Progress { WatchedImport.NoProgress(totalUnitCount: 1) }
}

/// Authors import only AppMigrationKit, and use URL, FileManager, Progress and similar types in the
/// same file.
