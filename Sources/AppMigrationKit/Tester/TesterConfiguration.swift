internal import MigrationHost
internal import Synchronization

/// Which extension testers test, and where it finds its app's data.
struct TesterConfiguration: Sendable {
  let type: any AppMigrationExtension.Type
  let surroundings: Surroundings
  /// What testers made while this goes; it stays as long.
  let keepsakes = Keepsakes()

  /// What goes for the task that asks.
  @TaskLocal static var ofTask: TesterConfiguration?

  /// What goes for the whole process; what testers made goes with it.
  private static let registered: Mutex<TesterConfiguration?> = {
    atexit { TesterConfiguration.ofProcess = nil }
    return Mutex(nil)
  }()

  static var ofProcess: TesterConfiguration? {
    get { registered.withLock { $0 } }
    set { registered.withLock { $0 = newValue } }
  }

  init(_ type: any AppMigrationExtension.Type, bundleIdentifier: String, container: URL, groups: [String: URL]) {
    self.type = type
    surroundings = Surroundings(
      container: MigrationDataContainer(bundleIdentifier: bundleIdentifier, root: container), groups: groups,
      status: StatusMemory())
  }

  /// What goes for the task that asks, or what the process's one extension type makes of it.
  static func current() throws -> TesterConfiguration {
    if let configuration = ofTask ?? ofProcess { return configuration }
    let type = try ExtensionDiscovery.onlyType(of: ExtensionDiscovery.types())
    let directory = try TemporaryDirectory()
    let configuration = TesterConfiguration(
      type, bundleIdentifier: AppMigrationTester.defaultBundleIdentifier, container: try directory.container("app"),
      groups: [:])
    configuration.keepsakes.keep(directory)
    return registered.withLock { registered in
      // Another task may have been faster.
      if let registered { return registered }
      registered = configuration
      return configuration
    }
  }
}

extension TemporaryDirectory {
  /// An empty container of an app.
  func container(_ name: String) throws -> URL {
    _ = try directory("\(name)/Documents")
    _ = try directory("\(name)/Library/Application Support")
    return try directory(name)
  }
}

/// Directories that stay as long as this does.
final class Keepsakes: Sendable {
  private let directories = Mutex<[TemporaryDirectory]>([])

  func keep(_ directory: TemporaryDirectory) { directories.withLock { $0.append(directory) } }
}

/// The status of an app under test.
final class StatusMemory: StatusKeeping {
  private let record = Mutex<ImportRecord?>(nil)

  func read() -> MigrationStatus? { record.withLock { $0 }.map { MigrationStatus($0) } }
  func clear() { record.withLock { $0 = nil } }
  func write(_ new: ImportRecord) { record.withLock { $0 = new } }
}
