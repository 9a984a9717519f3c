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
    configuration.kept.withLock { $0.append(directory) }
    return directory
  }

  /// Makes the extension, and runs it in these surroundings.
  func run<Result: Sendable>(
    in surroundings: AppSurroundings, _ body: @Sendable (any AppMigrationExtension) async throws -> Result
  ) async throws -> Result {
    let type = configuration.type
    return try await AppSurroundings.$ofTester.withValue(surroundings) {
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

/// A fresh directory that is removed, with its contents, with the last reference to it.
final class TemporaryDirectory: Sendable {
  /// Its path needs no percent encoding, so that authors can make paths from URLs.
  let path: String

  init() throws {
    let places = [Environment.get("TMPDIR"), "/tmp"].compactMap { $0 }
    let place = places.first { URL(directory: $0).path(percentEncoded: true) == $0 } ?? "/tmp"
    path = "\(place.last == "/" ? String(place.dropLast()) : place)/peer-tester-\(UUID().uuidString)"
    try Directory.make(path, mode: 0o700)
  }

  deinit { remove() }

  func remove() {
    let (parent, name) = FileContent.split(Array(path.utf8))
    // The system cleans its temporary directory later if this removal fails.
    try? Directory.open(parent).removeTree(ifThere: name)
  }

  /// A directory within it, made together with its parents.
  func directory(_ name: String) throws -> URL {
    _ = try Directory.openOrMake(Array("\(path)/\(name)".utf8), mode: 0o700)
    return URL(directory: "\(path)/\(name)")
  }
}
