import Expectations
import Testing

@testable import MigrationWire

@Suite struct RecordLimitTests {
  private func encoded(_ record: ItemRecord) -> [UInt8] {
    var writer = ByteWriter()
    record.write(to: &writer)
    return writer.bytes
  }

  private func read(_ bytes: [UInt8]) throws(Violation) -> ItemRecord { try ItemRecord(bytes.span, 0..<bytes.count) }

  /// A directory's record with these fields besides.
  private func record(_ more: (UInt8, [UInt8])...) -> [UInt8] {
    var fields = Fields()
    for (tag, value) in [(1, ascii("d")), (2, [1]), (3, run(0, 16))] + more { fields.append(tag, value) }
    var writer = ByteWriter()
    fields.write(to: &writer)
    return writer.bytes
  }

  /// The longest that has every known field.
  private var longest: ItemRecord {
    let component = String(repeating: "x", count: 255)
    let long = String((0..<256).map { _ in component }.joined(separator: "/").prefix(Limits.path))
    var record = ItemRecord(path: path(long), generation: .max, body: .directory, mode: 0o7777)
    record.modified = ItemTime(seconds: .min, nanoseconds: 999_999_999)
    record.owner = ItemRecord.Owner(user: .max, group: .max)
    let value = [UInt8](repeating: 1, count: Limits.attributes - 1 - 6 - 4)
    record.attributes = [ExtendedAttribute(name: ascii("user.a"), value: value)]
    let entry = AccessEntry(subject: .user, permissions: 7, id: .max)
    record.accessList = [AccessEntry](repeating: entry, count: Limits.aclEntries)
    record.defaultAccessList = record.accessList
    record.names = (0..<76).map { OwnerName(.user, $0, [UInt8](repeating: 1, count: 255)) }
    return record
  }

  @Test func `a record counts for as many bytes as it takes`() throws {
    var records = [longest]
    for body: ItemRecord.Body in [
      .directory, .file(size: 0), .symbolicLink(target: ascii("target")), .hardLink(target: path("a/b")),
      .symbolicLink(target: [UInt8](repeating: 1, count: Limits.linkTarget)),
    ] {
      var record = ItemRecord(path: path("a/\(String(repeating: "n", count: 100))"), generation: 1, body: body)
      records.append(record)
      guard record.kind == .directory || record.kind == .file else { continue }
      record.attributes = [63, 64, 20_000].enumerated().map {
        ExtendedAttribute(name: ascii("user.\($0)"), value: run(0, $1))
      }
      records.append(record)
    }
    for record in records { expect(record.length, is: encoded(record).count) }
    for more in [[(14, [])], [(14, run(0, 70)), (255, [1])]] as [[(UInt8, [UInt8])]] {
      var bytes = record()
      for (tag, value) in more { bytes += record((tag, value)).dropFirst(record().count) }
      expect(try read(bytes).length, is: bytes.count)
    }
  }

  @Test func `a record may have all that its fields may have, and fields of later versions besides`() throws {
    let known = encoded(longest)
    let unknown = record((14, [UInt8](repeating: 1, count: Limits.unknownFields - 5))).dropFirst(record().count)
    expect(unknown.count == Limits.unknownFields && known.count + unknown.count <= Limits.record)
    expect(try read(known + unknown).length, is: known.count + unknown.count)
    let tooLong = [UInt8](repeating: 0, count: Limits.record + 1)
    #expect(throws: Violation(.limit, "an item's record")) { try read(tooLong) }
  }

  @Test func `fields of later versions are bounded to the byte, one or many`() throws {
    let room = Limits.unknownFields
    #expect(throws: Never.self) { try read(record((14, [UInt8](repeating: 1, count: room - 5)))) }
    #expect(throws: Never.self) { try read(record((14, [UInt8](repeating: 1, count: room - 7)), (15, []))) }
    let subject = "the unknown fields of an item's record"
    #expect(throws: Violation(.limit, subject)) { try read(record((14, [UInt8](repeating: 1, count: room - 4)))) }
    #expect(throws: Violation(.limit, subject)) {
      try read(record((14, [UInt8](repeating: 1, count: room - 7)), (15, [1])))
    }
  }
}
