/// Runs an app's migration extension within a unit test, as the system would.
///
/// Apple's tester finds the extension in the app that hosts the test. Here there is no such app: `withConfiguration` says
/// which type is tested, and where its app's data is; `configure` says the same for a whole process; without either, it is
/// the one extension type that the test's program has, with an empty container. All of this may go on in many tests at once.
public actor AppMigrationTester {
  private let configuration: TesterConfiguration
  private let session: TesterSession

  /// Prepares a test.
  ///
  /// Throws a `CocoaError` if it is not clear which extension is meant.
  /// - Parameter platform: what the other device is.
  public init(platform: MigrationPlatform) async throws {
    configuration = try .current()
    session = TesterSession(configuration, platform: platform)
  }

  /// Exports; throws if the extension is no exporter.
  public var exportController: AppExportController {
    get async throws {
      guard configuration.type is any ResourcesExportingWithOptions.Type else {
        throw CocoaError(.featureUnsupported, "\(configuration.type) does not export")
      }
      return AppExportController(session)
    }
  }

  /// Imports; throws if the extension is no importer.
  public var importController: AppImportController {
    get async throws {
      guard configuration.type is any ResourcesImporting.Type else {
        throw CocoaError(.featureUnsupported, "\(configuration.type) does not import")
      }
      return AppImportController(session)
    }
  }
}

// Apple's tester needs none of this.
extension AppMigrationTester {
  /// What an app under test is called unless a test says otherwise.
  static let defaultBundleIdentifier = "org.example.app"

  /// Lets testers that are made within `body` test this extension, and this task find the app's data here.
  ///
  /// Added here; Apple's framework has no such method. `FileManager.containerURL(forSecurityApplicationGroupIdentifier:)`
  /// and `MigrationStatus` answer accordingly within `body`. What testers wrote is removed after it.
  /// - Parameters:
  ///   - type: the extension's type.
  ///   - container: the app's container, which exports read. It is not written to.
  ///   - groups: the containers of the app's groups.
  ///   - bundleIdentifier: the app's own name for itself.
  ///   - body: makes testers and uses them.
  public static func withConfiguration<Result>(
    extension type: any AppMigrationExtension.Type, container: URL, groups: [String: URL] = [:],
    bundleIdentifier: String = "org.example.app", _ body: () async throws -> Result
  ) async rethrows -> Result {
    let configuration = TesterConfiguration(
      type, bundleIdentifier: bundleIdentifier, container: container, groups: groups)
    return try await TesterConfiguration.$ofTask.withValue(configuration) {
      try await Surroundings.$ofTester.withValue(configuration.surroundings) { try await body() }
    }
  }

  /// Lets all testers of this process test this extension, but those within `withConfiguration`.
  ///
  /// Added here; Apple's framework has no such method. The parameters are those of `withConfiguration`.
  public static func configure(
    extension type: any AppMigrationExtension.Type, container: URL, groups: [String: URL] = [:],
    bundleIdentifier: String = "org.example.app"
  ) {
    TesterConfiguration.ofProcess = TesterConfiguration(
      type, bundleIdentifier: bundleIdentifier, container: container, groups: groups)
  }
}
