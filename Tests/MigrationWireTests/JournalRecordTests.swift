import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct JournalRecordTests {
  private static let key: UInt128 = 0xFEED
  private static let check = PieceLanes((1, 2, .max))
  private static let file = ItemRecord(
    path: path("d/f"), generation: 7, body: .file(size: 9), mode: 0o600, modified: ItemTime(seconds: -1, nanoseconds: 5)
  )

  static let records: [JournalRecord] = [
    .opened(9), .item(file, check), .item(file, nil),
    .item(ItemRecord(path: path("d"), generation: 1, body: .directory), nil),
    .range(FilePiece(path: path("d/f"), generation: 7, range: 0..<1), check),
    .range(FilePiece(path: path("d/f"), generation: 7, range: 5..<Limits.fileSize, isHole: true), check),
    .sealed(file), .discarded(path("d/f")), .synced(upTo: .max), .synced(upTo: 0),
    .concluded(Tally(items: .max, bytes: 3)), .exposed, .imported, .placing(path("d/f"), to: path("d/f (2)")),
    .placing(path("d"), to: nil), .rewritten(path("d/f"), size: .max), .following(path("d/f")),
    .aside(path("d"), inode: .max, at: path("d.before")), .kept(file, as: path(".peer-1")), .importing(since: nil),
    .importing(since: ItemTime(seconds: -7, nanoseconds: 9)),
    .placed(inode: .max, changed: ItemTime(seconds: 7, nanoseconds: 9)),
    .arrived(
      ArrivedItem(
        source: SourceIdentity(.max), path: path("d/f"), target: path("d/f (2)"), kind: .file, size: .max,
        modified: ItemTime(seconds: -1, nanoseconds: 9),
        content: [1, 2],
        entry: ArrivedItem.Entry(
          inode: .max, changed: ItemTime(seconds: 7, nanoseconds: 0), size: 3,
          modified: ItemTime(seconds: 2, nanoseconds: 1)))),
    .arrived(keptAway),
    .arrived(
      ArrivedItem(
        source: .unknown, path: path("d"), target: path("d"), kind: .directory,
        modified: ItemTime(seconds: 1, nanoseconds: 0), entry: nil
      )),
  ]

  private static var keptAway: ArrivedItem {
    var item = ArrivedItem(
      source: .unknown, path: path("d"), target: path("d"), kind: .file, size: 3,
      modified: ItemTime(seconds: 1, nanoseconds: 0), entry: nil)
    item.keptAway = ArrivedItem.Version(
      kind: .symbolicLink, size: 0, modified: ItemTime(seconds: -2, nanoseconds: 7), target: [1, 2])
    item.sum = [3, 4]
    return item
  }

  private func bytes(_ record: JournalRecord, at position: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    record.write(to: &writer, position: position, key: Self.key)
    return writer.bytes
  }

  private func read(
    _ bytes: [UInt8], at position: UInt64, key: UInt128 = key
  ) throws(Violation) -> (JournalRecord, length: Int)? {
    try JournalRecord.read(bytes.span, position: position, key: key)
  }

  /// Whether nothing is made of these bytes: nil or a violation.
  private func isRefused(_ bytes: [UInt8], at position: UInt64, key: UInt128 = key) -> Bool {
    do { return try read(bytes, at: position, key: key) == nil } catch { return true }
  }

  @Test(arguments: records)
  func `a record is read as it was written, with any bytes behind it`(record: JournalRecord) throws {
    let bytes = bytes(record, at: 42)
    for rest in [[], [0], [UInt8](repeating: 0xFF, count: 100)] as [[UInt8]] {
      let (found, length) = try #require(try read(bytes + rest, at: 42))
      expect(found == record && length == bytes.count)
    }
  }

  @Test(arguments: records)
  func `a record that is cut is no record`(record: JournalRecord) throws {
    let bytes = bytes(record, at: 42)
    for count in 0..<bytes.count { expect(try read(Array(bytes.prefix(count)), at: 42) == nil, "\(count) bytes") }
  }

  @Test(arguments: records)
  func `a record with any flipped bit or byte is refused`(record: JournalRecord) {
    let bytes = bytes(record, at: 42)
    for index in bytes.indices {
      for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] as [UInt8] {
        var altered = bytes
        altered[index] ^= change
        if !isRefused(altered, at: 42) { Issue.record("byte \(index) by \(change)") }
      }
    }
  }

  @Test(arguments: records)
  func `a record at another position, or under another key, is refused`(record: JournalRecord) {
    let bytes = bytes(record, at: 42)
    for position in [0, 41, 43, 42 << 8, .max] as [UInt64] { expect(isRefused(bytes, at: position)) }
    expect(isRefused(bytes, at: 42, key: Self.key + 1) && isRefused(bytes, at: 42, key: 0))
  }

  @Test func `a journal is read record by record, and stops where one is exchanged`() throws {
    var journal: [UInt8] = []
    var starts: [Int] = []
    for record in Self.records {
      starts.append(journal.count)
      journal += bytes(record, at: UInt64(journal.count))
    }
    var found: [JournalRecord] = []
    var position = 0
    while let (record, length) = try read(Array(journal[position...]), at: UInt64(position)) {
      found.append(record)
      position += length
    }
    expect(found == Self.records && position == journal.count)
    // Two records of equal length change places.
    let (one, other) = (starts[8]..<starts[9], starts[9]..<starts[10])
    expect(one.count, is: other.count)
    let swapped = journal[..<one.lowerBound] + journal[other] + journal[one] + journal[other.upperBound...]
    expect(isRefused(Array(swapped[one.lowerBound...]), at: UInt64(one.lowerBound)))
  }

  @Test func `zeros, ones and noise are no records`() {
    var random = Seeded(9)
    for count in [0, 4, 20, 21, 22, 100, 5_000] {
      for bytes in [[UInt8](repeating: 0, count: count), [UInt8](repeating: 0xFF, count: count), random.bytes(count)] {
        expect(isRefused(bytes, at: 0) && isRefused(bytes, at: .max))
      }
    }
  }

  @Test func `an authentic record with a body that says nothing valid is a violation`() {
    for (kind, body) in [
      (0, []), (9, []), (255, [1]), (1, []), (1, ascii("peer journal 1\n") + run(0, 16)), (2, [0]), (2, []), (3, [0]),
      (4, []), (5, []), (5, ascii("..")), (6, [1]), (6, [UInt8](repeating: 0, count: 9)), (7, [1]), (8, [0]),
      (3, [0] + run(0, 16) + run(0, 8) + run(0, 8) + run(0, 28) + ascii("f")),
      (3, [0] + run(0, 16) + run(0, 8) + run(0xF0, 8) + run(0, 28) + ascii("f")),
    ] as [(UInt8, [UInt8])] {
      let bytes = sealedRecord(kind, body, at: 42, key: Self.key)
      #expect(throws: Violation.self, "kind \(kind)") { try read(bytes, at: 42) }
    }
  }
}
