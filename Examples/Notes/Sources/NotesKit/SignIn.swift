import AppMigrationKit
import AuthenticationServices
import Security

/// The user's sign-in to the notes' own service, for the app and for its clip: the user's
/// identifier is in the group's defaults, and the secret is among the credentials.
public struct SignIn {
  /// Whether this program is the app or the clip. The case's name is the label of the program's
  /// items.
  public enum Program: String, Sendable {
    case app
    case clip
  }

  private static let service = "notes.example.org"
  private static let userKey = "user"

  private let program: Program
  private let defaults = UserDefaults(suiteName: NotesFiles.groupIdentifier)

  public init(of program: Program) { self.program = program }

  /// The identifier that the service has for the user; nil before the first sign-in.
  public var user: String? { defaults?.string(forKey: Self.userKey) }

  /// Whether the user is still authorized.
  public var isAuthorized: Bool {
    get async throws {
      guard let user else { return false }
      return try await ASAuthorizationAppleIDProvider().credentialState(forUserID: user) == .authorized
    }
  }

  /// Stores the identifier and the secret that the service has given the user.
  public func begin(user: String, secret: String) throws {
    try keep(Data(secret.utf8), of: user)
    defaults?.set(user, forKey: Self.userKey)
  }

  /// The user's secret, which is this program's own item from now on; nil if there is none.
  ///
  /// People install and remove programs in any order, so an earlier secret of the app and the
  /// clip's secret may both exist. The newest one counts. The clip's secret is removed once the app
  /// has its own.
  public func takeSecret() throws -> String? {
    guard let user else { return nil }
    var query = Self.query(user)
    query[kSecMatchLimit as String] = kSecMatchLimitAll
    query[kSecReturnAttributes as String] = true
    query[kSecReturnData as String] = true
    var result: AnyObject?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    if status == errSecItemNotFound { return nil }
    guard status == errSecSuccess, let copies = result as? [[String: Any]] else { throw NotesError.credentials(status) }
    let newest = copies.max { Self.date(of: $0) < Self.date(of: $1) }
    guard let newest, let secret = newest[kSecValueData as String] as? Data else { return nil }
    if newest[kSecAttrLabel as String] as? String != program.rawValue { try keep(secret, of: user) }
    if program == .app {
      var ofClip = Self.query(user)
      ofClip[kSecAttrLabel as String] = Program.clip.rawValue
      SecItemDelete(ofClip as CFDictionary)
    }
    return String(decoding: secret, as: UTF8.self)
  }

  /// Stores a secret as this program's own item, and replaces an earlier one.
  private func keep(_ secret: Data, of user: String) throws {
    let own: [String: Any] = [kSecAttrLabel as String: program.rawValue, kSecValueData as String: secret]
    var status = SecItemAdd(Self.query(user).merging(own) { $1 } as CFDictionary, nil)
    if status == errSecDuplicateItem { status = SecItemUpdate(Self.query(user) as CFDictionary, own as CFDictionary) }
    guard status == errSecSuccess else { throw NotesError.credentials(status) }
  }

  private static func query(_ user: String) -> [String: Any] {
    [
      kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
      kSecAttrAccount as String: user,
    ]
  }

  private static func date(of copy: [String: Any]) -> Date {
    copy[kSecAttrModificationDate as String] as? Date ?? .distantPast
  }
}
