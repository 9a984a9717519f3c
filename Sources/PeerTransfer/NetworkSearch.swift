package import MigrationDiscovery
import MigrationEngine
package import MigrationSystem
import MigrationTransfer
package import MigrationWire

/// Searches this device's networks for receivers for a while.
package struct NetworkSearch: NearbySearch {
  package init() {}

  /// The result of a search.
  package struct Outcome: Sendable {
    package var receivers: [NearbyDevice] = []
    /// The reason why the search may be incomplete.
    package var trouble: FindingTrouble?
  }

  /// Searches while `wait` waits.
  package static func look(while wait: () throws(SystemError) -> Void) throws(SystemError) -> Outcome {
    let told = Condition(Outcome())
    let search = try Search(
      news: { receivers in told.withLock { $0.receivers = receivers } },
      trouble: { trouble in told.withLock { $0.trouble = trouble } })
    try wait()
    search.stop()
    return told.withLock { $0 }
  }

  package func look(for seconds: Double, unless stop: StopSignal) throws(Failure) -> [NearbyDevice] {
    let outcome = try SystemError.mapped(Self.look { () throws(SystemError) in try Self.wait(seconds, unless: stop) }) {
      FindingTrouble.refused($0).failure
    }
    if outcome.receivers.isEmpty, let trouble = outcome.trouble { throw trouble.failure }
    return outcome.receivers
  }

  private static func wait(_ seconds: Double, unless stop: StopSignal) throws(SystemError) {
    let end = BootInstant(seconds: BootInstant.now().seconds + seconds)
    let wakeup = try Wakeup()
    let waking = stop.waking(wakeup)
    defer { extendLifetime(waking) }
    var poller = try Poller()
    _ = try poller.wait(for: .readable, on: wakeup.raw, until: end)
  }
}

extension FindingTrouble {
  /// The failure to find a device.
  package var failure: Failure {
    let message = "cannot search for devices: \(self)"
    return switch self {
    case .noNetwork:
      Failure(.unreachable, message, hint: "Join the network of the other device, or connect a cable.")
    case .onlyTunnels:
      Failure(.unreachable, message, hint: "Name the other device's address, as in --to 192.0.2.7.")
    case .refused(let error):
      Failure(
        .failed, message,
        hint: error.isAddressInUse
          ? "Another program has exclusive use of UDP port 5353; name the address, as in --to 192.0.2.7."
          : "Name the other device's address, as in --to 192.0.2.7.")
    }
  }
}
