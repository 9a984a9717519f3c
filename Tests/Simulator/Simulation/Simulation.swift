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

  private let scene: Scene
  private let seed: UInt64
  private var dice: Dice { scene.world.dice }
  private var world: World { scene.world }

  /// Runs one seed until the simulation ends, and leaves no memory behind.
  ///
  /// If the receiver `keeps`, it stays after a transfer, and some seeds send several.
  public static func run(
    seed: UInt64, mutation: Mutation? = nil, keeps: Bool = false, keepsTrace: Bool = false
  ) -> Outcome {
    weak var remains: Scene?
    var outcome = {
      let simulation = Simulation(seed: seed, mutation: mutation, keeps: keeps, keepsTrace: keepsTrace)
      remains = simulation.scene
      return simulation.outcome()
    }()
    if remains != nil, outcome.broken == nil { outcome.broken = "the simulation's memory stays" }
    return outcome
  }

  private func outcome() -> Outcome {
    run()
    defer { scene.letGo() }
    return Outcome(
      seed: seed, broken: scene.world.broken, trace: scene.world.trace.lines, traceHash: scene.world.trace.hash,
      faults: scene.faults, sentInAll: scene.sentInAll, sentTwice: scene.sentTwice, steps: scene.steps)
  }

  private init(seed: UInt64, mutation: Mutation?, keeps: Bool, keepsTrace: Bool) {
    self.seed = seed
    scene = Scene(seed: seed, mutation: mutation, keeps: keeps, keepsTrace: keepsTrace)
  }

  private func run() {
    FaultPlan(scene).begin()
    world.after(dice.roll(0...5_000)) { scene.startReceiver() }
    world.after(dice.roll(0...5_000)) { scene.startSender() }
    while world.broken == nil, !isOver {
      if !scene.stepInside() { break }
      if scene.steps > Self.mostSteps { return world.fail("it does not end") }
    }
    guard world.broken == nil else { return }
    world.check(scene.isSenderDone, "no events are left, and the sender is not done")
    world.check(!scene.done.isEmpty, "the receiver is not done")
    // A finished transfer survives a power failure.
    scene.disk.losePower()
    scene.checkFinished()
    world.check(
      scene.sentTwice <= scene.allowedTwice,
      "\(scene.sentTwice) bytes were sent twice, at most \(scene.allowedTwice) are allowed")
  }

  /// Whether the sender is done and both processes have ended.
  private var isOver: Bool { scene.isSenderDone && scene.senders.isEmpty && scene.receiver == nil }
}
