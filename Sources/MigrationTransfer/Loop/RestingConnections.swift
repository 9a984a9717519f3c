import MigrationEngine
import MigrationSystem

/// A connection between two threads: one puts it here, and another one takes it out.
final class RestingConnection: Sendable {
  private let connection: Mutex<Connection?>

  init(_ connection: consuming Connection) { self.connection = Mutex(connection) }

  /// Takes the connection out; nil when that was done before.
  func take() -> Connection? { connection.withLock { $0.take() } }
}
