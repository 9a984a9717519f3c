import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// A worker's report to its loop: an event for the engine, and a value that the loop keeps for
/// later workers.
struct Report<Event: Sendable, Product: Sendable>: Sendable {
  let event: Event
  let product: Product?

  init(_ event: Event, bringing product: Product? = nil) {
    self.event = event
    self.product = product
  }
}

/// A piece of work that blocks. It runs on a thread of its own, decides nothing, and ends in
/// exactly one event. If it throws, the engine names that event for its action.
struct Worker<Event: Sendable, Product: Sendable>: Sendable {
  typealias Work = @Sendable () throws -> Report<Event, Product>?

  /// The name of the thread.
  let name: String
  /// Does the work. Returns the event that ends it; nil where it has posted that event itself.
  let work: Work

  init(_ name: String, _ work: @escaping Work) {
    self.name = name
    self.work = work
  }
}

/// Performs the actions of one end's engine, and keeps the values that its workers share. The
/// loop's thread owns it; nothing here waits.
protocol Performer: AnyObject {
  associatedtype Decider: Engine
  /// The values that workers leave for later workers.
  associatedtype Product: Sendable

  /// The control connections, from READY to their end.
  var controls: ControlConnections { get set }
  /// The result of the run, once the engine has ended it.
  var result: TransferOutcome? { get set }

  /// Performs an action. Returns the worker for an action that blocks, or throws why there is none.
  func perform(_ action: Decider.Action) throws -> Worker<Decider.Event, Product>?
  /// Returns the events by which performed actions were answered at once, in their order. They
  /// come before all others.
  func takeAnswers() -> [Decider.Event]
  /// Keeps a worker's result.
  func keep(_ product: Product)
  /// The engine is about to get an event.
  func note(_ event: Decider.Event)
  /// A control connection has an event.
  func note(_ event: ControlLink.Event)
  /// The actions for an event are performed.
  func settle(with engine: Decider)
  /// The run has ended: tells every worker to end soon.
  func end()

  // MARK: Arriving connections, which only a receiver has

  /// The events that the poll waits for, besides those of control connections.
  var interests: [Poller.Interest] { get }
  /// The moment at which the poll ends without an event.
  var nextArrival: BootInstant? { get }
  /// Reports what `interests` had become ready for.
  func takeArrivals(_ interests: ArraySlice<Poller.Interest>, _ report: (Decider.Event) -> Void)
}

extension Performer {
  func note(_ event: Decider.Event) {}
  func note(_ event: ControlLink.Event) {}
  func settle(with engine: Decider) {}
  func takeAnswers() -> [Decider.Event] { [] }
  var interests: [Poller.Interest] { [] }
  var nextArrival: BootInstant? { nil }
  func takeArrivals(_ interests: ArraySlice<Poller.Interest>, _ report: (Decider.Event) -> Void) {}
}

/// The loop of one end: reports events to the engine, has its actions performed, and starts the
/// workers for those that block. Its thread waits only for its poll.
final class EngineLoop<P: Performer> {
  private typealias Event = P.Decider.Event

  private var engine: P.Decider
  private let performer: P
  private let queue: EventQueue<Report<P.Decider.Event, P.Product>>
  private let workers: Workers
  private let clock: LoopClock

  init(
    _ engine: P.Decider, _ performer: P, queue: EventQueue<Report<P.Decider.Event, P.Product>>, workers: Workers,
    clock: LoopClock
  ) {
    self.engine = engine
    self.performer = performer
    self.queue = queue
    self.workers = workers
    self.clock = clock
  }

  /// Runs until the engine ends the run, on a thread that is the loop's alone. Also returns the
  /// number of workers that the engine no longer waits for.
  func run() -> (result: TransferOutcome, running: Int) {
    LoopThread.enter()
    do throws(SystemError) {
      var poller = try Poller(ofLoop: true)
      handle(.begin)
      while performer.result == nil { try step(&poller) }
    } catch {
      performer.result = .failure(Failure(error))
    }
    performer.end()
    guard let result = performer.result else { preconditionFailure("a loop ends by a result") }
    return (result, engine.runningWorkers)
  }

  private func step(_ poller: inout Poller) throws(SystemError) {
    let arrivals = performer.interests
    var interests = [Poller.Interest(queue.wakeup.raw, .readable)] + arrivals + performer.controls.interests
    _ = try poller.wait(&interests, until: nextMoment)
    for report in queue.take() {
      if let product = report.product { performer.keep(product) }
      handle(report.event)
    }
    performer.takeArrivals(interests[1..<1 + arrivals.count]) { handle($0) }
    for (id, event) in performer.controls.step() { take(event, of: id) }
    if let moment = engine.nextMoment, moment <= clock.now { handle(.timePassed) }
  }

  /// The moment at which the poll ends without an event.
  private var nextMoment: BootInstant? {
    if performer.controls.mayHaveMore { return .now() }
    let moments = [engine.nextMoment, performer.controls.nextMoment].compactMap { $0 }.filter(\.isFinite)
    return [moments.min().map { clock.instant($0) }, performer.nextArrival].compactMap { $0 }.min()
  }

  private func take(_ event: ControlLink.Event, of id: ConnectionID) {
    performer.note(event)
    switch event {
    case .received(let message, _): handle(.received(id, message))
    case .broke(let fault, _): handle(.broke(id, fault))
    case .drained: handle(.drained(id))
    case .closed: handle(.closed(id, spread: .random(in: 0...1)))
    }
  }

  /// Gives an event to the engine, and has its actions performed in their order.
  private func handle(_ event: Event) {
    performer.note(event)
    if performer.result != nil { return }
    for action in engine.handle(event, now: clock.now) { perform(action) }
    performer.settle(with: engine)
    for answer in performer.takeAnswers() { handle(answer) }
  }

  /// Has an action performed. The event of its worker comes, whether there is a thread for it or not.
  private func perform(_ action: P.Decider.Action) {
    let end = { @Sendable (fault: Failure) -> Report<Event, P.Product>? in
      P.Decider.end(of: action, by: fault).map { Report($0) }
    }
    do {
      if let worker = try performer.perform(action) { try workers.start(worker, reportingTo: queue, failing: end) }
    } catch {
      if let report = end(Failure(error)) { queue.post(report) }
    }
  }
}

/// Runs the loop of one end on a thread that is the loop's alone, and waits for what it returns.
func onLoopThread<Value: Sendable>(
  _ name: String, _ run: @escaping @Sendable () -> Value
) throws(Failure) -> Value {
  let ended = Condition<Value?>(nil)
  do throws(SystemError) {
    let thread = try OwnerThread(name: name) {
      let value = run()
      ended.withLock { $0 = value }
    }
    thread.join()
  } catch {
    throw Failure(error)
  }
  guard let value = ended.withLock({ $0 }) else { preconditionFailure("a loop ends by a result") }
  return value
}

/// The clock of a loop, in seconds since the start of the machine, sleep included. Tests accelerate
/// it.
struct LoopClock: Equatable, Sendable {
  /// The number of its seconds that pass in one real second.
  var speed = 1.0

  /// Seconds since the start of the machine, on this clock.
  var now: Double { seconds(.now()) }

  /// The seconds on this clock at an instant.
  func seconds(_ instant: BootInstant) -> Double { Double(instant.nanoseconds) / 1e9 * speed }

  /// The instant at which this clock shows a number of seconds.
  func instant(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: Int64(seconds / speed * 1e9))
  }

  /// The instant at which a number of this clock's seconds have passed since another instant.
  func instant(_ seconds: Double, after start: BootInstant) -> BootInstant {
    start.advanced(by: .seconds(seconds / speed))
  }
}
