import MigrationWire
import TestSupport
import Testing

@testable import MigrationEngine

/// After any events in any order, the receiver's actions can be performed, and its run ends.
/// Each takes 4 walks in a round.
@Suite struct ReceiverWalkTests {
  private static let walks = 4 * UInt64(Rounds.count)

  @Test(arguments: [4, 1] as [UInt8])
  func `the invariants hold after any events, and the run ends when it is stopped`(senders: UInt8) {
    var seen: [String: Int] = [:]
    for seed in 0..<Self.walks {
      var walk = ReceiverWalk(seed: seed, senders: senders)
      walk.feed(.begin)
      for _ in 0..<600 where walk.result == nil && walk.broken == nil { walk.step() }
      walk.wind()
      #expect(walk.broken == nil, "seed \(seed): \(walk.trail.suffix(4))")
      #expect(walk.result != nil || walk.broken != nil, "seed \(seed) does not end")
      seen.merge(walk.seen, uniquingKeysWith: +)
    }
    // A walk that reaches no action proves nothing.
    for action in ["serve", "importItems", "discard", "endStream", "finish"] {
      #expect(seen[action, default: 0] > 0, "\(action)")
    }
  }

  @Test(arguments: [(4, 1), (1, 1), (4, 3)] as [(UInt8, Int)])
  func `the invariants hold for a receiver that stays too`(senders: UInt8, atOnce: Int) {
    var (seen, most, served): ([String: Int], Int, Int) = ([:], 0, 0)
    for seed in 0..<Self.walks {
      var walk = ReceiverWalk(seed: seed, senders: senders, keeps: true, atOnce: atOnce)
      walk.feed(.begin)
      for _ in 0..<700 where walk.result == nil && walk.broken == nil {
        walk.step()
        served = max(served, walk.engine.phase.engaged)
      }
      walk.wind()
      #expect(walk.broken == nil, "seed \(seed): \(walk.broken ?? "") \(walk.trail.suffix(4))")
      #expect(walk.result != nil || walk.broken != nil, "seed \(seed) does not end")
      seen.merge(walk.seen, uniquingKeysWith: +)
      most = max(most, walk.finished.count)
    }
    #expect(most > 2, "no walk takes more than two")
    #expect(served == atOnce)
    for action in ["serve", "importItems", "discard", "endStream", "finish", "release", "retake", "forget"] {
      #expect(seen[action, default: 0] > 0, "\(action)")
    }
  }
}
