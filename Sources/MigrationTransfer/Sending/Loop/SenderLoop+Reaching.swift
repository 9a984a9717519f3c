import MigrationEngine
import MigrationSystem

/// What comes before a session: the way to the receiver, and what workers leave for the next ones.
extension SenderLoop {
  /// Has the user asked for the code. What was begun earlier is left to other processes from now on.
  func askCode(at device: DeviceAddress) {
    transfers = [:]
    context.caller.askCode(at: device)
  }

  /// Looks whether anything listens at the target.
  func probe() {
    let stop = StopSignal()
    dialStop = stop
    start(ProbeWorker(target: context.options.target, label: context.options.targetLabel, stop: stop))
  }

  /// Dials on a thread of its own.
  func dial(_ purpose: SenderEngine.Purpose) {
    // The session before it is over.
    sessions = [:]
    held = [:]
    let connection = nextConnection()
    let keys: DialWorker.Keys
    let route: DialWorker.Route
    switch purpose {
    case .pair:
      guard let pairing else { preconditionFailure("the secret is derived before there is a connection") }
      keys = .pairing(pairing)
      route = .known(probed)
    case .resume(let id):
      guard let transfer = id.map({ transfers[$0] }) ?? encounter?.transfer else {
        preconditionFailure("a transfer is known before it is continued")
      }
      keys = .transfer(transfer)
      route = .resolved(context.options.target, first: encounter?.way.address)
    }
    let stop = StopSignal()
    dialStop = stop
    start(DialWorker(connection: connection, route: route, keys: keys, stop: stop))
  }

  /// Keeps what a worker leaves, and gives its event to the engine.
  func take(_ news: SenderNews) {
    switch news {
    case .event(let event): handle(event)
    case .lookedUp(let unfinished):
      for one in unfinished { transfers[one.known.identifier] = one.transfer }
      handle(.lookedUp(.success(unfinished.map(\.known))))
    case .probed(let device, let addresses):
      probed = addresses
      handle(.probed(.success(device)))
    case .derived(let keys):
      pairing = keys
      handle(.derived(nil))
    case .met(let encounter):
      self.encounter = encounter
      // Which of several was meant is known by now.
      transfers = transfers.filter { $0.value === encounter.transfer }
      handle(.dialed(.success(encounter.meeting), spread: Self.spread))
    }
  }
}
