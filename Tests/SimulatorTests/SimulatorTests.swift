import Testing
import TransferSimulator

@Suite struct SimulatorTests {
  @Test func `seeds hold`() {
    for seed in 1...10 as ClosedRange<UInt64> {
      let outcome = Simulation.run(seed: seed)
      #expect(outcome.broken == nil, "seed \(seed)")
    }
  }
}
