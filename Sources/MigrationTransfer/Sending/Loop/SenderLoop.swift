import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The sender's loop: owns the engine and the control connections, gives events to the one and performs what it says.
///
/// One thread uses it, and waits for nothing but its poll. What blocks is a worker's.
final class SenderLoop {
  /// What of the program the loop and its workers need.
  struct Context: Sendable {
    let options: Sender.Options
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
  /// What is still to be given to the engine, in order.
  private var waiting: [SenderEngine.Event] = []
  private var isOver = false

  // What workers left for the next ones, by the names that the engine knows.

  /// The walk is to end when this is set.
  let walkStop = StopSignal()
  var pairing: PairingKeys?
  /// What the last search has found, in the engine's order.
  var nearby: [NearbyDevice] = []
  /// The receiver's addresses, the one that has answered first.
  var probed: [SocketAddress] = []
  var transfers: [TransferID: SendingTransfer] = [:]
  /// The worker of `look`, `probe` or `dial` that is at work is to end when this is set.
  var dialStop: StopSignal?
  private var lastConnection: UInt64 = 0
  /// The receiver that was met last.
  var encounter: Encounter?
  /// What the ledger of a session tells until its export begins.
  var held: [SessionNumber: HeldItems] = [:]
  var sessions: [SessionNumber: SendingSession] = [:]

  init(_ context: Context) {
    self.context = context
    controls = ControlConnections(clock)
    engine = SenderEngine(context.options.settings(of: context.source))
  }

  /// Runs until the engine says that the run is over.
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
    case .received(let message): handle(.received(id, message))
    case .broke(let fault): handle(.broke(id, fault))
    case .drained: handle(.drained(id))
    case .closed: handle(.closed(id, spread: Self.spread))
    }
  }

  /// Spreads over time what many devices would do at once.
  static var spread: Double { Double.random(in: 0...1) }

  /// Gives an event to the engine, and does what it says. What that brings at once comes behind it.
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

  /// The run is over: workers that still go on are told.
  func finish(_ result: Result<TransferResult, TransferFailure>) {
    isOver = true
    walkStop.set()
    dialStop?.set()
    for session in sessions.values { session.queue.stop() }
    context.caller.finish(result, leaving: engine.runningWorkers)
  }
}
