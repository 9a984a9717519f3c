import MigrationArchive
import MigrationDiscovery
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The sender's loop: owns the engine and the control connections, gives events to the one and
/// performs what it says.
///
/// One thread uses it, and waits only for its poll. Workers do everything that blocks.
final class SenderLoop {
  /// The parts of the program that the loop and its workers need.
  struct Context: Sendable {
    let options: Sender.Options
    let search: (any NearbySearch)?
    let source: any ItemSource
    let store: TransferStore?
    let observe: @Sendable (TransferEvent) -> Void
    let events: EventQueue<SenderNews>
    let workers: Workers
    let caller: SenderCaller
  }

  let context: Context
  private let clock = LoopClock()
  private var engine: SenderEngine
  var controls: ControlConnections
  /// The events that the engine has not had yet, in order.
  private var waiting: [SenderEngine.Event] = []
  private var isOver = false

  // The values that workers left for later ones, by the engine's names.

  /// The walk is to end when this is set.
  let walkStop = StopSignal()
  var pairing: PairingKeys?
  /// The findings of the last search, in the engine's order.
  var nearby: [NearbyDevice] = []
  /// The receiver's addresses, beginning with the address that answered first.
  var probed: [SocketAddress] = []
  var transfers: [TransferID: SendingTransfer] = [:]
  /// The worker of `look`, `probe` or `dial` that is at work is to end when this is set.
  var dialStop: StopSignal?
  private var lastConnection: UInt64 = 0
  /// The receiver that was met last.
  var encounter: Encounter?
  /// The ledger of a session, until its export begins.
  var held: [SessionNumber: HeldItems] = [:]
  var sessions: [SessionNumber: SendingSession] = [:]

  init(_ context: Context) {
    self.context = context
    controls = ControlConnections(clock)
    engine = SenderEngine(context.options.settings(of: context.source))
  }

  /// Runs until the engine ends the run.
  func run() {
    LoopThread.enter()
    do throws(SystemError) {
      var poller = try Poller(ofLoop: true)
      handle(.begin)
      while !isOver {
        var interests = [Poller.Interest(context.events.wakeup.raw, .readable)] + controls.interests
        _ = try poller.wait(&interests, until: nextLook)
        step()
      }
    } catch {
      finish(.failure(TransferFailure(.failed, error.description)))
    }
  }

  /// When the poll ends though nothing comes.
  private var nextLook: BootInstant? {
    if controls.mayHaveMore { return clock.instant(clock.now) }
    return [engine.nextMoment, controls.nextMoment].compactMap { $0 }.min().map { clock.instant($0) }
  }

  private func step() {
    for news in context.events.take() { take(news) }
    for (id, news) in controls.step() { take(news, of: id) }
    let now = clock.now
    if let moment = engine.nextMoment, moment <= now { handle(.timePassed) }
  }

  private func take(_ news: LinkNews, of id: ConnectionID) {
    switch news {
    case .received(let message):
      if case .close(let close) = message, close.code == .silent { encounter?.transfer.hasFallenSilent.set() }
      handle(.received(id, message))
    case .broke(let fault, let isSilent):
      if isSilent { encounter?.transfer.hasFallenSilent.set() }
      handle(.broke(id, fault))
    case .drained: handle(.drained(id))
    case .closed: handle(.closed(id, spread: Self.spread))
    }
  }

  /// Spreads over time what many devices would do at once.
  static var spread: Double { Double.random(in: 0...1) }

  /// Gives an event to the engine, and performs its actions. Events that follow at once come behind
  /// it.
  func handle(_ event: SenderEngine.Event) {
    waiting.append(event)
    guard waiting.count == 1 else { return }
    while let next = waiting.first {
      if !isOver { for action in engine.handle(next, now: clock.now) { perform(action) } }
      waiting.removeFirst()
    }
  }

  /// Starts a worker; its event comes, whether there is a thread for it or not.
  func start(_ worker: some SenderWorker) {
    let events = context.events
    do throws(SystemError) {
      try context.workers.start(worker.name) { events.post(worker.run(events)) }
    } catch {
      events.post(worker.end(without: Fault(error)))
    }
  }

  /// The number of another connection.
  func nextConnection() -> ConnectionID {
    lastConnection += 1
    return ConnectionID(lastConnection)
  }

  /// The run has ended: the remaining workers are told.
  func finish(_ result: Result<TransferResult, TransferFailure>) {
    isOver = true
    walkStop.set()
    dialStop?.set()
    for session in sessions.values { session.queue.stop() }
    context.caller.finish(result, leaving: engine.runningWorkers)
  }
}
