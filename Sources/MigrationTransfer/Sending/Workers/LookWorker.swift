import MigrationDiscovery
import MigrationEngine
import MigrationSystem

/// Looks which receivers wait in this network.
struct LookWorker: SenderWorker {
  /// For how many seconds.
  private static let length = 3.0

  /// Nil where this program cannot look around.
  let search: (any NearbySearch)?
  let stop: StopSignal
  let name = "look"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do throws(Fault) {
      let devices = try search?.look(for: Self.length, unless: stop) ?? []
      return .found(devices.filter { !$0.addresses.isEmpty })
    } catch {
      return end(without: error)
    }
  }

  func end(without thread: Fault) -> SenderNews {
    .event(.found(.failure(thread), spread: SenderLoop.spread))
  }
}
