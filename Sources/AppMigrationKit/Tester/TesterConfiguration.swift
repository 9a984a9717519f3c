internal import MigrationCredentials
internal import MigrationHost
internal import Synchronization

/// Which extension testers test, and where it finds its app's data.
struct TesterConfiguration: Sendable {
  let type: any AppMigrationExtension.Type
  let surroundings: Surroundings
  /// The store that the data of an import comes from; nil for the usual one of its platform.
  var store: String?
  /// Whether no one said where the app's data is, so that there is none.
  var isEmpty = false
  /// For how long an exporter may append nothing.
  var idleLimit: IdleLimit { Self.idleLimitOfTask ?? environmentsLimit }
  private var environmentsLimit = IdleLimit.standard
  /// What testers made while this goes; it stays as long.
  let keepsakes = Keepsakes()

  /// What goes for the task that asks.
  @TaskLocal static var ofTask: TesterConfiguration?

  /// Another limit for this task, in tests of the tester.
  @TaskLocal static var idleLimitOfTask: IdleLimit?

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

  /// What goes for the task that asks, or what the environment and the process's extension types make of it.
  static func current() throws -> TesterConfiguration {
    let environment = try TesterEnvironment()
    if var configuration = ofTask ?? ofProcess {
      configuration.heed(environment)
      return configuration
    }
    let type = try ExtensionDiscovery.onlyType(of: ExtensionDiscovery.types(), named: environment.type)
    let directory = try TemporaryDirectory()
    var configuration = TesterConfiguration(
      type, bundleIdentifier: environment.bundleIdentifier,
      container: try environment.container ?? directory.container("app"), groups: environment.groups)
    configuration.heed(environment)
    configuration.isEmpty = environment.container == nil
    configuration.keepsakes.keep(directory)
    let registeredNow = registered.withLock { registered in
      // Another task may have been faster.
      if let registered { return registered }
      registered = configuration
      CredentialConnection.ofProcess =
        AppMigrationTester.Credentials(ofApp: environment.bundleIdentifier).connectionOfApp
      return configuration
    }
    return registeredNow
  }

  /// What the environment says of an import's source, and of the patience with an exporter, it says for all configurations.
  private mutating func heed(_ environment: TesterEnvironment) {
    store = environment.store
    environmentsLimit = environment.idleLimit
  }

  /// What the code of an app finds in a test that says nothing, before the first tester too; nil where the environment says
  /// nothing either.
  static var surroundingsOfProcess: Surroundings? {
    if let configuration = ofProcess { return configuration.surroundings }
    guard TestProcess.isOne, let environment = try? TesterEnvironment(),
      environment.container != nil || !environment.groups.isEmpty
    else { return nil }
    return (try? current())?.surroundings
  }

  /// An error of an exporter, with what to do where it found nothing in a container that is empty.
  func explaining(_ error: any Error) -> any Error {
    guard isEmpty, let cocoa = error as? CocoaError, cocoa.code == .fileReadNoSuchFile || cocoa.code == .fileNoSuchFile
    else { return error }
    var entries = (error as NSError).userInfo
    entries[NSUnderlyingErrorKey] = error
    entries[NSLocalizedDescriptionKey] =
      "\(cocoa.localizedDescription) The app's container is empty, since this test does not say where it is: see "
      + "AppMigrationTester.withConfiguration, or name it in \(TesterEnvironment.Name.container)."
    return CocoaError(cocoa.code, userInfo: entries)
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
