internal import MigrationCredentials

/// The reason why the state of a sign-in is not available.
public struct ASAuthorizationError: CustomNSError, Equatable, Sendable {
  /// The kinds of errors, by Apple's numbers.
  public enum Code: Int, Sendable {
    case unknown = 1000
    case canceled = 1001
    case invalidResponse = 1002
    case notHandled = 1003
    case failed = 1004
  }

  public static let failed = Code.failed
  public static let notHandled = Code.notHandled
  public static let invalidResponse = Code.invalidResponse
  public static let canceled = Code.canceled
  public static let unknown = Code.unknown

  public static var errorDomain: String { "com.apple.AuthenticationServices.AuthorizationError" }

  /// On Linux `notHandled`, if no broker answers, or `failed`.
  public let code: Code
  private let reason: String

  public var errorCode: Int { code.rawValue }
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: reason] }

  init(_ status: CredentialStatus) {
    switch status {
    case .notAvailable:
      code = .notHandled
      reason = "No broker answers: peer did not start this app."
    case .parameter, .dataTooLarge:
      code = .failed
      reason = "The user's identifier is empty or too long."
    default:
      code = .failed
      reason = "The record of the user could not be read."
    }
  }
}
