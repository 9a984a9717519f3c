@_exported public import Foundation
internal import MigrationCredentials
internal import MigrationSystem

/// A file that imports AuthenticationServices also gets Foundation, as with Apple's module.

/// Reports whether a user's sign-in still holds, by the records of `peer account` on this device.
///
/// There are no requests for a sign-in: an app or its clip keeps the user's identifier from its own
/// service.
public final class ASAuthorizationAppleIDProvider: Sendable {
  /// The state of a user's sign-in.
  public enum CredentialState: Int, Sendable {
    case revoked = 0
    case authorized = 1
    /// There is no record of the user.
    case notFound = 2
    /// Never returned on Linux.
    case transferred = 3
  }

  public init() {}

  /// Passes the state of a user's sign-in to `completion`.
  ///
  /// The app's record counts; if there is none, its clip's record counts.
  /// - Parameters:
  ///   - userID: the user's identifier.
  ///   - completion: called once, on another thread. With an error, the state is `notFound` and
  ///     means nothing.
  @preconcurrency public func getCredentialState(
    forUserID userID: String, completion: @escaping @Sendable (CredentialState, (any Error)?) -> Void
  ) {
    // A tester's configuration applies to the calling task, not to the thread.
    let connection = CredentialConnection.current
    let ask: @Sendable () -> Void = {
      let answer = connection.ask(.account(user: userID))
      guard answer.status == .success else {
        completion(.notFound, ASAuthorizationError(answer.status))
        return
      }
      completion(CredentialState(answer.account), nil)
    }
    do {
      _ = try OwnerThread(name: "credentials", ask)
    } catch {
      completion(.notFound, ASAuthorizationError(.io))
    }
  }

  /// Returns the state of a user's sign-in; throws an `ASAuthorizationError`.
  public func credentialState(forUserID userID: String) async throws -> CredentialState {
    try await withCheckedThrowingContinuation { continuation in
      getCredentialState(forUserID: userID) { state, error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: state) }
      }
    }
  }
}

extension ASAuthorizationAppleIDProvider.CredentialState {
  fileprivate init(_ state: AccountState?) {
    self =
      switch state {
      case .authorized: .authorized
      case .revoked: .revoked
      case nil: .notFound
      }
  }
}

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
