import Testing
import TransferSimulator

/// Runs a few seeds with the checks of a debug build. `Scripts/check` runs 10,000 seeds of a release
/// build, and shows that the simulator detects mistakes.
@Suite struct SimulatorTests {
  private static let count: UInt64 = 80

  /// Every attempted fault must really occur.
  @Test func `every promise is kept, and every kind of fault occurs`() {
    var faults = Faults()
    var sentTwice = 0
    for seed in 1...Self.count {
      let outcome = Simulation.run(seed: seed)
      #expect(outcome.broken == nil, "Scripts/simulate --seed \(seed) --trace")
      faults.add(outcome.faults)
      sentTwice += outcome.sentTwice
    }
    let counts = [
      faults.cuts, faults.streamCuts, faults.senderKills, faults.receiverKills, faults.importKills, faults.powerLosses,
      faults.diskErrors, faults.refusals, faults.changes, sentTwice, faults.outages, faults.sleeps, faults.stalls,
      faults.stops, faults.strangers, faults.twins, faults.impostors, faults.partFaults,
    ]
    #expect(counts.allSatisfy { $0 > 0 }, "\(counts)")
  }

  @Test func `every promise is kept by a receiver that stays`() {
    for seed in 1...Self.count {
      let broken = Simulation.run(seed: seed, keeps: true).broken
      #expect(broken == nil, "Scripts/simulate --seed \(seed) --keep --trace")
    }
  }

  /// The sender's streams are given up while the DONE of a part is being recorded.
  @Test func `every promise is kept by a seed that found a mistake`() {
    #expect(Simulation.run(seed: 4_508).broken == nil)
  }

  /// In the first, an item was refused, and the source has lost it when its part is imported again. In
  /// the second, the receiver is stopped while data of its last part, which has failed, is under way.
  @Test(arguments: [6_030, 20_590] as [UInt64])
  func `every promise is kept by seeds of a receiver that stays`(seed: UInt64) {
    #expect(Simulation.run(seed: seed, keeps: true).broken == nil)
  }

  /// The only thread that is lacking is that of a new code, whose failure ends the receiver a moment
  /// later.
  @Test(arguments: [409, 603] as [UInt64])
  func `a receiver that stays may end for lack of threads`(seed: UInt64) {
    #expect(Simulation.run(seed: seed, keeps: true).broken == nil)
  }

  @Test func `a seed replays exactly`() {
    for seed in 1...8 as ClosedRange<UInt64> {
      let (once, again) = (Simulation.run(seed: seed), Simulation.run(seed: seed))
      #expect(once.traceHash == again.traceHash, "seed \(seed)")
    }
  }

  @Test func `a failing seed replays exactly`() throws {
    let mutation = Mutation.journalBeforeSyncing
    let seed = try #require((1...300).first { Simulation.run(seed: $0, mutation: mutation).broken != nil })
    let once = Simulation.run(seed: seed, mutation: mutation, keepsTrace: true)
    let again = Simulation.run(seed: seed, mutation: mutation, keepsTrace: true)
    #expect(once.broken == again.broken)
    #expect(once.trace == again.trace)
  }
}
