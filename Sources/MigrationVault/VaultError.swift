package import MigrationCredentials
package import MigrationSystem
import MigrationTLS

/// A failure with the credentials or the account records of PEER_HOME, in words for the user.
package struct VaultError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The app's status for it.
  package let code: CredentialStorageError
  /// A complete lower-case clause, safe to show.
  package let description: String
  /// A sentence with advice.
  package let hint: String?
  /// The kernel's reason.
  package let cause: SystemError?

  init(_ code: CredentialStorageError, _ description: String, hint: String? = nil, cause: SystemError? = nil) {
    self.code = code
    self.description = cause.map { "\(description): \($0.words)" } ?? description
    self.hint = hint
    self.cause = cause
  }

  init(_ error: TLSError) { self.init(.failed, error.description) }

  /// Runs a call that the kernel may refuse; `action` then describes the failure: "the key cannot
  /// be read".
  static func wrapping<Result: ~Copyable>(
    _ action: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
  ) throws(VaultError) -> Result {
    do {
      return try body()
    } catch {
      throw VaultError(.failed, action(), cause: error)
    }
  }

  /// The same for a file that may be missing: nil then.
  static func ifThere<Result>(
    _ action: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
  ) throws(VaultError) -> Result? {
    do {
      return try body()
    } catch  where error.isNotFound {
      return nil
    } catch {
      throw VaultError(.failed, action(), cause: error)
    }
  }
}
