/// An extension that moves its app's data to or from another device.
///
/// What it can do follows from the protocols that its type adopts besides: `ResourcesExporting` (or
/// `ResourcesExportingWithOptions`), `ResourcesImporting`, or both.
public protocol AppMigrationExtension: AppExtension, Sendable {
  /// Where the containing app keeps its data.
  var appContainer: MigrationDataContainer { get }
}

extension AppMigrationExtension {
  /// The container that `peer` grants to this process, or the one that a tester set up for this task.
  ///
  /// In a process that has neither, asking for it ends the program.
  public var appContainer: MigrationDataContainer {
    guard let surroundings = Surroundings.current else {
      preconditionFailure(
        "an extension has an app's container only when peer starts it, or within AppMigrationTester.withConfiguration")
    }
    return surroundings.container
  }

  /// How migration extensions are configured.
  @MainActor public var configuration: some AppExtensionConfiguration { MigrationExtensionConfiguration() }

  /// Runs the extension's process: serves the system's requests until there are no more.
  ///
  /// Does not return. Started by anything but `peer`, it says so on standard error and exits with 2.
  public static func main() throws { ExtensionProcess.run(Self.self) }
}

/// There is nothing to configure.
private struct MigrationExtensionConfiguration: AppExtensionConfiguration {}
