internal import MigrationCredentials
internal import MigrationSystem

/// The state that the controllers of one tester share.
final class TesterSession: Sendable {
  let configuration: TesterConfiguration
  /// The other device's platform.
  let platform: MigrationPlatform
  /// The version of the last export.
  let exportedVersion = Mutex<String?>(nil)

  init(_ configuration: TesterConfiguration, platform: MigrationPlatform) {
    self.configuration = configuration
    self.platform = platform
  }

  /// A fresh directory that stays as long as this tester's configuration, so that tests can keep
  /// only URLs.
  func directory() throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    configuration.keepsakes.keep(directory)
    return directory
  }

  /// Makes the extension, and runs it in these surroundings.
  func run<Result: Sendable>(
    in surroundings: Surroundings, _ body: @Sendable (any AppMigrationExtension) async throws -> Result
  ) async throws -> Result {
    let type = configuration.type
    return try await Surroundings.$ofTester.withValue(surroundings) {
      // An extension has no credentials.
      try await CredentialConnection.$ofTask.withValue(CredentialConnection.none) {
        // The author's code may block here, as in an extension's process.
        try await withTaskExecutorPreference(BlockingExecutor.shared) {
          try await body(await Self.make(type))
        }
      }
    }
  }

  @MainActor private static func make(_ type: any AppMigrationExtension.Type) -> any AppMigrationExtension {
    type.init()
  }
}
