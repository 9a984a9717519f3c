import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Checks whether anything listens at a place, with a TCP connection that it closes at once.
struct Probe {
  /// The number of seconds that an address may be silent.
  private static let patience = 5.0

  let route: Dialing.Route
  /// The other device's label, where it is known.
  let label: String?
  let stop: StopSignal

  func run() -> SenderPerformer.WorkerReport {
    do throws(Failure) {
      let addresses = try route.addresses()
      let reached = try reach(addresses)
      if let relay = route.relay {
        return Report(.probed(.success(device(at: relay.place))), bringing: .addresses([reached]))
      }
      return Report(
        .probed(.success(device(at: reached))), bringing: .addresses([reached] + addresses.filter { $0 != reached }))
    } catch {
      return Report(.probed(.failure(stop.isSet ? .interrupted(by: .interrupted) : error)))
    }
  }

  private func reach(_ addresses: [SocketAddress]) throws(Failure) -> SocketAddress {
    do throws(Race.End) {
      let wakeup = try SystemError.mapped(Wakeup()) { Race.End.broken($0) }
      let waking = stop.waking(wakeup)
      defer { extendLifetime(waking) }
      let stop = stop
      let socket = try Race(addresses: addresses, patience: Self.patience, wakeup: wakeup) { stop.isSet }.run()
      let address = socket.remoteAddress
      if let relay = route.relay { try ask(relay, socket, wakeup) }
      return address
    } catch {
      switch error {
      case .stopped: throw .interrupted(by: .interrupted)
      case .lost(let address, let obstacle, _):
        throw Failure(unreached: route.relay.map { device(at: $0.place) } ?? device(at: address), by: obstacle)
      case .broken(let error): throw Failure(error)
      case .unfit(let failure): throw failure
      }
    }
  }

  /// Asks a relay for a meeting that no device has, to see that it takes this device's token: before
  /// the user types anything.
  private func ask(
    _ relay: RelayAccess, _ socket: borrowing StreamSocket, _ wakeup: Wakeup
  ) throws(Race.End) {
    let secret = try SystemError.mapped(SystemRandom.bytes(RelayMeeting.secretSize)) { Race.End.broken($0) }
    let calling = RelayCalling(access: relay, errand: .meet(RelayMeeting(ofSecret: secret)))
    do throws(ConnectionError) {
      _ = try calling.run(on: socket, wakeup: wakeup, isStopped: { stop.isSet }, until: Dialing.deadline)
    } catch {
      switch error.code {
      case .relay(.absent): return
      case .stopped: throw .stopped
      default: throw .unfit(error.relayFailure ?? error.failure)
      }
    }
  }

  private func device(at relay: HostAndPort) -> DeviceAddress {
    DeviceAddress(name: nil, host: RelayAccess.shown(relay), port: relay.port, isRelay: true)
  }

  /// The device at an address. The name that the user has typed names it, unless it is an address.
  private func device(at address: SocketAddress) -> DeviceAddress {
    DeviceAddress(name: label ?? route.name, host: address.hostDescription, port: address.port)
  }
}
