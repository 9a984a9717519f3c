import MigrationArchive
import MigrationWire

/// One transfer over a bad network, a bad disk and a restless source, all from one seed.
public struct Simulation {
  public struct Outcome: Sendable {
    public let seed: UInt64
    /// The first promise that was broken; nil when all held.
    public let broken: String?
    public let trace: [String]
    public let traceHash: UInt64
    public let faults: Faults
    /// Bytes of content that went out, and how many of them more than once.
    public let sentInAll: Int
    public let sentTwice: Int
  }

  /// A transfer that has not ended after so many events, most of them without faults, never will.
  private static let mostSteps = 30_000

  private let ground: Ground
  private let seed: UInt64
  private var dice: Dice { ground.world.dice }
  private var world: World { ground.world }

  /// Runs one seed to its end.
  public static func run(seed: UInt64, mutation: Mutation? = nil, keepsTrace: Bool = false) -> Outcome {
    let simulation = Simulation(seed: seed, mutation: mutation, keepsTrace: keepsTrace)
    simulation.run()
    let ground = simulation.ground
    return Outcome(
      seed: seed, broken: ground.world.broken, trace: ground.world.trace.lines, traceHash: ground.world.trace.hash,
      faults: ground.faults, sentInAll: ground.sentInAll, sentTwice: ground.sentTwice)
  }

  private init(seed: UInt64, mutation: Mutation?, keepsTrace: Bool) {
    self.seed = seed
    ground = Ground(seed: seed, mutation: mutation, keepsTrace: keepsTrace)
  }

  private func run() {
    planFaults()
    world.after(dice.roll(0...5_000)) { ground.startReceiver() }
    world.after(dice.roll(0...5_000)) { ground.startSender() }
    while world.broken == nil, !(ground.isSenderDone && ground.isReceiverDone) {
      ground.sender?.exportIfDue()
      guard ground.stepInside() else { break }
      if ground.steps > Self.mostSteps { return world.fail("it does not come to an end") }
      // A receiver that is done and whose sender missed it is started again by somebody, and the other way round.
      if ground.isSenderDone, ground.store?.done != nil { break }
    }
    guard world.broken == nil else { return }
    world.check(ground.isSenderDone, "nothing happens any more, and the sender is not done")
    world.check(ground.store?.done != nil, "the receiver is not done")
    // Done is done for good.
    ground.disk.losePower()
    ground.checkDestination()
    world.check(
      ground.sentTwice <= ground.allowedTwice,
      "\(ground.sentTwice) bytes were sent twice, \(ground.allowedTwice) may be")
  }

  /// When what will go wrong. After a while nothing does any more.
  private func planFaults() {
    let span = dice.roll(5_000...400_000)
    func someTime() -> Int { dice.roll(1_000...span) }
    for _ in 0..<dice.roll(0...4) {
      world.after(someTime()) {
        ground.tally.cuts += 1
        ground.network.cut(all: true)
      }
    }
    for _ in 0..<dice.roll(0...4) {
      world.after(someTime()) {
        ground.tally.streamCuts += 1
        ground.network.cut(all: false)
      }
    }
    for _ in 0..<dice.roll(0...3) {
      world.after(someTime()) {
        ground.tally.senderKills += 1
        ground.sender?.die("by a kill")
      }
    }
    for _ in 0..<dice.roll(0...3) {
      // In the middle of whatever it does next.
      world.after(someTime()) {
        ground.tally.receiverKills += 1
        if dice.one(in: 2) {
          ground.disk.operationsToLive = dice.roll(0...60)
        } else {
          ground.receiver?.die("by a kill")
        }
      }
    }
    for _ in 0..<(dice.one(in: 2) ? dice.roll(1...3) : 0) { world.after(someTime()) { ground.losePower() } }
    if dice.one(in: 3) { ground.importRisks = dice.roll(1...3) }
    if dice.one(in: 5) {
      world.after(someTime()) {
        ground.tally.diskErrors += 1
        ground.disk.isFailing = true
        world.after(dice.roll(1_000...50_000)) { ground.disk.isFailing = false }
      }
    }
    if dice.one(in: 2) {
      ground.source.changesLeft = dice.roll(1...14)
      for _ in 0..<dice.roll(1...10) { world.after(someTime()) { ground.source.change() } }
      world.after(span + 1) { ground.source.changesLeft = 0 }
    }
  }
}
