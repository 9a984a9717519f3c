import MigrationEngine
import MigrationSystem

/// The data streams that have failed and still say their last messages. The engine no longer counts
/// them, so only a stop by the user shortens their time.
final class Farewells: Sendable {
  private let parting = Mutex<[ConnectionID: Dismissal]>([:])

  /// Runs `body`, which a dismissal ends.
  func during(_ connection: ServedConnection, _ body: () -> Void) {
    parting.withLock { $0[connection.id] = connection.dismissal }
    body()
    parting.withLock { $0[connection.id] = nil }
  }

  /// Tells all of them to end soon.
  func dismiss() {
    for dismissal in parting.withLock({ Array($0.values) }) { dismissal.dismiss(makesRoom: false) }
  }
}
