import Expectations
import Testing

@testable import MigrationWire

@Suite struct RecordTests {
  private typealias Field = (UInt8, [UInt8])

  private static func u64(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - $0 * 8)) }
  }

  /// A valid value for every tag.
  private static let values: [UInt8: [UInt8]] = [
    4: u64(5), 5: [0x01, 0xA4], 6: u64(0) + [0, 0, 0, 0], 7: ascii("target"), 8: [0, 0, 0, 1, 0, 0, 0, 2],
    9: [6] + ascii("user.a") + [0], 10: [1, 7, 0, 0, 0, 0], 11: [1, 7, 0, 0, 0, 0], 12: [1, 0, 0, 0, 7, 1, 97],
  ]

  /// The tags that a kind must have, and those that it may have (Protocol §8.2).
  private static let tags: [UInt8: (required: Set<UInt8>, optional: Set<UInt8>)] = [
    1: ([], [5, 6, 8, 9, 10, 11, 12]), 2: ([4], [5, 6, 8, 9, 10, 12]), 3: ([7], [6, 8, 12]), 4: ([7], []),
  ]

  private func read(kind: UInt8, _ fields: [Field], path: [UInt8] = ascii("p")) throws(Violation) -> ItemRecord {
    var writer = ByteWriter()
    for (tag, value) in [(1, path), (2, [kind]), (3, run(0, 16))] + fields.sorted(by: { $0.0 < $1.0 }) {
      writer.u8(tag)
      writer.string(value)
    }
    let bytes = writer.bytes
    let record = try ItemRecord(bytes.span, 0..<bytes.count)
    var again = ByteWriter()
    record.write(to: &again)
    expect(again.bytes, is: bytes)
    return record
  }

  private func accepts(kind: UInt8, _ fields: [Field]) -> Bool {
    violation { () throws(Violation) in _ = try read(kind: kind, fields) } == nil
  }

  /// A link of that kind.
  private func accepts(kind: UInt8, target: [UInt8]) -> Bool { accepts(kind: kind, [(7, target)]) }

  /// A file with one field more.
  private func acceptsFile(_ tag: UInt8, _ value: [UInt8]) -> Bool {
    accepts(kind: 2, [(4, Self.u64(5))].filter { $0.0 != tag } + [(tag, value)])
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt8])
  func `every set of fields is taken exactly where its kind has them`(kind: UInt8) {
    let (required, optional) = Self.tags[kind]!
    for set in 0..<512 {
      let chosen = Set((4...12 as ClosedRange<UInt8>).filter { set >> ($0 - 4) & 1 == 1 })
      let isValid = chosen.isSuperset(of: required) && chosen.isSubset(of: required.union(optional))
      expect(accepts(kind: kind, chosen.map { ($0, Self.values[$0]!) }), is: isValid, "\(chosen.sorted())")
    }
  }

  @Test func `names of owners have a kind, a number and bytes, and ascend`() throws {
    let bob: [UInt8] = [1, 0, 0, 3, 233, 3, 98, 111, 98]
    let record = try read(kind: 1, [(12, bob + [2, 0, 0, 0, 50, 2, 0xFF, 1])])
    expect(record.names, is: [OwnerName(.user, 1001, ascii("bob")), OwnerName(.group, 50, [0xFF, 1])])
    expect(!acceptsFile(12, []) && !acceptsFile(12, bob + bob) && !acceptsFile(12, bob.dropLast()))
    expect(!acceptsFile(12, [0] + bob.dropFirst()) && !acceptsFile(12, [3] + bob.dropFirst()))
    expect(!acceptsFile(12, [1, 0, 0, 0, 1, 0]) && !acceptsFile(12, [1, 0, 0, 0, 1, 1, 0]))
    expect(!acceptsFile(12, [2] + bob.dropFirst() + bob))
    let long = (0..<125).flatMap { [1, 0, 0, 0, UInt8($0)] + string(run(1, 153)) }
    expect(long.count == Limits.ownerNames && acceptsFile(12, long))
    expect(!acceptsFile(12, long + [2, 0, 0, 0, 1, 1, 97]))
  }

  @Test func `the users and groups of a record are named once, and number 0 is not`() throws {
    var record = ItemRecord(path: path("p"), generation: 1, body: .directory)
    record.owner = ItemRecord.Owner(user: 7, group: 0)
    record.accessList = [
      AccessEntry(subject: .user, permissions: 7, id: 9), AccessEntry(subject: .mask, permissions: 7, id: 0),
    ]
    record.defaultAccessList = [
      AccessEntry(subject: .user, permissions: 7, id: 7), AccessEntry(subject: .group, permissions: 7, id: 3),
    ]
    expect(record.owners.map { "\($0.kind) \($0.id)" }, is: ["user 7", "user 9", "group 3"])
  }

  @Test func `other kinds are refused`() {
    for kind in [0, 5, 255] as [UInt8] { expect(!accepts(kind: kind, [])) }
  }

  @Test func `a file has at most 2⁶³−1 bytes`() {
    expect(acceptsFile(4, Self.u64(1 << 63 - 1)))
    expect(!acceptsFile(4, Self.u64(1 << 63)) && !acceptsFile(4, Self.u64(.max)) && !acceptsFile(4, [1]))
  }

  @Test func `a mode has twelve bits`() {
    expect(acceptsFile(5, [0x0F, 0xFF]) && acceptsFile(5, [0, 0]))
    expect(!acceptsFile(5, [0x10, 0x00]) && !acceptsFile(5, [0xFF, 0xFF]) && !acceptsFile(5, [0]))
  }

  @Test func `a time has less than a thousand million nanoseconds and any seconds`() throws {
    for seconds in [.min, -1, 0, .max] as [Int64] {
      let bytes = Self.u64(UInt64(bitPattern: seconds))
      let record = try read(kind: 1, [(6, bytes + [0x3B, 0x9A, 0xC9, 0xFF])])
      expect(record.modified, is: ItemTime(seconds: seconds, nanoseconds: 999_999_999))
      expect(!acceptsFile(6, bytes + [0x3B, 0x9A, 0xCA, 0x00]) && !acceptsFile(6, bytes + [255, 255, 255, 255]))
    }
  }

  @Test func `a symbolic link's target is any 1 to 4,095 bytes without NUL`() {
    for target in [ascii("/etc/passwd"), ascii("../../x"), [0xFF], [UInt8](repeating: 0x61, count: 4_095)] {
      expect(accepts(kind: 3, target: target))
    }
    for target in [[], [0x61, 0], [UInt8](repeating: 0x61, count: 4_096)] { expect(!accepts(kind: 3, target: target)) }
  }

  @Test func `a hard link's target is a path`() {
    for target in ["", "..", "/a", "a//b", "a/"] { expect(!accepts(kind: 4, target: ascii(target))) }
    expect(accepts(kind: 4, target: ascii("a/b")))
  }

  @Test(arguments: [
    "", "..", "/abs", "a\0",
  ])
  func `a record without a valid path is refused`(text: String) {
    expect(violation { () throws(Violation) in _ = try read(kind: 1, [], path: ascii(text)) }, is: .path)
  }

  private func attribute(_ name: String, _ value: Int = 0) -> [UInt8] {
    string(ascii(name)) + string([UInt8](repeating: 7, count: value))
  }

  @Test func `attributes are of the user namespace, ascend, and have no NUL`() {
    expect(acceptsFile(9, attribute("user.a") + attribute("user.b", 70) + attribute("user.ba")))
    for names in [
      ["security.selinux"], ["trusted.x"], ["user."], ["user"], [""], ["user.a\0"], ["user.b", "user.a"],
      ["user.a", "user.a"],
    ] {
      expect(!acceptsFile(9, names.flatMap { attribute($0) }), "\(names)")
    }
    let long = "user." + String(repeating: "a", count: 250)
    expect(acceptsFile(9, attribute(long)) && !acceptsFile(9, attribute(long + "a")))
    expect(!acceptsFile(9, []) && !acceptsFile(9, [255]) && !acceptsFile(9, [6] + ascii("user.a") + [1]))
    expect(!acceptsFile(9, [6] + ascii("user.a") + [UInt8](repeating: 0xFF, count: 8)))
  }

  @Test func `attributes take 128 KiB in all`() {
    expect(acceptsFile(9, attribute("user.a", 131_072 - 11)))
    expect(!acceptsFile(9, attribute("user.a", 131_072 - 10)))
  }

  @Test func `an access control list has known subjects, three bits, and ids where there are any`() {
    expect(acceptsFile(10, [2, 7, 255, 255, 255, 255, 4, 0, 0, 0, 0, 0]))
    for entry in [[], [0, 7, 0, 0, 0, 0], [7, 7, 0, 0, 0, 0], [1, 8, 0, 0, 0, 0], [1, 7, 0, 0, 0, 1], [1, 7, 0]]
      as [[UInt8]]
    {
      expect(!acceptsFile(10, entry), "\(entry)")
    }
    expect(acceptsFile(10, Array(repeatElement([2, 7, 0, 0, 0, 1], count: 1_024).joined())))
    expect(!acceptsFile(10, Array(repeatElement([2, 7, 0, 0, 0, 1], count: 1_025).joined())))
  }
}

@Suite struct EntryTests {
  private func code(_ bytes: [UInt8]) -> Violation.Code? {
    violation { () throws(Violation) in _ = try Frame.pieces(bytes, 0..<bytes.count) }
  }

  private func place(kind: UInt8, offset: UInt64, length: UInt64, name: [UInt8] = ascii("f"), data: Int = 0) -> [UInt8]
  {
    var writer = ByteWriter()
    writer.u8(kind)
    writer.u128(1)
    writer.u64(offset)
    if kind == 3 { writer.u64(length) }
    writer.array([UInt8](repeating: 9, count: 8))
    writer.string(name)
    if kind == 2 { writer.varint(length) }
    writer.array([UInt8](repeating: 8, count: data))
    return writer.bytes
  }

  private func item(size: UInt64?) -> [UInt8] {
    var writer = ByteWriter()
    let body: ItemRecord.Body = size.map { .file(size: $0) } ?? .directory
    EntryWriter.item(ItemRecord(path: path("f"), generation: 1, body: body), to: &writer)
    return writer.bytes
  }

  private func content(_ length: Int, data: Int) -> [UInt8] {
    var writer = ByteWriter()
    EntryWriter.content(length: length, 3, to: &writer)
    writer.array([UInt8](repeating: 8, count: data))
    return writer.bytes
  }

  @Test func `no bytes are no entries`() throws {
    expect(try Frame.pieces([], 0..<0), is: [])
  }

  @Test func `entries lie where they are said to lie`() throws {
    let bytes = [1, 2, 3] + place(kind: 2, offset: 0, length: 4, data: 4) + [7, 7]
    guard case .chunk(_, _, let data)? = try Frame.pieces(bytes, 3..<bytes.count - 2).first else {
      Issue.record("no chunk")
      return
    }
    expect(data, is: [8, 8, 8, 8])
    expect(code(bytes) == .truncated || code(bytes) == .unknown || code(bytes) != nil)
  }

  @Test(arguments: [0, 6, 0x80, 0xFF] as [UInt8])
  func `an entry of an unknown kind is refused`(kind: UInt8) {
    expect(code([kind] + [UInt8](repeating: 0, count: 100)), is: .unknown)
  }

  @Test func `a chunk has 1 to 1,048,576 bytes`() {
    expect(code(place(kind: 2, offset: 0, length: 0)), is: .limit)
    expect(code(place(kind: 2, offset: 0, length: 1, data: 1)) == nil)
    expect(code(place(kind: 2, offset: 0, length: 1_048_576, data: 1_048_576)) == nil)
    expect(code(place(kind: 2, offset: 0, length: 1_048_577, data: 1_048_577)), is: .limit)
    expect(code(place(kind: 2, offset: 0, length: 1 << 62 - 1)), is: .truncated)
    expect(code(place(kind: 2, offset: 0, length: 5, data: 4)), is: .truncated)
  }

  @Test func `nothing ends behind 2⁶³−1`() {
    let end: UInt64 = 1 << 63 - 1
    expect(code(place(kind: 2, offset: end - 1, length: 1, data: 1)) == nil)
    expect(code(place(kind: 2, offset: end, length: 1, data: 1)), is: .limit)
    expect(code(place(kind: 2, offset: .max, length: 1, data: 1)), is: .limit)
    expect(code(place(kind: 3, offset: 0, length: end)) == nil)
    expect(code(place(kind: 3, offset: 1, length: end)), is: .limit)
    expect(code(place(kind: 3, offset: end, length: .max)), is: .limit)
    expect(code(place(kind: 3, offset: .max, length: .max)), is: .limit)
    expect(code(place(kind: 3, offset: 0, length: 0)), is: .value)
  }

  @Test func `a chunk's path is checked`() {
    for name in ["", "..", "/f", "f/", "f\0"] {
      expect(code(place(kind: 2, offset: 0, length: 1, name: ascii(name), data: 1)), is: .path)
      expect(code(place(kind: 3, offset: 0, length: 1, name: ascii(name))), is: .path)
    }
  }

  @Test func `content follows the record of a file of its size`() {
    expect(code(item(size: 3) + content(3, data: 3)) == nil)
    expect(code(item(size: 4) + content(3, data: 3)), is: .value)
    expect(code(item(size: 0) + content(0, data: 0)), is: .value)
    expect(code(item(size: nil) + content(3, data: 3)), is: .value)
    expect(code(content(3, data: 3)), is: .field)
    expect(code(item(size: 3) + content(3, data: 3) + content(3, data: 3)), is: .field)
    expect(code(item(size: 3) + content(3, data: 2)), is: .truncated)
    expect(code(item(size: 1_048_576) + content(1_048_576, data: 1_048_576)) == nil)
    expect(code(item(size: 1_048_577) + content(1_048_577, data: 1_048_577)), is: .value)
    expect(code(item(size: 3) + place(kind: 2, offset: 0, length: 1, data: 1) + content(3, data: 3)), is: .field)
  }

  @Test func `a record longer than the remaining bytes is refused`() {
    expect(code([1, 0xFF, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 50)), is: .truncated)
    expect(code([1, 0, 0, 0, 0]), is: .field)
  }
}
