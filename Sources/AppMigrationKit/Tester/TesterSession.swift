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

  /// The items that an exporter may append in a test: those in its app's container, in the containers
  /// of its groups, in its directory for temporary files, and in its own bundle. On a device the
  /// sandbox denies all other items.
  struct AppendableArea: Sendable {
    private let roots: [[UInt8]]

    /// The reach of an extension with these surroundings.
    init(
      _ surroundings: AppSurroundings, temporary: URL = FileManager.default.temporaryDirectory,
      bundle: URL = Bundle.main.bundleURL
    ) {
      let places = [surroundings.container.containerRootDirectory, temporary, bundle] + surroundings.groups.values
      roots = places.compactMap { place in
        // A missing directory has no items to append.
        guard let bytes = try? place.fileSystemBytes() else { return nil }
        return try? Self.directory(bytes)
      }
    }

    /// Opens the item at a path, through all links on the way to it; throws the `CocoaError` that the
    /// sandbox would cause.
    func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem {
      let item = try AppendableItem(opening: path)
      let isCovered: Bool
      do throws(SystemError) {
        switch item {
        case .open(let descriptor): isCovered = covers(try Self.place(descriptor.raw))
        case .symbolicLink: isCovered = covers(try Self.directory(FileContent.split(path).0))
        }
      } catch {
        throw CocoaError(reading: path, error)
      }
      guard isCovered else {
        throw CocoaError(reading: path, SystemError(errno: EACCES, operation: "open"))
      }
      return item
    }

    private func covers(_ place: [UInt8]) -> Bool {
      roots.contains { root in
        place == root || root == [UInt8(ascii: "/")] || place.starts(with: root + [UInt8(ascii: "/")])
      }
    }

    /// The path of a directory, without links.
    private static func directory(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
      let directory = try SharedDirectory(Directory.open(path))
      return try withExtendedLifetime(directory) { () throws(SystemError) in try place(directory.directory.raw) }
    }

    /// The path of an open file, without links.
    private static func place(_ descriptor: CInt) throws(SystemError) -> [UInt8] {
      try Directory.open("/proc/self/fd").readLink("\(descriptor)")
    }
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
