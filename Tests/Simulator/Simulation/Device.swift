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
  let ground: Ground
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

  init(_ ground: Ground, _ role: Role) {
    self.ground = ground
    self.role = role
    world = ground.world
    ground.devices.append(self)
  }

  // MARK: Time

  /// Does something after a delay if the process still runs then; a sleeping device does it when it
  /// wakes.
  func run(after delay: Int, _ body: @escaping () -> Void) {
    world.after(delay) { [self] in whenAwake(body) }
  }

  func whenAwake(_ body: @escaping () -> Void) {
    guard isAlive else { return }
    let wake = ground.asleep[role.index]
    if wake > world.now { return run(after: wake - world.now, body) }
    body()
  }

  /// Does something that needs the device's disk, which may hang, in the same way.
  func onDisk(after delay: Int, _ body: @escaping () -> Void) {
    run(after: delay) { [self] in
      let end = ground.stalled[role.index]
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
      world.now - moment < bound + ground.sleptSince(moment, role), "the \(role) runs though its user has stopped it")
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
    let isLacking = ground.lacksThreads && world.dice.one(in: 40)
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
    run(after: Int(Curfew.atTheEnd * 1e6)) { [self] in exit(isCurfew: true) }
    run(after: 0) { [self] in exitIfPossible() }
  }

  private func exitIfPossible() {
    if isAlive, isFinished, workers.isEmpty { exit(isCurfew: false) }
  }

  private func exit(isCurfew: Bool) {
    guard isAlive else { return }
    // The remaining workers wait for a hanging disk.
    let busyUntil = max(ground.stalled[role.index], ground.asleep[role.index])
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

extension Role {
  var index: Int { self == .sender ? 0 : 1 }
}
