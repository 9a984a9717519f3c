internal import MigrationCredentials
internal import MigrationSystem

/// Runs an app's migration extension within a unit test, as the system would.
///
/// Apple's tester finds the extension in the app that hosts the test. Here no app hosts the test:
/// `withConfiguration` names the tested type and the places of its app's data. `configure` does the
/// same for a whole process.
///
/// Without either, the tester reads the environment, so that sources need no change:
/// `PEER_TEST_CONTAINER` (a path), `PEER_TEST_GROUPS` (`ID=PATH`, separated by colons),
/// `PEER_TEST_BUNDLE_IDENTIFIER`, and `PEER_TEST_EXTENSION`, a type's name, if the test's program
/// has several. The defaults are the program's only extension type and an empty container. Many
/// tests may use testers at once.
///
/// For every configuration, `PEER_TEST_STORE` is the store of an import's data unless the test
/// names a store, and `PEER_TEST_IDLE_LIMIT` is the number of seconds in which an exporter may
/// append nothing, or `off`.
public actor AppMigrationTester {
  private let configuration: TesterConfiguration
  private let session: TesterSession
  private let importing: AppImportController

  /// Prepares a test.
  ///
  /// Throws a `CocoaError` if the extension is ambiguous, and in a process that is not a test's: a
  /// process with neither XCTest nor Testing.
  /// - Parameter platform: the other device's platform.
  public init(platform: MigrationPlatform) async throws {
    guard TestProcess.isOne else {
      throw CocoaError(
        .featureUnsupported,
        "AppMigrationTester is for tests, and this process has neither XCTest nor Testing; peer migrates apps")
    }
    configuration = try .current()
    session = TesterSession(configuration, platform: platform)
    importing = AppImportController(session)
  }

  /// Exports; throws if the extension does not export.
  public var exportController: AppExportController {
    get async throws {
      guard configuration.type is any ResourcesExportingWithOptions.Type else {
        throw CocoaError(.featureUnsupported, "\(configuration.type) does not export")
      }
      return AppExportController(session)
    }
  }

  /// Imports; throws if the extension does not import. It is the same object each time, which has
  /// the result of the last import.
  public var importController: AppImportController {
    get async throws {
      guard configuration.type is any ResourcesImporting.Type else {
        throw CocoaError(.featureUnsupported, "\(configuration.type) does not import")
      }
      return importing
    }
  }

  /// The default identifier of an app under test.
  static let defaultBundleIdentifier = "org.example.app"

  /// Configures the testers that `body` makes for this extension, and this task for the app's data.
  ///
  /// Added here; Apple's framework has no such method.
  /// `FileManager.containerURL(forSecurityApplicationGroupIdentifier:)` and `MigrationStatus`
  /// answer accordingly within `body`. The files that testers wrote are removed after it.
  ///
  /// A process has one `UserDefaults` suite for each group. Configurations with groups therefore run
  /// one after the other, and each begins with empty defaults. A configuration inside `body` shares
  /// the groups that both have. A detached task that `body` waits for must not configure groups: both
  /// would wait for each other.
  /// - Parameters:
  ///   - type: the extension's type.
  ///   - container: the app's container, which exports read. Testers do not write to it.
  ///   - groups: the containers of the app's groups.
  ///   - bundleIdentifier: the app's identifier.
  ///   - credentials: the app's store for the modules Security and AuthenticationServices (default:
  ///     an empty store). The extension never has a store: it gets `errSecNotAvailable`, as on a
  ///     device.
  ///   - body: makes testers and uses them.
  public static func withConfiguration<Result>(
    extension type: any AppMigrationExtension.Type, container: URL, groups: [String: URL] = [:],
    bundleIdentifier: String = "org.example.app", credentials: Credentials? = nil,
    _ body: () async throws -> Result
  ) async rethrows -> Result {
    let configuration = TesterConfiguration(
      type, bundleIdentifier: bundleIdentifier, container: container, groups: groups)
    // Now, even if a task of the test still refers to one of them.
    defer { for directory in configuration.kept.withLock({ exchange(&$0, with: []) }) { directory.remove() } }
    return try await SharedPreferences.holding(groups.keys) {
      try await TesterConfiguration.$ofTask.withValue(configuration) {
        try await AppSurroundings.$ofTester.withValue(configuration.surroundings) {
          try await (credentials ?? Credentials(ofApp: bundleIdentifier)).asApp(body)
        }
      }
    }
  }

  /// Configures all testers of this process for this extension, except those within
  /// `withConfiguration`.
  ///
  /// Added here; Apple's framework has no such method. It empties the defaults of the groups. The
  /// parameters are those of `withConfiguration`.
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

extension AppMigrationTester {
  /// Writes a notice to the author, a sentence, to standard error.
  static func tellAuthor(_ sentence: String) { StandardStream.error.write("AppMigrationTester: \(sentence).\n") }
}
