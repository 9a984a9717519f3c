package import MigrationDiscovery
import MigrationEngine
package import MigrationSystem
import MigrationTransfer
package import MigrationWire

/// Searches this device's networks for receivers for a while.
package struct NetworkSearch: NearbySearch {
  package init() {}

  package func look(for seconds: Double, unless stop: StopSignal) throws(Failure) -> [NearbyDevice] {
    let told = Condition<(receivers: [NearbyDevice], trouble: FindingTrouble?)>(([], nil))
    do throws(SystemError) {
      let search = try Search(
        news: { receivers in told.withLock { $0.receivers = receivers } },
        trouble: { trouble in told.withLock { $0.trouble = trouble } })
      try Self.wait(seconds, unless: stop)
      search.stop()
    } catch {
      throw FindingTrouble.refused(error).failure
    }
    let (receivers, trouble) = told.withLock { $0 }
    if receivers.isEmpty, let trouble { throw trouble.failure }
    return receivers
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
