internal import MigrationCredentials
internal import MigrationHost
internal import MigrationSystem

/// The extension under test, and the places of its app's data.
struct TesterConfiguration: Sendable {
  let type: any AppMigrationExtension.Type
  let surroundings: AppSurroundings
  /// The store of an import's data; nil for the usual store of its platform.
  var store: String?
  /// Whether the app has no data, since the test named no container.
  var isEmpty = false
  /// The time in which an exporter may append nothing.
  var idleLimit: IdleLimit { Self.idleLimitOfTask ?? environmentsLimit }
  private var environmentsLimit = IdleLimit.standard
  /// The testers' files, which stay as long as this configuration.
  let kept = Condition<[TemporaryDirectory]>([])

  /// The configuration of the current task.
  @TaskLocal static var ofTask: TesterConfiguration?

  /// A different limit for this task, in tests of the tester.
  @TaskLocal static var idleLimitOfTask: IdleLimit?

  /// The configuration of the whole process; the testers' files are removed with it.
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
    surroundings = AppSurroundings(
      container: MigrationDataContainer(bundleIdentifier: bundleIdentifier, root: container), groups: groups,
      status: StatusMemory())
  }

  /// The configuration of the current task, or one from the environment and the process's extension
  /// types.
  static func current() throws -> TesterConfiguration {
    let environment = try TesterEnvironment()
    if var configuration = ofTask ?? ofProcess {
      configuration.heed(environment)
      return configuration
    }
    let type = try Self.onlyExtensionType(of: Self.extensionTypes(), named: environment.type)
    let directory = try TemporaryDirectory()
    var configuration = TesterConfiguration(
      type, bundleIdentifier: environment.bundleIdentifier,
      container: try environment.container ?? directory.container("app"), groups: environment.groups)
    configuration.heed(environment)
    configuration.isEmpty = environment.container == nil
    configuration.kept.withLock { $0.append(directory) }
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

  /// Applies the environment's store and limit, which hold for all configurations.
  private mutating func heed(_ environment: TesterEnvironment) {
    store = environment.store
    environmentsLimit = environment.idleLimit
  }

  /// The surroundings of an app's code in a test without a configuration, also before the first
  /// tester; nil if the environment has none either.
  static var surroundingsOfProcess: AppSurroundings? {
    if let configuration = ofProcess { return configuration.surroundings }
    guard TestProcess.isOne, let environment = try? TesterEnvironment(),
      environment.container != nil || !environment.groups.isEmpty
    else { return nil }
    return (try? current())?.surroundings
  }

  /// An error of an exporter, with advice if it found no data in an empty container.
  func explaining(_ error: any Error) -> any Error {
    guard isEmpty, let cocoa = error as? CocoaError, cocoa.code == .fileReadNoSuchFile || cocoa.code == .fileNoSuchFile
    else { return error }
    var entries = (error as NSError).userInfo
    entries[NSUnderlyingErrorKey] = error
    entries[NSLocalizedDescriptionKey] =
      "\(cocoa.localizedDescription) The app's container is empty, since this test names none: see "
      + "AppMigrationTester.withConfiguration, or name it in \(TesterEnvironment.Name.container)."
    return CocoaError(cocoa.code, userInfo: entries)
  }

  /// The status of an app under test.
  final class StatusMemory: StatusKeeping {
    private let record = Mutex<ImportRecord?>(nil)

    func read() -> MigrationStatus? { record.withLock { $0 }.map { MigrationStatus($0) } }
    func clear() { record.withLock { $0 = nil } }
    func write(_ new: ImportRecord) { record.withLock { $0 = new } }
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

extension TesterConfiguration {
  /// All types of this program that are migration extensions, except generic types.
  static func extensionTypes() -> [any AppMigrationExtension.Type] {
    var types: [any AppMigrationExtension.Type] = []
    var seen: Set<ObjectIdentifier> = []
    for found in ConformingTypes.all(of: "AppMigrationExtension", in: "AppMigrationKit") {
      guard let type = found as? any AppMigrationExtension.Type, seen.insert(ObjectIdentifier(type)).inserted
      else { continue }
      types.append(type)
    }
    return types
  }

  /// The only one of some extension types, or the type with a name, with or without its module's name.
  /// Throws the tester's error if there is none.
  static func onlyExtensionType(
    of types: [any AppMigrationExtension.Type], named name: String? = nil
  ) throws(CocoaError) -> any AppMigrationExtension.Type {
    let advice =
      "name the tested type in AppMigrationTester.withConfiguration, or in \(TesterEnvironment.Name.type)"
    guard !types.isEmpty else {
      throw CocoaError(.featureUnsupported, "this program has no migration extension: \(advice)")
    }
    let names = { types.map { String(reflecting: $0) }.sorted().joined(separator: ", ") }
    let fitting = types.filter { name == nil || name == String(reflecting: $0) || name == String(describing: $0) }
    guard let type = fitting.first else {
      throw CocoaError(
        .featureUnsupported,
        "\(TesterEnvironment.Name.type) is \"\(name ?? "")\", and the migration extensions of this program are \(names())"
      )
    }
    guard fitting.count == 1 else {
      throw CocoaError(.featureUnsupported, "this program has several migration extensions (\(names())): \(advice)")
    }
    return type
  }
}
