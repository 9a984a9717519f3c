package import MigrationCredentials
package import MigrationSystem
import MigrationTLS

/// What could not be done with the credentials or the account records of PEER_HOME, in words for the person who asked.
package struct VaultError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What the app is told of it.
  package let code: CredentialStorageError
  /// A complete lower-case clause, safe to show.
  package let description: String
  /// A sentence that says what to do.
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

  /// Does something that the kernel may refuse; `action` says then what did not work: "the key cannot be read".
  static func wrapping<Result: ~Copyable>(
    _ action: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
  ) throws(VaultError) -> Result {
    do {
      return try body()
    } catch {
      throw VaultError(.failed, action(), cause: error)
    }
  }

  /// The same with what may be missing: nil then.
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
