import MigrationEngine
import MigrationSystem

/// Looks whether anything listens at a place: a TCP connection to one of its addresses, which is
/// closed at once.
struct ProbeWorker: SenderWorker {
  /// For how many seconds an address may be silent.
  private static let patience = 5.0

  let route: DialRoute
  /// The other device's label, where it is known.
  let label: String?
  let stop: StopSignal
  let name = "probe"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do throws(SenderEngine.ProbeFailure) {
      let addresses: [SocketAddress]
      do throws(TransferFailure) { addresses = try route.addresses() } catch { throw .unresolved(error) }
      let reached = try reach(addresses)
      return .probed(device(at: reached), [reached] + addresses.filter { $0 != reached })
    } catch {
      return .event(.probed(.failure(stop.isSet ? .stopped : error)))
    }
  }

  func end(without thread: Fault) -> SenderNews { .event(.probed(.failure(.failed(thread.failure)))) }

  private func reach(_ addresses: [SocketAddress]) throws(SenderEngine.ProbeFailure) -> SocketAddress {
    do {
      let wakeup = try Wakeup()
      let waking = stop.waking(wakeup)
      defer { extendLifetime(waking) }
      let stop = stop
      return try Race(addresses: addresses, patience: Self.patience, wakeup: wakeup) { stop.isSet }.run().remoteAddress
    } catch Race.Failure.stopped {
      throw .stopped
    } catch Race.Failure.lost(let address, let obstacle, _) {
      throw .unreached(device(at: address), by: obstacle)
    } catch Race.Failure.broken(let error) {
      throw .failed(Fault(error).failure)
    } catch {
      throw .failed(TransferFailure(.failed, "\(error)"))
    }
  }

  /// The name that the user has typed is one, too, unless it is the address.
  private func device(at address: SocketAddress) -> DeviceAddress {
    DeviceAddress(name: label ?? route.name, host: address.hostDescription, port: address.port)
  }
}
