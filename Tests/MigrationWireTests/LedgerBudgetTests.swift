import Expectations
import Testing

@testable import MigrationWire

/// The additions that a session may bring to the held items: records, pieces, attempts.
@Suite struct LedgerBudgetTests {
  private let keys = TransferKeys(hashKey: 2)

  private func ledger(metadata: UInt64 = 1 << 30, items: UInt64 = 100, bytes: UInt64 = 1 << 30) -> Ledger {
    Ledger(keys: keys, bound: Bound(items: items, bytes: bytes, metadata: metadata))
  }

  private func place(
    _ range: Range<UInt64>, _ name: String = "f", generation: Generation = 1, isHole: Bool = false
  ) -> FilePiece {
    FilePiece(path: path(name), generation: generation, range: range, isHole: isHole)
  }

  private func record(_ name: String, _ body: ItemRecord.Body, generation: Generation = 1) -> ItemRecord {
    ItemRecord(path: path(name), generation: generation, body: body)
  }

  private func directory(_ name: String, generation: Generation = 1, attribute count: Int = 0) -> ItemRecord {
    var record = record(name, .directory, generation: generation)
    if count > 0 {
      record.attributes = [ExtendedAttribute(name: ascii("user.a"), value: [UInt8](repeating: 1, count: count))]
    }
    return record
  }

  private func make(_ record: ItemRecord, in ledger: inout Ledger) throws {
    expect(try ledger.receive(record, hasContent: false), is: .create(discarded: nil))
    try ledger.finish(record)
  }

  // MARK: Records

  @Test func `records are taken up to the last announced byte, and not one further`() throws {
    let records = (0..<4).map { directory("d\($0)", attribute: 100) }
    let length = records.reduce(0) { $0 + UInt64($1.length) }
    for (bound, isTaken) in [(length, true), (length - 1, false)] {
      var ledger = ledger(metadata: bound)
      for record in records.dropLast() { try make(record, in: &ledger) }
      expect(
        (violation { () throws(Violation) in _ = try ledger.receive(records[3], hasContent: false) } == nil),
        is: isTaken)
    }
    var ledger = ledger(metadata: length - 1)
    for record in records.dropLast() { try make(record, in: &ledger) }
    #expect(throws: Violation(.announcement, "the items' metadata")) {
      try ledger.receive(records[3], hasContent: false)
    }
  }

  @Test func `records of files count, with content and without`() throws {
    let (small, large) = (record("small", .file(size: 5)), record("large", .file(size: 5)))
    var ledger = ledger(metadata: UInt64(small.length + large.length))
    expect(try ledger.receive(small, hasContent: true), is: .create(discarded: nil))
    try ledger.finish(small)
    expect(try ledger.receive(large, hasContent: false), is: .create(discarded: nil))
    _ = try ledger.await(large)
    expect(ledger.metadata, is: UInt64(small.length + large.length))
    expect(
      violation { () throws(Violation) in _ = try ledger.receive(record("x", .file(size: 0)), hasContent: false) },
      is: .announcement)
  }

  @Test func `repeated entries cost nothing`() throws {
    var ledger = ledger()
    try make(directory("d"), in: &ledger)
    let file = record("f", .file(size: 9))
    _ = try ledger.admit(place(0..<4))
    _ = ledger.stage(place(0..<4))
    expect(try ledger.receive(file, hasContent: false), is: .waiting)
    let before = ledger.metadata
    for _ in 0..<100 {
      expect(try ledger.receive(directory("d"), hasContent: false), is: .held)
      expect(try ledger.receive(file, hasContent: false), is: .held)
      expect(try ledger.admit(place(0..<4)), is: .held)
    }
    expect(ledger.metadata, is: before)
  }

  @Test func `another session counts anew`() throws {
    let first = directory("a", attribute: 50)
    let bound = Bound(items: 1, bytes: 0, metadata: UInt64(first.length))
    var ledger = Ledger(keys: keys, bound: bound)
    for name in ["a", "b", "c"] {
      try make(directory(name, attribute: 50), in: &ledger)
      ledger.place(directory(name), at: 1)
      expect(
        violation { () throws(Violation) in _ = try ledger.receive(directory("x"), hasContent: false) },
        is: .announcement)
      ledger.begin(bound)
    }
    expect(ledger.total.items, is: 3)
  }

  @Test func `over an estimate every record that arrives brings room of its own`() throws {
    var ledger = Ledger(keys: keys, bound: Bound(items: 100, bytes: 1 << 30, metadata: 1_000, metadataPerItem: 300))
    for number in 0..<20 { try make(directory("d\(number)", attribute: 200), in: &ledger) }
    // 20 records of less than 300 bytes: the rest of their room, and the fixed part, hold as many
    // pieces.
    let left = 1_000 + 20 * 300 - ledger.metadata
    for piece in 0..<left / 97 { _ = try ledger.admit(place(2 * piece..<2 * piece + 1, isHole: true)) }
    #expect(throws: Violation(.announcement, "the items' metadata")) {
      try ledger.admit(place(1_000_000..<1_000_001, isHole: true))
    }
  }

  // MARK: Pieces

  @Test func `pieces count as far as they bring less than they cost`() throws {
    var ledger = ledger(metadata: 3 * 97)
    for hole in 0..<3 as Range<UInt64> { _ = try ledger.admit(place(hole * 2..<hole * 2 + 1, isHole: true)) }
    #expect(throws: Violation(.announcement, "the items' metadata")) { try ledger.admit(place(6..<7, isHole: true)) }
    // Content counts nothing: a chunk whose content exceeds its own cost and that of a hole makes
    // room for both.
    ledger = self.ledger(metadata: 3 * 97)
    for hole in 0..<3 as Range<UInt64> { _ = try ledger.admit(place(hole * 2..<hole * 2 + 1, isHole: true)) }
    _ = try ledger.admit(place(1_000..<1_000 + 2 * 97))
    _ = try ledger.admit(place(6..<7, isHole: true))
    #expect(throws: Violation.self) { try ledger.admit(place(8..<9, isHole: true)) }
  }

  @Test func `a sparse file in blocks of half a kilobyte fits, however many there are`() throws {
    var ledger = ledger(metadata: 0)
    for block in 0..<5_000 as Range<UInt64> {
      for isHole in [false, true] {
        let start = block * 1_024 + (isHole ? 512 : 0)
        let place = place(start..<start + 512, isHole: isHole)
        _ = try ledger.admit(place)
        _ = ledger.stage(place)
      }
    }
    expect(ledger.metadata, is: 0)
  }

  @Test func `bytes count from when they are admitted, and their sum does not overflow`() throws {
    var ledger = ledger(items: 300, bytes: Limits.fileSize)
    let holes = (0..<3).map { place(0..<Limits.fileSize - 1, "f\($0)", isHole: true) }
    _ = try ledger.admit(holes[0])
    for hole in holes.dropFirst() {
      #expect(throws: Violation(.announcement, "the number of bytes")) { try ledger.admit(hole) }
    }
    _ = try ledger.admit(place(0..<1, "last"))
    for hole in holes { _ = ledger.stage(hole) }
    expect(ledger.heldBytes, is: Limits.fileSize - 1)
    ledger.begin(Bound(items: .max, bytes: Limits.fileSize, metadata: .max))
    expect(violation { () throws(Violation) in _ = try ledger.admit(place(1..<3, "last")) }, is: .announcement)
  }

  // MARK: States

  @Test func `one path has one state in one session, of any kind`() throws {
    let bodies: [ItemRecord.Body] = [.directory, .hardLink(target: path("f"))]
    for body in bodies {
      var ledger = ledger()
      try make(record("x", body), in: &ledger)
      for other in bodies + [.file(size: 0), .symbolicLink(target: [1]), .file(size: 9)] {
        #expect(throws: Violation(.conflict, "a second state of an item")) {
          try ledger.receive(record("x", other, generation: 2), hasContent: false)
        }
      }
      #expect(throws: Violation.self) { try ledger.admit(place(0..<1, "x", generation: 2)) }
      #expect(throws: Violation.self) {
        try ledger.receive(record("x", .file(size: 1), generation: 2), hasContent: true)
      }
    }
  }

  @Test func `a file that changes starts afresh eight times for each item, and not once more`() throws {
    var ledger = ledger(items: 2)
    for generation in 0...16 as ClosedRange<Generation> {
      _ = try ledger.admit(place(0..<400, generation: generation))
      _ = ledger.stage(place(0..<400, generation: generation))
    }
    #expect(throws: Violation(.announcement, "the number of files that were started afresh")) {
      try ledger.admit(place(0..<400, generation: 17))
    }
    // All of the bytes come eight times at most.
    ledger = self.ledger(bytes: 100)
    for generation in 0...8 as ClosedRange<Generation> {
      _ = try ledger.admit(place(0..<100, generation: generation))
      _ = ledger.stage(place(0..<100, generation: generation))
    }
    #expect(throws: Violation.self) { try ledger.admit(place(0..<100, generation: 9)) }
  }

  @Test func `the next session forgets the items that the journal does not have`() throws {
    var ledger = ledger()
    for name in ["a", "b"] { try make(directory(name), in: &ledger) }
    ledger.place(directory("a"), at: 5)
    ledger.begin(Bound(items: 1, bytes: 0, metadata: 1_000))
    expect(ledger.total.items == 1 && ledger.holds(directory("a")) && !ledger.holds(directory("b")))
    expect(ledger.directoryPositions, is: [5])
    expect(ledger.digest, is: keys.mark(path: path("a"), generation: 1))
  }

  @Test func `directories come deepest first, links in their order`() throws {
    var ledger = ledger()
    for (position, name) in ["a", "a/b/c", "a/b", "z/b"].enumerated() {
      try make(directory(name), in: &ledger)
      ledger.place(directory(name), at: UInt64(position))
    }
    for (position, name) in ["y", "x"].enumerated() {
      let link = record(name, .hardLink(target: path("f")))
      try make(link, in: &ledger)
      ledger.place(link, at: UInt64(10 + position))
    }
    expect(ledger.directoryPositions, is: [1, 2, 3, 0])
    expect(ledger.linkPositions, is: [10, 11])
  }

  @Test func `a state that was told with two sizes is forgotten without a trap`() throws {
    var ledger = ledger()
    try ledger.finish(record("f", .file(size: 5)))
    ledger.drop(record("f", .file(size: 1_000)))
    expect(ledger.total == Tally() && ledger.digest == 0)
  }

  // MARK: Offers

  @Test func `an offer lets every item have the longest record`() {
    let contents = Offer.Contents.folders([])
    let bound = { (items: UInt64, flags: Offer.Flags) in
      Offer(contents: contents, items: items, bytes: 0, allocated: 0, flags: flags).bound
    }
    expect(bound(100, []).metadata, is: 100 * 327_680 + 16_777_216)
    expect(bound(0, []).metadata, is: 16_777_216)
    expect(bound(Limits.fileSize, []).metadata, is: Limits.fileSize + Limits.fileSize / 4 + 16_777_216)
    let estimated = bound(100, .estimated)
    expect(estimated.metadata == 16_777_216 && estimated.metadataPerItem == 262_144)
  }
}
