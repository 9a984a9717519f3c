/// Authors' files import AuthenticationServices and have Foundation with it, as with Apple's.
@_exported public import Foundation
internal import MigrationCredentials
internal import MigrationSystem

/// Tells whether a user's sign-in still holds, as it is recorded on this device by `peer account`.
///
/// There are no requests for a sign-in: an app or its clip keeps the user's identifier that its own service gave it.
public final class ASAuthorizationAppleIDProvider: Sendable {
  /// What is so of a user's sign-in.
  public enum CredentialState: Int, Sendable {
    case revoked = 0
    case authorized = 1
    /// Nothing is recorded of the user.
    case notFound = 2
    /// Never answered here.
    case transferred = 3
  }

  public init() {}

  /// Finds out what is so of a user's sign-in.
  ///
  /// What is recorded for the app counts; where nothing is, what is recorded for its clip.
  /// - Parameters:
  ///   - userID: the user's identifier.
  ///   - completion: is called once, on another thread. With an error, the state is `notFound` and means nothing.
  @preconcurrency public func getCredentialState(
    forUserID userID: String, completion: @escaping @Sendable (CredentialState, (any Error)?) -> Void
  ) {
    // What a tester set up goes for the task that asks, and not for the thread.
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

  /// Finds out what is so of a user's sign-in; throws an `ASAuthorizationError`.
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
