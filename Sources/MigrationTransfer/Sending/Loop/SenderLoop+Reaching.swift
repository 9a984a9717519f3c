import MigrationDiscovery
import MigrationEngine
import MigrationSystem

/// The steps before a session: the way to the receiver, and the values that workers leave for later
/// ones.
extension SenderLoop {
  /// Has the user asked for the code. From now on other processes may take the transfers of earlier
  /// runs.
  func askCode(at device: DeviceAddress) {
    transfers = [:]
    context.caller.askCode(at: device)
  }

  /// Looks for receivers in this network.
  func look() {
    let stop = StopSignal()
    dialStop = stop
    start(LookWorker(search: context.search, stop: stop))
  }

  /// Looks whether anything listens at a place.
  func probe(_ place: Place) {
    let stop = StopSignal()
    dialStop = stop
    let label: String? =
      switch (place, context.options.target) {
      case (.found(let index), _): nearby[index].label
      case (_, .host(_, let label)): label
      case (_, .nearby): nil
      }
    start(ProbeWorker(route: route(to: place), label: label, stop: stop))
  }

  /// The addresses of a place.
  private func route(to place: Place) -> DialRoute {
    switch (place, context.options.target) {
    case (.probed, _): return .known(probed)
    case (.found(let index), _): return .known(nearby[index].addresses)
    case (.address(let text), _): return .remembered(text)
    case (.target, .host(let host, _)): return .resolved(host, first: encounter?.way.address)
    case (.target, .nearby): preconditionFailure("a target is a host that the user has named")
    }
  }

  /// Dials on a thread of its own.
  func dial(_ purpose: SenderEngine.Purpose, at place: Place) {
    // The previous session has ended.
    sessions = [:]
    held = [:]
    let connection = nextConnection()
    let keys: DialWorker.Keys
    switch purpose {
    case .pair:
      guard let pairing else { preconditionFailure("the secret is derived before there is a connection") }
      keys = .pairing(pairing)
    case .resume(let id):
      guard let transfer = id.map({ transfers[$0] }) ?? encounter?.transfer else {
        preconditionFailure("a transfer is known before it is continued")
      }
      keys = .transfer(transfer)
    }
    let stop = StopSignal()
    dialStop = stop
    start(DialWorker(connection: connection, route: route(to: place), keys: keys, stop: stop))
  }

  /// Keeps what a worker leaves, and gives its event to the engine.
  func take(_ news: SenderNews) {
    switch news {
    case .event(let event): handle(event)
    case .lookedUp(let unfinished):
      for one in unfinished { transfers[one.known.identifier] = one.transfer }
      handle(.lookedUp(.success(unfinished.map(\.known))))
    case .found(let devices):
      nearby = devices
      let known = devices.map {
        DeviceAddress(
          name: $0.label, host: $0.addresses[0].hostDescription, port: $0.addresses[0].port, instance: $0.instance)
      }
      handle(.found(.success(known), spread: Self.spread))
    case .probed(let device, let addresses):
      probed = addresses
      handle(.probed(.success(device)))
    case .derived(let keys):
      pairing = keys
      handle(.derived(nil))
    case .met(let encounter):
      self.encounter = encounter
      // The code works once: its secret is wiped.
      pairing = nil
      // Which of several was meant is known by now.
      transfers = transfers.filter { $0.value === encounter.transfer }
      handle(.dialed(.success(encounter.meeting), spread: Self.spread))
    }
  }
}
