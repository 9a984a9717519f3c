import Testing

@testable import AppMigrationKit

struct GroupTurnsTests {
  private var turns = GroupTurns<Int>()

  @Test mutating func `users without a common group run at the same time`() {
    let begun = [turns.begin(["a"], else: 1), turns.begin(["b", "c"], else: 2)]
    #expect(begun == [true, true])
  }

  @Test mutating func `a user waits for each of its groups`() {
    let begun = [turns.begin(["a"], else: 1), turns.begin(["b"], else: 2), turns.begin(["a", "b"], else: 3)]
    #expect(begun == [true, true, false])
    let ended = [turns.end(["a"]), turns.end(["b"])]
    #expect(ended == [[], [3]])
  }

  @Test mutating func `a later user does not overtake an earlier one`() {
    let begun = [turns.begin(["a"], else: 1), turns.begin(["a", "b"], else: 2), turns.begin(["b"], else: 3)]
    #expect(begun == [true, false, false])
    let ended = [turns.end(["a"]), turns.end(["a", "b"])]
    #expect(ended == [[2], [3]])
  }
}
