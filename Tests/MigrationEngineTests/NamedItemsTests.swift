import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

@Suite struct NamedItemsTests {
  @Test func `a session that only delivers the result does not repeat names of an earlier session`() throws {
    let refusal = NotStored(path: try ArchivePath(Array("tree/taken".utf8)), generation: 1, .nameTaken)
    var named = NamedItems()
    /// Whether to tell the user.
    func isTold(_ refusal: NotStored, isAgain: Bool = false) -> Bool { named.add(refusal, isAgain: isAgain) }
    expect(isTold(refusal))
    expect(!isTold(refusal, isAgain: true))
    expect(named.refusals, is: [refusal])
    // A new ledger begins with an empty list.
    named = NamedItems()
    expect(isTold(refusal, isAgain: true))
    for number in 0..<2 * Limits.notStored {
      let path = try ArchivePath(Array("\(number)".utf8))
      expect(isTold(NotStored(path: path, generation: 1, .other), isAgain: true))
    }
    expect(named.refusals.count, is: Limits.notStored)
  }
  @Test func `items that the source no longer has are found, and make room for other names`() throws {
    let keys = TransferKeys(hashKey: 2)
    let refusals = try (0..<Limits.notStored).map {
      NotStored(path: try ArchivePath(Array("\($0)".utf8)), generation: 1, .other)
    }
    var named = NamedItems(refusals)
    named.drop([], keys)
    expect(named.refusals, is: refusals)
    let gone = (refusals.prefix(100).compactMap { $0.mark(keys) } + [0, .max]).sorted()
    named.drop(gone, keys)
    expect(named.refusals, is: Array(refusals.dropFirst(100)))
    expect(gone.allSatisfy { named.isGone($0) })
    expect(refusals.dropFirst(100).allSatisfy { !named.isGone($0.mark(keys)) })
    for refusal in refusals.prefix(200) { _ = named.add(refusal) }
    expect(named.refusals.count, is: Limits.notStored)
  }
}
