import AuthenticationServices
import Foundation
import Security

#if canImport(UIKit)
  import UIKit
#endif

/// The data that a clip leaves for its app, and the app's way to it: a source in the form of its
/// author on a Mac.
public struct SharedSecrets {
  public enum Failure: Error {
    case unhandled(OSStatus)
    case unexpectedData
  }

  public init() {}

  /// The clip stores the secret from its own service.
  public func leave(token: String, label: String) {
    let item: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword,
      kSecAttrAccount as String: "token",
      kSecAttrService as String: "org.example.notes",
      kSecAttrLabel as String: label,
      // An optional, passed unchanged.
      kSecValueData as String: token.data(using: .utf8) as Any,
    ]
    SecItemAdd(item as CFDictionary, nil)
  }

  /// The app reads one secret: its own if there is one, otherwise its clip's.
  public func token(label: String? = nil) throws -> (text: String, label: String)? {
    var query: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword,
      kSecAttrAccount as String: "token",
      kSecReturnAttributes as String: true,
      kSecReturnData as String: true,
      kSecMatchLimit as String: kSecMatchLimitOne,
    ]
    if let label { query[kSecAttrLabel as String] = label }
    var result: AnyObject?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    guard status != errSecItemNotFound else { return nil }
    guard status == errSecSuccess else { throw Failure.unhandled(status) }
    guard let found = result as? [String: Any], let data = found[kSecValueData as String] as? Data,
      let text = String(data: data, encoding: .utf8)
    else { throw Failure.unexpectedData }
    return (text, found[kSecAttrLabel as String] as? String ?? "")
  }

  /// All copies that the app can see, by their labels.
  public func labels() -> [String] {
    let query =
      [
        kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: kCFBooleanTrue!,
      ] as [CFString: Any]
    var result: CFTypeRef?
    guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess else { return [] }
    return (result as! [[String: Any]]).compactMap { $0[kSecAttrLabel as String] as? String }
  }

  /// Deletes a copy that the app does not need.
  public func forget(label: String) {
    let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrLabel as String: label]
    SecItemDelete(query as CFDictionary)
  }

  /// Stores a key that the author's own code made, as data.
  public func keep(key: Data) -> OSStatus {
    SecItemAdd(
      [
        kSecClass as String: kSecClassKey, kSecAttrApplicationLabel as String: "favourites",
        kSecValueData as String: key,
      ] as CFDictionary, nil)
  }

  /// Continues without another sign-in if the user's sign-in still holds.
  public func signIn(_ user: String, then show: @escaping @Sendable (String) -> Void) {
    let provider = ASAuthorizationAppleIDProvider()
    provider.getCredentialState(forUserID: user) { state, error in
      switch state {
      case .authorized: show("favourites of \(user)")
      case .revoked: show("signed out")
      case .notFound: show(error == nil ? "unknown" : "no answer")
      case .transferred: break
      @unknown default: break
      }
    }
  }

  /// Keeps the user of a sign-in's result; false for another result, or none.
  public func keep(_ authorization: ASAuthorization?) -> Bool {
    guard let credential = authorization?.credential as? ASAuthorizationAppleIDCredential else { return false }
    return keep(key: Data(credential.user.utf8)) == errSecSuccess
  }

  public func isSignedIn(_ user: String) async throws -> Bool {
    try await ASAuthorizationAppleIDProvider().credentialState(forUserID: user) == .authorized
  }
}
