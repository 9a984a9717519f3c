package import MigrationEngine
package import MigrationFinding
package import MigrationSystem
package import MigrationTransfer
import Synchronization

/// Looks for receivers on this device's networks, for a while.
package struct NetworkSearch: NearbySearch {
  package init() {}

  /// What a search has told when it ended.
  package struct Outcome: Sendable {
    package var receivers: [NearbyReceiver] = []
    /// Why there may be more than were found.
    package var trouble: FindingTrouble?
  }

  /// Looks around while `wait` waits.
  package static func look(while wait: () throws(SystemError) -> Void) throws(SystemError) -> Outcome {
    let told = SharedOutcome()
    let search = try Search(
      news: { receivers in told.value.withLock { $0.receivers = receivers } },
      trouble: { trouble in told.value.withLock { $0.trouble = trouble } })
    try wait()
    search.stop()
    return told.value.withLock { $0 }
  }

  /// What the search's thread and the one that waits share.
  private final class SharedOutcome: Sendable {
    let value = Mutex(Outcome())
  }

  package func look(for seconds: Double, unless stop: StopSignal) throws(Fault) -> [NearbyDevice] {
    let outcome: Outcome
    do throws(SystemError) {
      outcome = try Self.look { () throws(SystemError) in try Self.wait(seconds, unless: stop) }
    } catch {
      throw FindingTrouble.refused(error).fault
    }
    if outcome.receivers.isEmpty, let trouble = outcome.trouble { throw trouble.fault }
    return outcome.receivers.map { NearbyDevice(label: $0.label, instance: $0.instance, addresses: $0.addresses) }
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
  /// Why no device could be found.
  package var fault: Fault {
    let message = "cannot look for devices: \(self)"
    return switch self {
    case .noNetwork:
      Fault(
        .device, message, hint: "Join the network that the other device is in, or plug a cable in.",
        as: .connectionLost)
    case .refused(let error):
      Fault(
        .device, message,
        hint: error.isAddressInUse
          ? "Another program has UDP port 5353 for itself; with an address, as in --to 192.0.2.7, it is not needed."
          : "With the other device's address, as in --to 192.0.2.7, nothing has to be looked for.")
    }
  }
}
