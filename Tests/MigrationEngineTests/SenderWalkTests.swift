import Testing

@testable import MigrationEngine

@Suite struct SenderWalkTests {
  @Test func `the invariants hold after any events in any order, and every run ends once`() {
    var steps = 0
    var done = 0
    var phases: Set<String> = []
    for seed in 1...1000 as ClosedRange<UInt64> {
      var walk = SenderWalk(seed: seed)
      walk.run()
      #expect(walk.broken == nil, "seed \(seed)")
      steps += walk.steps
      done += walk.isDone ? 1 : 0
      phases.formUnion(walk.phases)
    }
    #expect(steps > 20_000)
    #expect((100...900).contains(done))
    // The walks have seen all of them.
    #expect(
      phases == [
        "looking", "searching", "choosing", "probing", "asking", "deriving", "dialing", "waiting", "conversing",
        "closing", "finishing", "over",
      ])
  }
}
