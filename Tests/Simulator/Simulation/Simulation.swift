import MigrationArchive
import MigrationWire

/// One transfer over a bad network, with a bad disk and a changing source, determined by one seed.
public struct Simulation {
  public struct Outcome: Sendable {
    public let seed: UInt64
    /// The first promise that was broken; nil when all were kept.
    public fileprivate(set) var broken: String?
    /// The trace of events, if it was requested.
    public let trace: [String]
    public let traceHash: UInt64
    public let faults: Faults
    /// The bytes of content that were sent, and how many of them more than once.
    public let sentInAll: Int
    public let sentTwice: Int
    /// How many events there were.
    public let steps: Int
  }

  /// A transfer that has not ended after so many events, most of them without faults, never ends.
  private static let mostSteps = 60_000

  private let ground: Ground
  private let seed: UInt64
  private var dice: Dice { ground.world.dice }
  private var world: World { ground.world }

  /// Runs one seed until the simulation ends, and leaves no memory behind.
  ///
  /// If the receiver `keeps`, it stays after a transfer, and some seeds send several.
  public static func run(
    seed: UInt64, mutation: Mutation? = nil, keeps: Bool = false, keepsTrace: Bool = false
  ) -> Outcome {
    weak var remains: Ground?
    var outcome = {
      let simulation = Simulation(seed: seed, mutation: mutation, keeps: keeps, keepsTrace: keepsTrace)
      remains = simulation.ground
      return simulation.outcome()
    }()
    if remains != nil, outcome.broken == nil { outcome.broken = "the simulation's memory stays" }
    return outcome
  }

  private func outcome() -> Outcome {
    run()
    defer { ground.letGo() }
    return Outcome(
      seed: seed, broken: ground.world.broken, trace: ground.world.trace.lines, traceHash: ground.world.trace.hash,
      faults: ground.faults, sentInAll: ground.sentInAll, sentTwice: ground.sentTwice, steps: ground.steps)
  }

  private init(seed: UInt64, mutation: Mutation?, keeps: Bool, keepsTrace: Bool) {
    self.seed = seed
    ground = Ground(seed: seed, mutation: mutation, keeps: keeps, keepsTrace: keepsTrace)
  }

  private func run() {
    FaultPlan(ground).begin()
    world.after(dice.roll(0...5_000)) { ground.startReceiver() }
    world.after(dice.roll(0...5_000)) { ground.startSender() }
    while world.broken == nil, !isOver {
      if !ground.stepInside() { break }
      if ground.steps > Self.mostSteps { return world.fail("it does not end") }
    }
    guard world.broken == nil else { return }
    world.check(ground.isSenderDone, "no events are left, and the sender is not done")
    world.check(!ground.done.isEmpty, "the receiver is not done")
    // A finished transfer survives a power failure.
    ground.disk.losePower()
    if ground.isSettled { ground.checkDestination() }
    world.check(
      ground.sentTwice <= ground.allowedTwice,
      "\(ground.sentTwice) bytes were sent twice, at most \(ground.allowedTwice) are allowed")
  }

  /// Whether the sender is done and both processes have ended.
  private var isOver: Bool { ground.isSenderDone && ground.senders.isEmpty && ground.receiver == nil }
}
