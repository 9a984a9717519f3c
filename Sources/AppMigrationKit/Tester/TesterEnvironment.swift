internal import MigrationHost
internal import MigrationSystem

/// The test's configuration in the environment, for sources without one, such as those for Apple's
/// tester.
struct TesterEnvironment: Sendable {
  /// The variables' names.
  enum Name {
    static let container = "PEER_TEST_CONTAINER"
    static let groups = "PEER_TEST_GROUPS"
    static let bundleIdentifier = "PEER_TEST_BUNDLE_IDENTIFIER"
    static let type = "PEER_TEST_EXTENSION"
    static let store = "PEER_TEST_STORE"
    static let idleLimit = "PEER_TEST_IDLE_LIMIT"
  }

  /// The app's container; nil for an empty container.
  let container: URL?
  let groups: [String: URL]
  let bundleIdentifier: String
  /// The name of the extension's type; nil if there is only one.
  let type: String?
  /// The store of an import's data; nil for the usual store of its platform.
  let store: String?
  /// The time in which an exporter may append nothing.
  let idleLimit: IdleLimit

  /// Reads the environment; throws a `CocoaError` that names the variable.
  init(_ get: (String) -> String? = Environment.get) throws(CocoaError) {
    container = try get(Name.container).map { path throws(CocoaError) in try Self.directory(path, Name.container) }
    var groups: [String: URL] = [:]
    for entry in (get(Name.groups) ?? "").split(separator: ":") {
      let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else {
        throw CocoaError(.featureUnsupported, "\(Name.groups) has \"\(entry)\", but must be ID=PATH:ID=PATH")
      }
      groups[parts[0]] = try Self.directory(parts[1], Name.groups)
    }
    self.groups = groups
    bundleIdentifier = get(Name.bundleIdentifier) ?? AppMigrationTester.defaultBundleIdentifier
    type = get(Name.type)
    store = get(Name.store)
    idleLimit = try Self.limit(get(Name.idleLimit))
  }

  private static func directory(_ path: String, _ name: String) throws(CocoaError) -> URL {
    let url = URL(filePath: path, directoryHint: .notDirectory).absoluteURL
    guard FileContent.isDirectory(Array(url.path.utf8)) else {
      throw CocoaError(.fileReadNoSuchFile, "\(name) names \"\(path)\", which is not a directory", path: path)
    }
    return url
  }

  private static func limit(_ text: String?) throws(CocoaError) -> IdleLimit {
    switch text {
    case nil: return .standard
    case "off": return .off
    case let text?:
      guard let seconds = Double(text), seconds > 0, seconds.isFinite else {
        throw CocoaError(.featureUnsupported, "\(Name.idleLimit) is \"\(text)\", but must be seconds or off")
      }
      return .seconds(seconds)
    }
  }
}
