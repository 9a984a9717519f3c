import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct LedgerTests {
  private let keys = TransferKeys(hashKey: 2)
  private let size: UInt64 = 1_000

  private func ledger(items: UInt64 = 1_000, bytes: UInt64 = 1 << 30) -> Ledger {
    Ledger(keys: keys, bound: Bound(items: items, bytes: bytes, metadata: 1 << 30))
  }

  private func place(
    _ range: Range<UInt64>, _ name: String = "big", generation: Generation = 1, isHole: Bool = false
  ) -> FilePiece {
    FilePiece(path: path(name), generation: generation, range: range, isHole: isHole)
  }

  private func file(_ name: String = "big", size: UInt64? = nil, generation: Generation = 1) -> ItemRecord {
    ItemRecord(path: path(name), generation: generation, body: .file(size: size ?? self.size))
  }

  private func directory(_ name: String, generation: Generation = 1) -> ItemRecord {
    ItemRecord(path: path(name), generation: generation, body: .directory)
  }

  /// Admits and stages a chunk; the file's record, if that made it whole.
  private func write(_ place: FilePiece, to ledger: inout Ledger) throws -> ItemRecord? {
    guard case .write = try ledger.admit(place) else {
      Issue.record("\(place.range) is not written")
      return nil
    }
    return ledger.stage(place)?.1
  }

  @Test func `a big file arrives in order, its record last`() throws {
    var ledger = ledger()
    expect(try ledger.admit(place(0..<400)), is: .write(0, isNew: true, discarded: nil))
    expect(ledger.stage(place(0..<400)) == nil)
    expect(try ledger.admit(place(400..<1_000)), is: .write(0, isNew: false, discarded: nil))
    expect(ledger.stage(place(400..<1_000)) == nil)
    expect(ledger.incompleteBytes == 1_000 && ledger.total == Tally())
    expect(try ledger.receive(file(), hasContent: false), is: .complete(0))
    try ledger.finish(file())
    expect(ledger.total == Tally(items: 1, bytes: 1_000) && ledger.incompleteBytes == 0 && ledger.heldBytes == 1_000)
    expect(ledger.marks == [keys.mark(path: path("big"), generation: 1)] && ledger.digest == ledger.marks[0])
    expect(ledger.partials.isEmpty)
  }

  @Test func `chunks and holes come in any order around the record`() throws {
    var ledger = ledger()
    expect(try write(place(900..<1_000), to: &ledger) == nil)
    expect(try ledger.receive(file(), hasContent: false), is: .waiting)
    expect(try write(place(0..<100, isHole: true), to: &ledger) == nil)
    expect(
      ledger.partials, is: [Partial(path: path("big"), generation: 1, ranges: ByteRanges([0..<100, 900..<1_000]))])
    let last = place(100..<900)
    expect(try ledger.admit(last), is: .write(0, isNew: false, discarded: nil))
    let staged = ledger.stage(last)
    expect(staged?.0 == 0 && staged?.1 == file())
  }

  @Test func `a record may come before every chunk`() throws {
    var ledger = ledger()
    expect(try ledger.receive(file(), hasContent: false), is: .create(discarded: nil))
    let number = try ledger.await(file())
    expect(ledger.partials.isEmpty)
    expect(try ledger.admit(place(0..<999)), is: .write(number, isNew: false, discarded: nil))
    expect(ledger.stage(place(0..<999)) == nil)
    expect(try write(place(999..<1_000), to: &ledger), is: file())
  }

  @Test func `small items are made at once`() throws {
    var ledger = ledger()
    for (record, hasContent) in [
      (file("small", size: 5), true), (file("empty", size: 0), false), (directory("d"), false),
      (ItemRecord(path: path("l"), generation: 1, body: .symbolicLink(target: [1])), false),
      (ItemRecord(path: path("h"), generation: 1, body: .hardLink(target: path("small"))), false),
    ] {
      expect(try ledger.receive(record, hasContent: hasContent), is: .create(discarded: nil))
      try ledger.finish(record)
      expect(try ledger.receive(record, hasContent: hasContent), is: .held)
    }
    expect(ledger.total, is: Tally(items: 5, bytes: 5))
    expect(ledger.directoryPositions == [nil] && ledger.hasDirectory(path("d")) && !ledger.hasHardLink(path("d")))
    expect(ledger.linkPositions == [nil] && ledger.hasHardLink(path("h")) && !ledger.hasDirectory(path("h")))
  }

  @Test func `a held piece is held, before and after the file is complete`() throws {
    var ledger = ledger()
    _ = try write(place(0..<500), to: &ledger)
    expect(try ledger.admit(place(0..<500)) == .held && ledger.admit(place(10..<20)) == .held)
    _ = try write(place(500..<1_000), to: &ledger)
    expect(try ledger.admit(place(400..<600)), is: .held)
    _ = try ledger.receive(file(), hasContent: false)
    try ledger.finish(file())
    try ledger.finish(file())
    expect(try ledger.admit(place(0..<500)) == .held && ledger.receive(file(), hasContent: false) == .held)
    expect(ledger.total, is: Tally(items: 1, bytes: 1_000))
  }

  @Test func `the stream that completes a file learns it once, though its chunks and record come again`() throws {
    var ledger = ledger()
    let (half, rest) = (place(0..<500), place(500..<1_000))
    _ = try write(half, to: &ledger)
    expect(try ledger.receive(file(), hasContent: false), is: .waiting)
    // Two streams have it under way before either has written it.
    expect(try ledger.admit(rest) == ledger.admit(rest))
    expect(ledger.stage(rest)?.1, is: file())
    expect(ledger.stage(rest) == nil)
    expect(try ledger.receive(file(), hasContent: false), is: .held)
    expect(try ledger.admit(half), is: .held)
    try ledger.finish(file())
    expect(ledger.total == Tally(items: 1, bytes: 1_000) && ledger.incompleteBytes == 0)
  }

  @Test(arguments: [0..<101, 99..<201, 199..<300, 0..<1_000, 150..<250] as [Range<UInt64>])
  func `a chunk that is held in part is refused`(range: Range<UInt64>) throws {
    var ledger = ledger()
    _ = try write(place(100..<200), to: &ledger)
    #expect(throws: Violation(.conflict, "a chunk that is held in part")) { try ledger.admit(place(range)) }
  }

  @Test func `a chunk beyond the end of its file is refused`() throws {
    var ledger = ledger()
    _ = try write(place(0..<1), to: &ledger)
    _ = try ledger.receive(file(), hasContent: false)
    for range in [999..<1_001, 1_000..<1_001, 5_000..<5_001] as [Range<UInt64>] {
      #expect(throws: Violation.self) { try ledger.admit(place(range)) }
    }
  }

  @Test func `a record of a file smaller than its chunks is refused`() throws {
    var ledger = ledger()
    _ = try write(place(1_000..<1_001), to: &ledger)
    #expect(throws: Violation.self) { try ledger.receive(file(), hasContent: false) }
    #expect(throws: Violation.self) { try ledger.receive(file(size: 0), hasContent: false) }
    #expect(throws: Violation.self) { try ledger.receive(directory("big"), hasContent: false) }
    #expect(throws: Violation.self) { try ledger.receive(file(), hasContent: true) }
    expect(try ledger.receive(file(size: 1_001), hasContent: false), is: .waiting)
  }

  @Test func `a chunk that was admitted before a smaller record never completes the file`() throws {
    var ledger = ledger()
    _ = try write(place(0..<999), to: &ledger)
    _ = try ledger.admit(place(1_000..<1_001))
    _ = try ledger.receive(file(), hasContent: false)
    expect(ledger.stage(place(1_000..<1_001)) == nil)
    expect(try write(place(999..<1_000), to: &ledger) == nil)
  }

  @Test func `a second record that differs is refused`() throws {
    var ledger = ledger()
    _ = try write(place(0..<1), to: &ledger)
    _ = try ledger.receive(file(), hasContent: false)
    expect(try ledger.receive(file(), hasContent: false), is: .held)
    var other = file()
    other.mode = 0o600
    #expect(throws: Violation.self) { try ledger.receive(other, hasContent: false) }
    #expect(throws: Violation.self) { try ledger.receive(file(size: 1_001), hasContent: false) }
    #expect(throws: Violation.self) { try ledger.receive(file(size: 2), hasContent: true) }
  }

  @Test func `a second record of a directory that differs is refused, an equal one is held`() throws {
    var ledger = ledger()
    try ledger.finish(directory("d"))
    var other = directory("d")
    other.mode = 0o700
    expect(try ledger.receive(directory("d"), hasContent: false), is: .held)
    #expect(throws: Violation.self) { try ledger.receive(other, hasContent: false) }
    #expect(throws: Violation.self) { try ledger.finish(other) }
    expect(ledger.total, is: Tally(items: 1))
  }

  @Test func `a new generation discards the held parts of the old one`() throws {
    var ledger = ledger()
    _ = try write(place(0..<700), to: &ledger)
    expect(try ledger.admit(place(0..<10, generation: 2)), is: .write(1, isNew: true, discarded: 0))
    expect(ledger.incompleteBytes, is: 0)
    expect(ledger.stage(place(700..<800)) == nil)
    _ = ledger.stage(place(0..<10, generation: 2))
    expect(ledger.incompleteBytes, is: 10)
    expect(ledger.partials, is: [Partial(path: path("big"), generation: 2, ranges: ByteRanges([0..<10]))])
    expect(try ledger.receive(file(generation: 3), hasContent: true), is: .create(discarded: 1))
    expect(ledger.incompleteBytes == 0 && ledger.partials.isEmpty)
  }

  @Test func `in another session a new generation of a directory or hard link replaces the old one`() throws {
    var ledger = ledger()
    let link = ItemRecord(path: path("h"), generation: 1, body: .hardLink(target: path("f")))
    let old = [directory("d"), link]
    for record in old + [directory("d", generation: 2), file("h", size: 0, generation: 2)] {
      if record.generation == 2, ledger.total.items == 2, ledger.hasHardLink(path("h")), ledger.holds(old[0]) {
        ledger.begin(Bound(items: 10, bytes: 10, metadata: 1_000))
      }
      expect(try ledger.receive(record, hasContent: false), is: .create(discarded: nil))
      try ledger.finish(record)
      ledger.place(record, at: record.generation == 1 ? 7 : 9)
    }
    expect(ledger.total == Tally(items: 2, bytes: 0) && ledger.linkPositions.isEmpty)
    expect(ledger.directoryPositions == [9] && ledger.position(ofDirectory: path("d")) == 9)
    let marks = [keys.mark(path: path("d"), generation: 2), keys.mark(path: path("h"), generation: 2)]
    expect(ledger.marks == marks.sorted() && ledger.digest == marks[0] &+ marks[1])
  }

  @Test func `a file is whole by a record that comes in the session of its last bytes`() throws {
    var ledger = ledger()
    expect(try ledger.receive(file(), hasContent: false), is: .create(discarded: nil))
    expect(try ledger.await(file()), is: 0)
    ledger.begin(Bound(items: 10, bytes: 10_000, metadata: 1_000))
    // The file may have changed before these were read: their sender has not said yet that it did
    // not.
    expect(try write(place(0..<1_000), to: &ledger), is: file())
    try ledger.finish(file())
    expect(ledger.unvouched, is: [keys.mark(path: path("big"), generation: 1)])
    expect(try ledger.receive(file(), hasContent: false), is: .held)
    expect(ledger.unvouched.isEmpty && ledger.total.items == 1)
  }

  @Test func `an end that was not made in its session is made when the record comes again`() throws {
    var ledger = ledger()
    expect(try ledger.receive(file(), hasContent: false), is: .create(discarded: nil))
    _ = try ledger.await(file())
    expect(try write(place(0..<1_000), to: &ledger), is: file())
    ledger.begin(Bound(items: 10, bytes: 10_000, metadata: 1_000))
    expect(try ledger.admit(place(0..<1_000)), is: .held)
    expect(try ledger.receive(file(), hasContent: false), is: .complete(0))
    try ledger.finish(file())
    expect(ledger.total.items == 1 && ledger.unvouched.isEmpty)
  }

  @Test func `an item that is dropped is as if it had never come`() throws {
    var ledger = ledger()
    for record in [file("a", size: 7), directory("d"), file("b", size: 9)] { try ledger.finish(record) }
    let before = ledger.digest
    ledger.drop(file("a", size: 7))
    ledger.drop(directory("d"))
    ledger.drop(directory("d"))
    ledger.drop(file("b", size: 9, generation: 2))
    expect(ledger.total == Tally(items: 1, bytes: 9) && ledger.directoryPositions.isEmpty)
    expect(ledger.digest == keys.mark(path: path("b"), generation: 1) && before != ledger.digest)
    expect(try ledger.receive(file("a", size: 7), hasContent: true), is: .create(discarded: nil))
  }

  @Test func `count, sum and digest do not depend on the order`() throws {
    var random = Seeded(8)
    let records = (0..<50).map { file("f\($0)", size: UInt64($0), generation: Generation($0 % 3)) }
    var straight = ledger()
    for record in records { try straight.finish(record) }
    let finish = Finish(total: Tally(items: 50, bytes: 1_225), unsent: 0, digest: straight.digest)
    for _ in 0..<10 {
      var ledger = ledger()
      for record in records.shuffled(using: &random) { try ledger.finish(record) }
      expect(ledger.agrees(with: finish) && ledger.marks == straight.marks)
      expect(ledger.marks, is: ledger.marks.sorted())
    }
    expect(straight.digest, is: records.reduce(0) { $0 &+ keys.mark(path: $1.path, generation: $1.generation) })
    for other in [
      Finish(total: Tally(items: 49, bytes: 1_225), unsent: 0, digest: finish.digest),
      Finish(total: Tally(items: 50, bytes: 1_226), unsent: 0, digest: finish.digest),
      Finish(total: finish.total, unsent: 0, digest: finish.digest &+ 1),
    ] {
      expect(!straight.agrees(with: other))
    }
    let wrong = Finish(total: Tally(items: 49, bytes: 1_226), unsent: 0, digest: 0xAB)
    expect(
      straight.difference(from: wrong),
      is:
        "the sender counts 49 items, and this device counts 50; the sender counts 1226 bytes, and this device counts 1225; "
        + "the digest is "
        + "000000000000000000000000000000ab, and \(straight.digest.hexadecimal) is computed here")
  }

  @Test func `incomplete files are dropped on FINISH`() throws {
    var ledger = ledger()
    _ = try write(place(0..<1, "a"), to: &ledger)
    _ = try write(place(0..<1, "b"), to: &ledger)
    expect(ledger.dropIncomplete().sorted(), is: [path("a"), path("b")])
    expect(ledger.incompleteBytes == 0 && ledger.partials.isEmpty)
    expect(ledger.dropIncomplete(), is: [])
  }

  @Test func `bytes beyond the announcement are refused`() throws {
    var ledger = ledger(bytes: 100)
    _ = try write(place(0..<60), to: &ledger)
    #expect(throws: Violation(.announcement, "the number of bytes")) { try ledger.admit(place(60..<101)) }
    #expect(throws: Violation.self) { try ledger.admit(place(0..<41, "other")) }
    #expect(throws: Violation.self) { try ledger.receive(file("c", size: 41), hasContent: true) }
    #expect(throws: Violation.self) { try ledger.admit(place(60..<Limits.fileSize, isHole: true)) }
    _ = try write(place(60..<100), to: &ledger)
    expect(try ledger.admit(place(0..<60)), is: .held)
    // Another generation gives back what the first one took.
    #expect(throws: Violation.self) { try ledger.admit(place(0..<1, "other")) }
  }

  @Test func `items beyond the announcement are refused`() throws {
    var ledger = ledger(items: 3)
    for name in ["a", "b"] {
      _ = try ledger.receive(directory(name), hasContent: false)
      try ledger.finish(directory(name))
    }
    _ = try write(place(0..<1), to: &ledger)
    #expect(throws: Violation(.announcement, "the number of items")) {
      try ledger.receive(directory("c"), hasContent: false)
    }
    expect(try ledger.receive(directory("a"), hasContent: false), is: .held)
    expect(try ledger.receive(file(), hasContent: false), is: .waiting)
  }

  @Test func `256 files may be incomplete, and not one more`() throws {
    var ledger = ledger()
    for index in 0..<256 { _ = try write(place(0..<1, "f\(index)"), to: &ledger) }
    #expect(throws: Violation(.limit, "the list of incomplete files")) { try ledger.admit(place(0..<1, "one more")) }
    #expect(throws: Violation.self) { try ledger.await(file("one more")) }
    expect(try ledger.admit(place(0..<1, "f0", generation: 2)), is: .write(256, isNew: true, discarded: 0))
    expect(ledger.partials.count, is: 255)
    expect(ledger.partials.map(\.path), is: ledger.partials.map(\.path).sorted())
  }

  @Test func `a file in more pieces than can be told is refused`() throws {
    var ledger = ledger()
    var pieces = 0
    do throws(Violation) {
      while pieces < 100_000 {
        let start = UInt64(pieces) * 2
        _ = try ledger.admit(place(start..<start + 1))
        _ = ledger.stage(place(start..<start + 1))
        pieces += 1
      }
    } catch { expect(error.code, is: .limit) }
    expect((60_000...65_536).contains(pieces))
    let partial = try #require(ledger.partials.first)
    expect(try Frame(ControlMessage.partial(partial).frame), is: .control(.partial(partial)))
  }

  @Test func `random scripts end with the sent bytes, with chunks cut, ordered and repeated in any way`() throws {
    for seed in 0..<30 as Range<UInt64> {
      var random = Seeded(100 + seed)
      var ledger = ledger()
      let names = ["a", "b", "d/c"]
      var chunks: [FilePiece] = names.flatMap { name in
        stride(from: 0, to: size, by: 100).map { place($0..<$0 + 100, name, isHole: $0 % 300 == 0) }
      }
      chunks += chunks.shuffled(using: &random).prefix(10)
      var records = names.map { file($0) }
      chunks.shuffle(using: &random)
      while !chunks.isEmpty || !records.isEmpty {
        if records.isEmpty || (!chunks.isEmpty && Bool.random(using: &random)) {
          let place = chunks.removeLast()
          if case .write = try ledger.admit(place), let whole = ledger.stage(place) { try ledger.finish(whole.1) }
        } else {
          let record = records.removeLast()
          switch try ledger.receive(record, hasContent: false) {
          case .create: _ = try ledger.await(record)
          case .complete: try ledger.finish(record)
          case .held, .waiting, .refused: break
          }
        }
      }
      expect(ledger.total == Tally(items: 3, bytes: 3_000) && ledger.incompleteBytes == 0 && ledger.partials.isEmpty)
    }
  }

  @Test func `20,000 complete files are remembered by their marks alone`() throws {
    var ledger = ledger(items: 40_000)
    for index in 0..<20_000 { try ledger.finish(file("dir/file-\(index)", size: 1)) }
    expect(ledger.total == Tally(items: 20_000, bytes: 20_000) && ledger.marks.count == 20_000)
    expect(ledger.directoryPositions.isEmpty && ledger.linkPositions.isEmpty && ledger.partials.isEmpty)
    expect(try ledger.admit(place(0..<1, "dir/file-5")), is: .held)
  }
}
