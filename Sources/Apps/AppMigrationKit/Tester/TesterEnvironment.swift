internal import MigrationCredentials
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

extension AppMigrationTester {
  /// The items of an app and its clip in the modules Security and AuthenticationServices, in
  /// memory, for tests.
  ///
  /// One test can run as the clip first and then as the app. Added here; Apple's framework has no
  /// such type.
  public final class Credentials: Sendable {
    private let memory = MemoryCredentials()
    private let app: CredentialOwner
    private let clip: CredentialOwner?

    /// Makes an empty store for an app without a clip.
    /// - Parameter app: the app's identifier.
    public init(ofApp app: String) {
      self.app = CredentialOwner(app: app)
      clip = nil
    }

    /// Makes an empty store for an app and its clip.
    ///
    /// Throws a `CocoaError` unless the clip's identifier is the app's, a dot, and more.
    /// - Parameters:
    ///   - app: the app's identifier.
    ///   - clip: the clip's identifier. Each names the other in its entitlements.
    public init(ofApp app: String, clip: String) throws {
      guard let owner = CredentialOwner(clip: clip, of: app) else {
        throw CocoaError(
          .featureUnsupported, "\"\(clip)\" is not a clip of \"\(app)\": it must be \"\(app).\" and more")
      }
      self.app = CredentialOwner(app: app)
      self.clip = owner
    }

    /// Runs `body` as the app.
    public func asApp<Result>(_ body: () async throws -> Result) async rethrows -> Result {
      try await CredentialConnection.$ofTask.withValue(connectionOfApp) { try await body() }
    }

    /// Runs `body` as the clip, or as the app if there is no clip.
    public func asClip<Result>(_ body: () async throws -> Result) async rethrows -> Result {
      try await CredentialConnection.$ofTask.withValue(connection(CredentialPrincipal(owner: clip ?? app))) {
        try await body()
      }
    }

    /// Records for the app, or for its clip, that a user is authorized, as `peer account authorize`
    /// does.
    public func authorize(_ user: String, forClip: Bool = false) { record(.authorized, user, forClip) }

    /// Records that a user's sign-in is revoked, as `peer account revoke` does.
    public func revoke(_ user: String, forClip: Bool = false) { record(.revoked, user, forClip) }

    private func record(_ state: AccountState, _ user: String, _ forClip: Bool) {
      memory.record(state, of: user, for: forClip ? clip ?? app : app)
    }

    var connectionOfApp: CredentialConnection { connection(CredentialPrincipal(owner: app, clip: clip)) }

    private func connection(_ principal: CredentialPrincipal) -> CredentialConnection {
      .memory(CredentialService(for: principal, storage: memory))
    }
  }
}
