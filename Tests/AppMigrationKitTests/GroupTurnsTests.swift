import Expectations
import Testing

@testable import AppMigrationKit

struct GroupTurnsTests {
  private var turns = GroupTurns<Int>()

  private mutating func begin(_ owner: Int, _ groups: Set<String>, as user: Int) -> GroupTurns<Int>.Beginning {
    turns.begin(groups, for: owner, else: user)
  }

  @Test mutating func `configurations without a common group run at the same time`() {
    let begun = [begin(1, ["a"], as: 1), begin(2, ["b", "c"], as: 2)]
    expect(begun, is: [.now, .now])
  }

  @Test mutating func `a configuration waits for each of its groups`() {
    let begun = [begin(1, ["a"], as: 1), begin(2, ["b"], as: 2), begin(3, ["a", "b"], as: 3)]
    expect(begun, is: [.now, .now, .later])
    let ended = [turns.end(["a"]), turns.end(["b"])]
    expect(ended, is: [[], [3]])
  }

  @Test mutating func `a later configuration does not overtake an earlier one`() {
    let begun = [begin(1, ["a"], as: 1), begin(2, ["a", "b"], as: 2), begin(3, ["b"], as: 3)]
    expect(begun, is: [.now, .later, .later])
    let ended = [turns.end(["a"]), turns.end(["a", "b"])]
    expect(ended, is: [[2], [3]])
  }

  @Test mutating func `an inner configuration does not wait behind one that waits for the outer one`() {
    let begun = [begin(1, ["a"], as: 1), begin(2, ["a", "b"], as: 2), begin(1, ["b"], as: 3)]
    expect(begun, is: [.now, .later, .now])
    let ended = [turns.end(["b"]), turns.end(["a"])]
    expect(ended, is: [[], [2]])
  }

  @Test mutating func `inner configurations that would wait for each other are refused`() {
    let begun = [
      begin(1, ["a"], as: 1), begin(2, ["b"], as: 2), begin(3, ["c"], as: 3), begin(1, ["b"], as: 4),
      begin(2, ["c"], as: 5), begin(3, ["a"], as: 6),
    ]
    expect(begun, is: [.now, .now, .now, .later, .later, .never])
  }
}
