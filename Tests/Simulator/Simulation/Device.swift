import MigrationEngine
import MigrationWire

/// Work that a device does beside its loop, from the action that starts it to the one event that
/// ends it.
final class Worker {
  let name: StaticString
  let session: SessionNumber?
  /// Whether it was told to end.
  private(set) var mustEnd = false
  fileprivate(set) var hasEnded = false
  /// Called when it is told to end.
  var whenTold: (() -> Void)?

  fileprivate init(_ name: StaticString, _ session: SessionNumber?) {
    self.name = name
    self.session = session
  }

  var isImport: Bool { name.description == "import" }

  /// Tells it to end soon.
  func end() {
    guard !mustEnd, !hasEnded else { return }
    mustEnd = true
    whenTold?()
  }
}

/// One process on a device, with its time, its sleep and the workers that it has started.
class Device {
  let scene: Scene
  let world: World
  let role: Role
  /// Whether the process runs.
  private(set) var isAlive = true
  /// Whether the engine has ended the run.
  private(set) var isFinished = false
  private(set) var workers: [Worker] = []
  /// Those that have ended, too: some hear only then what to do when they are told to end.
  private var allWorkers: [Worker] = []
  /// How often in a row time has passed without any other event.
  private var spins = 0
  private var timer: Int?
  /// The events that the engine has still to handle.
  private var events: [() -> Void] = []
  private var isHandling = false
  /// When the user stopped the process.
  private var stoppedAt: Int?

  init(_ scene: Scene, _ role: Role) {
    self.scene = scene
    self.role = role
    world = scene.world
    scene.devices.append(self)
  }

  // MARK: Time

  /// Does something after a delay if the process still runs then; a sleeping device does it when it
  /// wakes.
  func run(after delay: Int, _ body: @escaping () -> Void) {
    world.after(delay) { [self] in whenAwake(body) }
  }

  func whenAwake(_ body: @escaping () -> Void) {
    guard isAlive else { return }
    let wake = scene.asleep[role.index]
    if wake > world.now { return run(after: wake - world.now, body) }
    body()
  }

  /// Does something that needs the device's disk, which may hang, in the same way.
  func onDisk(after delay: Int, _ body: @escaping () -> Void) {
    run(after: delay) { [self] in
      let end = scene.stalled[role.index]
      if end > world.now { return onDisk(after: end - world.now + world.dice.roll(0...200), body) }
      body()
    }
  }

  // MARK: The engine

  /// When the engine wants the next `timePassed`.
  var nextMoment: Double? { nil }
  /// The engine learns that a moment has come.
  func timePassed() {}
  /// The engine's invariant that does not hold, if any.
  var brokenInvariant: String? { nil }

  /// The engine learns that the user stops the run.
  func hearStop() {}
  var isStopped: Bool { stoppedAt != nil }

  /// The user stops the process.
  func stop() {
    guard isAlive, !isFinished else { return }
    world.note("the \(role)'s user stops it")
    if stoppedAt == nil { stoppedAt = world.now }
    hearStop()
  }

  /// A stopped process ends within 1 second; one that imports, within 1.5 seconds of its import's
  /// last progress.
  func checkPromptness(movedAt: Int? = nil) {
    guard let stoppedAt, !isFinished else { return }
    let moment = max(stoppedAt, movedAt ?? 0)
    let bound = movedAt == nil ? 1_000_000 : 1_500_000
    world.check(
      world.now - moment < bound + scene.sleptSince(moment, role), "the \(role) runs though its user has stopped it")
  }

  /// Gives the engine an event, after the actions of the previous one.
  func take(_ event: @escaping () -> Void) {
    events.append(event)
    guard !isHandling else { return }
    isHandling = true
    defer { isHandling = false }
    while isAlive, !isFinished, !events.isEmpty { events.removeFirst()() }
  }

  /// The engine has handled an event: checks the invariants, and waits for its next moment.
  func settle(hasOnlyTimePassed: Bool) {
    guard isAlive, !isFinished else { return }
    if let broken = brokenInvariant { world.fail("the \(role): \(broken)") }
    guard let moment = nextMoment else { return }
    spins = hasOnlyTimePassed && moment <= world.seconds ? spins + 1 : 0
    if spins > 50 { return world.fail("the \(role) asks again and again for a moment that has come") }
    let time = world.now + max(1, world.delay(until: moment))
    if let timer, timer <= time, timer > world.now { return }
    timer = time
    run(after: time - world.now) { [self] in
      guard timer == time || (timer ?? .max) <= world.now else { return }
      timer = nil
      if !isFinished { timePassed() }
    }
  }

  // MARK: Workers

  func begin(_ name: StaticString, of session: SessionNumber? = nil) -> Worker {
    let worker = Worker(name, session)
    workers.append(worker)
    allWorkers.append(worker)
    return worker
  }

  /// A worker ends with an event, which arrives a little later.
  func end(_ worker: Worker, _ event: @escaping () -> Void) {
    run(after: world.dice.one(in: 4) ? world.dice.roll(0...3_000) : world.dice.roll(0...100)) { [self] in
      world.check(!worker.hasEnded, "a worker has ended twice: \(worker.name)")
      worker.hasEnded = true
      worker.whenTold = nil
      workers.removeAll { $0 === worker }
      event()
      exitIfPossible()
    }
  }

  /// Whether a thread could once not be created in this process.
  private(set) var hasLackedThread = false

  /// Whether a thread cannot be created now.
  var lacksThread: Bool {
    let isLacking = scene.lacksThreads && world.dice.one(in: 40)
    if isLacking { hasLackedThread = true }
    return isLacking
  }

  // MARK: The end

  /// The engine ends the run: every worker is told to end, and the process waits for them until its
  /// deadline.
  func finish() {
    world.check(!isFinished, "the \(role) ends its run twice")
    isFinished = true
    for worker in workers { worker.end() }
    run(after: Int(EndLimits.workers * 1e6)) { [self] in exit(isLate: true) }
    run(after: 0) { [self] in exitIfPossible() }
  }

  private func exitIfPossible() {
    if isAlive, isFinished, workers.isEmpty { exit(isLate: false) }
  }

  private func exit(isLate: Bool) {
    guard isAlive else { return }
    // The remaining workers wait for a hanging disk.
    let busyUntil = max(scene.stalled[role.index], scene.asleep[role.index])
    for worker in workers where busyUntil + 10_000 < world.now && !worker.isImport {
      world.fail("the \(role) has ended, and a worker has not: \(worker.name)")
    }
    die("by itself")
  }

  /// The process ends.
  func die(_ why: @autoclosure () -> String) {
    guard isAlive else { return }
    world.note("the \(role) dies \(why())")
    isAlive = false
    for worker in workers { worker.whenTold = nil }
    workers = []
    gone()
  }

  /// The simulation has ended: breaks reference cycles.
  func letGo() {
    for worker in allWorkers { worker.whenTold = nil }
    (workers, allWorkers, events) = ([], [], [])
  }

  /// Called when the process has ended.
  func gone() {}
}

/// A process that performs the actions of a real engine in the simulated world, and decides nothing.
class EngineDevice<E: Engine, M: Mistakes>: Device where M.Decider == E {
  private var engine: E
  private var mistakes: M
  private(set) var links: [ConnectionID: SimulatedLink] = [:]

  init(_ engine: E, _ mistakes: M, _ scene: Scene, _ role: Role) {
    self.engine = engine
    self.mistakes = mistakes
    super.init(scene, role)
    run(after: 0) { [self] in feed(.begin) }
  }

  override var nextMoment: Double? { engine.nextMoment }
  override func timePassed() { feed(.timePassed, isTime: true) }
  override func hearStop() { feed(.stop(.interrupted)) }
  override var brokenInvariant: String? {
    if scene.mutation == nil, engine.runningWorkers != runningWorkers {
      return "the engine counts \(engine.runningWorkers) workers, and there are \(workers.map(\.name))"
    }
    return engine.checkInvariants()
  }

  /// How many workers the engine must count.
  var runningWorkers: Int { workers.count }

  /// Gives the engine an event, after the actions of the previous one.
  func feed(_ event: E.Event, isTime: Bool = false) {
    guard isAlive, !isFinished else { return }
    for event in mistakes.events(for: event) { take { [self] in handle(event, isTime: isTime) } }
  }

  private func handle(_ event: E.Event, isTime: Bool) {
    world.note("\(role) <- \(words(event))")
    note(event)
    let actions = mistakes.actions(for: engine.handle(event, now: world.seconds))
    for event in mistakes.takeFalseEvents() { take { [self] in handle(event, isTime: false) } }
    for action in actions where isAlive {
      world.note("\(role) -> \(action)")
      world.check(!isFinished, "the \(role) acts after its end")
      perform(action)
    }
    settle(hasOnlyTimePassed: isTime && actions.isEmpty)
    performed()
  }

  /// An event in words that are the same in each run.
  func words(_ event: E.Event) -> String { "\(event)" }
  /// The engine is about to hear of an event.
  func note(_ event: E.Event) {}
  /// Performs an action, and checks that it is allowed now.
  func perform(_ action: E.Action) {}
  /// The actions for an event are performed.
  func performed() {}

  // MARK: Control connections

  /// A random number from 0 to 1, where the engine uses one.
  var spread: Double { 0 }
  /// A control connection is closed.
  func closed(_ id: ConnectionID) {}

  /// Reads and writes a connection that has reached READY.
  func converse(_ id: ConnectionID, _ connection: SimulatedConnection?) {
    guard let connection else { return world.fail("a conversation on a connection that has ended") }
    links[id] = SimulatedLink(connection, self) { [self] news in
      switch news {
      case .received(let message): feed(.received(id, message))
      case .broke(let fault): feed(.broke(id, fault))
      case .drained: feed(.drained(id))
      case .closed:
        links[id] = nil
        closed(id)
        feed(.closed(id, spread: spread))
      }
    }
  }

  override func letGo() {
    super.letGo()
    links = [:]
  }
}

extension Role {
  var index: Int { self == .sender ? 0 : 1 }
}
