public import Foundation

/// The result of a request for a sign-in.
///
/// There are no such requests on Linux, and so no values of this type: code for a result compiles, and
/// another branch of the program is taken.
public enum ASAuthorization: Sendable {
  /// A kind of information that a request may ask for.
  public struct Scope: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let email = Scope(rawValue: "email")
    public static let fullName = Scope(rawValue: "full_name")
  }

  /// The provider that was asked.
  public var provider: any ASAuthorizationProvider { switch self {} }
  /// The credential that the provider has given.
  public var credential: any ASAuthorizationCredential { switch self {} }
}

/// A provider of credentials.
public protocol ASAuthorizationProvider {}

/// A credential that a provider has given.
public protocol ASAuthorizationCredential: Sendable {}

extension ASAuthorizationAppleIDProvider: ASAuthorizationProvider {}

/// The credential of a sign-in with Apple, which has no values on Linux.
public enum ASAuthorizationAppleIDCredential: ASAuthorizationCredential {
  /// The user's identifier.
  public var user: String { switch self {} }
  /// The value that the request had.
  public var state: String? { switch self {} }
  /// What the user has given.
  public var authorizedScopes: [ASAuthorization.Scope] { switch self {} }
  /// A code for the app's service.
  public var authorizationCode: Data? { switch self {} }
  /// A token for the app.
  public var identityToken: Data? { switch self {} }
  /// The user's address.
  public var email: String? { switch self {} }
  /// The user's name.
  public var fullName: PersonNameComponents? { switch self {} }
}
