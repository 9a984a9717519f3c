import MigrationWire
import Testing

@testable import MigrationEngine

@Suite struct NamedItemsTests {
  @Test func `what an earlier session of a run has named is not named again by one that only tells the end`() throws {
    let refusal = Refusal(path: try ArchivePath(Array("tree/taken".utf8)), generation: 1, reason: .nameTaken)
    var named = NamedItems()
    /// Whether the user is to hear of it.
    func isTold(_ refusal: Refusal, isAgain: Bool = false) -> Bool { named.add(refusal, isAgain: isAgain) }
    #expect(isTold(refusal))
    #expect(!isTold(refusal, isAgain: true))
    #expect(named.refusals == [refusal])
    // What a ledger tells anew begins without it.
    named = NamedItems()
    #expect(isTold(refusal, isAgain: true))
    for number in 0..<2 * Limits.unsent {
      let path = try ArchivePath(Array("\(number)".utf8))
      #expect(isTold(Refusal(path: path, generation: 1, reason: .other), isAgain: true))
    }
    #expect(named.refusals.count == Limits.unsent)
  }
}
