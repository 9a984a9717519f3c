internal import MigrationCredentials
internal import Synchronization

/// What the controllers of one tester share.
final class TesterSession: Sendable {
  let configuration: TesterConfiguration
  /// What the other device is.
  let platform: MigrationPlatform
  /// The version of the last export.
  let exportedVersion = Mutex<String?>(nil)

  init(_ configuration: TesterConfiguration, platform: MigrationPlatform) {
    self.configuration = configuration
    self.platform = platform
  }

  /// A fresh directory that stays as long as what this tester was configured with, so that tests may keep mere URLs.
  func directory() throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    configuration.keepsakes.keep(directory)
    return directory
  }

  /// Makes the extension, and lets it do something where it finds these surroundings.
  func run<Result: Sendable>(
    in surroundings: Surroundings, _ body: @Sendable (any AppMigrationExtension) async throws -> Result
  ) async throws -> Result {
    let type = configuration.type
    return try await Surroundings.$ofTester.withValue(surroundings) {
      // An extension has no credentials.
      try await CredentialConnection.$ofTask.withValue(CredentialConnection.none) {
        // The author's code may block here as it may in a process of its own.
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
