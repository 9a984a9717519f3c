internal import MigrationCredentials

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
