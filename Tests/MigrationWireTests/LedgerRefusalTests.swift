import Expectations
import TestSupport
import Testing

@testable import MigrationWire

/// Items that the destination cannot hold count like those that are held, in totals and digest, and
/// nothing of them is there.
@Suite struct LedgerRefusalTests {
  private let keys = TransferKeys(hashKey: 2)

  private func ledger() -> Ledger { Ledger(keys: keys, bound: Bound(items: 1_000, bytes: 1 << 20, metadata: 1 << 20)) }
  private func file(_ name: String, _ size: UInt64 = 100, generation: Generation = 1) -> ItemRecord {
    ItemRecord(path: path(name), generation: generation, body: .file(size: size))
  }
  private func place(_ range: Range<UInt64>, _ name: String, generation: Generation = 1) -> FilePiece {
    FilePiece(path: path(name), generation: generation, range: range, isHole: false)
  }
  private func mark(_ record: ItemRecord) -> Mark { keys.mark(path: record.path, generation: record.generation) }
  private func finish(_ records: [ItemRecord]) -> Finish {
    Finish(
      total: Tally(items: UInt64(records.count), bytes: records.reduce(0) { $0 + $1.size }), unsent: 0,
      digest: records.reduce(0) { $0 &+ mark($1) })
  }

  @Test func `the sender's totals are those of the held and the refused items together`() throws {
    var ledger = ledger()
    let (kept, refused) = (file("a"), file("a:b", 7))
    expect(try ledger.receive(kept, hasContent: true), is: .create(discarded: nil))
    try ledger.finish(kept)
    expect(try ledger.receive(refused, hasContent: true), is: .create(discarded: nil))
    ledger.refuse(refused)
    expect(ledger.agrees(with: finish([kept, refused])) && !ledger.agrees(with: finish([kept])))
    expect(ledger.total == Tally(items: 1, bytes: 100) && ledger.refusedTotal == Tally(items: 1, bytes: 7))
    expect(ledger.heldBytes == 100 && ledger.marks == [mark(kept), mark(refused)].sorted())
    expect(try ledger.receive(refused, hasContent: true), is: .held)
    expect(ledger.refuses(path: path("a:b")) && !ledger.refuses(path: path("a")))
  }

  @Test func `a file that a chunk shows to be too large takes nothing more, and counts with its record`() throws {
    var ledger = ledger()
    expect(try ledger.admit(place(0..<50, "big")), is: .write(0, isNew: true, discarded: nil))
    expect(ledger.stage(place(0..<50, "big")) == nil)
    expect(try ledger.admit(place(50..<60, "big")), is: .write(0, isNew: false, discarded: nil))
    expect(ledger.refusable(path("big"), 1)?.number == 0 && ledger.refusable(path("big"), 2) == nil)
    let refused = ledger.refuse(path("big"), 1)
    let told = try #require(refused)
    expect(told.number == 0 && told.record == nil)
    expect(ledger.refusable(path("big"), 1) == nil && ledger.refuse(path("big"), 1) == nil)
    // The bytes that another stream was just writing do not count.
    expect(ledger.stage(place(50..<60, "big")) == nil)
    expect(try ledger.admit(place(60..<100, "big")), is: .held)
    expect(ledger.heldBytes == 0 && ledger.partials.isEmpty && ledger.refusedTotal == Tally())
    expect(!ledger.agrees(with: finish([file("big")])))
    expect(try ledger.receive(file("big"), hasContent: false), is: .refused)
    expect(ledger.refuse(file("big")) == nil)
    expect(ledger.agrees(with: finish([file("big")])) && ledger.dropIncomplete().isEmpty)
  }

  @Test func `a record that came before its chunks is refused with them`() throws {
    var ledger = ledger()
    expect(try ledger.receive(file("big"), hasContent: false), is: .create(discarded: nil))
    let number = try ledger.await(file("big"))
    _ = try ledger.admit(place(0..<50, "big"))
    let refused = ledger.refuse(path("big"), 1)
    let told = try #require(refused)
    expect(told.number == number && told.record == file("big"))
    expect(ledger.agrees(with: finish([file("big")])))
  }

  @Test func `a record of an earlier session counts for a refused file once it has come again`() throws {
    var ledger = ledger()
    expect(try ledger.receive(file("big"), hasContent: false), is: .create(discarded: nil))
    _ = try ledger.await(file("big"))
    ledger.begin(Bound(items: 1_000, bytes: 1 << 20, metadata: 1 << 20))
    _ = try ledger.admit(place(0..<50, "big"))
    _ = ledger.refuse(path("big"), 1)
    expect(ledger.unvouched, is: [mark(file("big"))])
    expect(try ledger.receive(file("big"), hasContent: false), is: .held)
    expect(ledger.unvouched.isEmpty && ledger.agrees(with: finish([file("big")])))
  }

  @Test func `another state of a refused file is tried`() throws {
    var ledger = ledger()
    _ = try ledger.admit(place(0..<50, "big"))
    _ = ledger.refuse(path("big"), 1)
    // Nothing is staged of the refused one that would have to go.
    expect(try ledger.admit(place(0..<50, "big", generation: 2)), is: .write(1, isNew: true, discarded: nil))
    expect(ledger.stage(place(0..<50, "big", generation: 2)) == nil && ledger.heldBytes == 50)
  }

  @Test func `later sessions remember, until the source has it no longer`() throws {
    var ledger = ledger()
    ledger.refuse(file("a:b", 7))
    ledger.begin(Bound(items: 0, bytes: 0, metadata: 1 << 20))
    expect(ledger.agrees(with: finish([file("a:b", 7)])))
    expect(try ledger.receive(file("a:b", 7), hasContent: true), is: .held)
    ledger.dropRefused(mark(file("a:b", 7)))
    expect(ledger.agrees(with: finish([])) && !ledger.refuses(path: path("a:b")) && ledger.marks.isEmpty)
  }

  @Test func `a claim of the journal is taken back`() throws {
    var ledger = ledger()
    ledger.restore(refused: path("a:b"), 1, size: 7)
    ledger.restore(refused: path("big"), 7, size: nil)
    ledger.restore(refused: path("big"), 1, size: nil)
    expect(ledger.agrees(with: finish([file("a:b", 7)])) && ledger.isRefused(path("big"), 1))
    expect(try ledger.admit(place(0..<10, "big")), is: .held)
    expect(try ledger.receive(file("big"), hasContent: false), is: .refused)
  }

  @Test func `a journal that claims an item first as complete and then as refused counts it once`() throws {
    var ledger = ledger()
    try ledger.finish(file("a", 7))
    ledger.restore(refused: path("a"), 1, size: 7)
    expect(ledger.marks == [mark(file("a", 7))] && ledger.agrees(with: finish([file("a", 7)])))
    expect(ledger.total == Tally() && ledger.refusedTotal == Tally(items: 1, bytes: 7))
  }

  @Test func `an item that is complete and cannot be put in its place counts as refused`() throws {
    var ledger = ledger()
    let link = ItemRecord(path: path("again"), generation: 3, body: .hardLink(target: path("a")))
    try ledger.finish(file("a"))
    try ledger.finish(link)
    ledger.refuse(link)
    expect(ledger.agrees(with: finish([file("a"), link])) && ledger.linkPositions.isEmpty)
    expect(ledger.total == Tally(items: 1, bytes: 100) && ledger.refusedTotal == Tally(items: 1, bytes: 0))
  }

  @Test func `refused items count among those that were announced`() throws {
    var ledger = Ledger(keys: keys, bound: Bound(items: 2, bytes: 1_000, metadata: 1 << 20))
    for name in ["a", "b"] {
      _ = try ledger.receive(file(name, 1), hasContent: true)
      ledger.refuse(file(name, 1))
    }
    #expect(throws: Violation.self) { try ledger.receive(file("c", 1), hasContent: true) }
  }

  @Test func `refused files without records take no place of incomplete ones, and are bounded like them`() throws {
    var ledger = ledger()
    for index in 0..<Limits.incompleteFiles {
      _ = try ledger.admit(place(0..<1, "f\(index)"))
      _ = ledger.refuse(path("f\(index)"), 1)
    }
    #expect(throws: Violation.self) { try ledger.admit(place(0..<1, "one more")) }
  }
}
