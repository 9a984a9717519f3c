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
    guard let surroundings = Surroundings.current else {
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
  public static func main() throws { ExtensionProcess.run(Self.self) }
}

/// The empty configuration.
private struct MigrationExtensionConfiguration: AppExtensionConfiguration {}
