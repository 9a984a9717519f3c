internal import MigrationCredentials

/// Runs an app's migration extension within a unit test, as the system would.
///
/// Apple's tester finds the extension in the app that hosts the test. Here there is no such app: `withConfiguration` says
/// which type is tested, and where its app's data is; `configure` says the same for a whole process; without either, the
/// environment does, so that sources need not: `PEER_TEST_CONTAINER` (a path), `PEER_TEST_GROUPS` (`ID=PATH`, with colons in
/// between), `PEER_TEST_BUNDLE_IDENTIFIER`, and `PEER_TEST_EXTENSION`, a type's name, where the test's program has several. What
/// nothing says is the one extension type that the program has, and an empty container. All of this may go on in many tests at
/// once.
///
/// For every configuration, `PEER_TEST_STORE` is the store that an import's data comes from unless the test says so, and
/// `PEER_TEST_IDLE_LIMIT` says for how many seconds an exporter may append nothing, or `off`.
public actor AppMigrationTester {
  private let configuration: TesterConfiguration
  private let session: TesterSession

  /// Prepares a test.
  ///
  /// Throws a `CocoaError` if it is not clear which extension is meant, and in a process that is no test's: one that has
  /// neither XCTest nor Testing.
  /// - Parameter platform: what the other device is.
  public init(platform: MigrationPlatform) async throws {
    guard TestProcess.isOne else {
      throw CocoaError(
        .featureUnsupported,
        "AppMigrationTester is for tests, and this process has neither XCTest nor Testing; apps are migrated by peer")
    }
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
  /// and `MigrationStatus` answer accordingly within `body`. The files that testers wrote are removed after it.
  ///
  /// A process has one `UserDefaults` suite for each group. Configurations that have a group in common therefore run one after
  /// the other, and each begins with empty defaults. A configuration inside `body` shares the groups that both have. A detached
  /// task that `body` waits for must not configure one of them: both would wait for each other.
  /// - Parameters:
  ///   - type: the extension's type.
  ///   - container: the app's container, which exports read. It is not written to.
  ///   - groups: the containers of the app's groups.
  ///   - bundleIdentifier: the app's own name for itself.
  ///   - credentials: what the app finds by the modules Security and AuthenticationServices; nothing without it. The
  ///     extension finds nothing in any case: it gets `errSecNotAvailable`, as on a device.
  ///   - body: makes testers and uses them.
  public static func withConfiguration<Result>(
    extension type: any AppMigrationExtension.Type, container: URL, groups: [String: URL] = [:],
    bundleIdentifier: String = "org.example.app", credentials: Credentials? = nil,
    _ body: () async throws -> Result
  ) async rethrows -> Result {
    let configuration = TesterConfiguration(
      type, bundleIdentifier: bundleIdentifier, container: container, groups: groups)
    return try await SharedPreferences.holding(groups.keys) {
      try await TesterConfiguration.$ofTask.withValue(configuration) {
        try await Surroundings.$ofTester.withValue(configuration.surroundings) {
          try await (credentials ?? Credentials(ofApp: bundleIdentifier)).asApp(body)
        }
      }
    }
  }

  /// Lets all testers of this process test this extension, but those within `withConfiguration`.
  ///
  /// Added here; Apple's framework has no such method. The defaults of the groups are emptied. The parameters are those of `withConfiguration`.
  public static func configure(
    extension type: any AppMigrationExtension.Type, container: URL, groups: [String: URL] = [:],
    bundleIdentifier: String = "org.example.app", credentials: Credentials? = nil
  ) {
    SharedPreferences.empty(groups.keys)
    CredentialConnection.ofProcess = (credentials ?? Credentials(ofApp: bundleIdentifier)).connectionOfApp
    TesterConfiguration.ofProcess = TesterConfiguration(
      type, bundleIdentifier: bundleIdentifier, container: container, groups: groups)
  }
}
