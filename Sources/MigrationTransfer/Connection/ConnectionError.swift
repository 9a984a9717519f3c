import MigrationSystem
import MigrationTLS
import MigrationWire

/// The reason why a connection is no longer usable.
package struct ConnectionError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: Equatable, Sendable {
    /// It was cut, or never came up.
    case lost
    /// The other end said close_notify and is gone.
    case closed
    /// TLS refused: the certificate, the version, a forged record.
    case refused
    /// The other end has sent what no honest one sends, or more of it (Protocol §11).
    case violated
    /// A deadline passed, this end's or the kernel's.
    case timedOut
    /// This end wants to stop.
    case stopped
  }

  let code: Code
  /// A lower-case clause.
  package let description: String

  package init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  init(_ error: SystemError) {
    self.init(error.isTimedOut ? .timedOut : .lost, error.description)
  }

  init(_ error: TLSError) {
    self.init(error.code == .truncated ? .lost : .refused, error.description)
  }

  /// Runs something that the kernel may refuse.
  static func system<Result: ~Copyable>(
    _ body: () throws(SystemError) -> Result
  ) throws(ConnectionError) -> Result {
    do {
      return try body()
    } catch {
      throw ConnectionError(error)
    }
  }

  /// Runs something that TLS may refuse.
  static func tls<Result: ~Copyable>(_ body: () throws(TLSError) -> Result) throws(ConnectionError) -> Result {
    do {
      return try body()
    } catch {
      throw ConnectionError(error)
    }
  }
}
