import Expectations
import Testing

@testable import MigrationWire

@Suite struct VarintTests {
  private func encode(_ value: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.varint(value)
    return writer.bytes
  }

  private func decode(_ bytes: [UInt8]) throws(Violation) -> UInt64 {
    var reader = ByteReader(0..<bytes.count, of: "a varint")
    let value = try reader.varint(bytes.span)
    try reader.finish()
    return value
  }

  @Test(
    arguments: [
      (0, "00"), (1, "01"), (63, "3f"), (64, "4040"), (16_383, "7fff"), (16_384, "80004000"),
      (1_073_741_823, "bfffffff"), (1_073_741_824, "c000000040000000"), (4_611_686_018_427_387_903, "ffffffffffffffff"),
    ] as [(UInt64, String)])
  func `a boundary has its one encoding`(value: UInt64, hex: String) throws {
    expect(encode(value), is: bytes(hex: hex))
    expect(try decode(bytes(hex: hex)), is: value)
    expect(ByteWriter.varintSize(value), is: hex.count / 2)
  }

  @Test(arguments: [
    "4000", "403f", "80000000", "80003fff", "8000003f", "c000000000000000", "c00000003fffffff", "c000000000003fff",
  ])
  func `a varint that could be shorter is refused`(hex: String) {
    expect(violation { () throws(Violation) in _ = try decode(bytes(hex: hex)) }, is: .value)
  }

  @Test(arguments: ["", "40", "8000", "800040", "c0", "c0000000400000"])
  func `a varint that ends early is refused`(hex: String) {
    expect(violation { () throws(Violation) in _ = try decode(bytes(hex: hex)) }, is: .truncated)
  }

  @Test func `every two-byte varint is refused or exact`() {
    for first in 0...255 as ClosedRange<UInt8> {
      for second in 0...255 as ClosedRange<UInt8> {
        if let value = try? decode([first, second]) { expect(encode(value), is: [first, second]) }
      }
    }
  }
}

@Suite struct FieldsTests {
  private func read(_ bytes: [UInt8]) throws(Violation) -> Fields {
    try Fields(bytes.span, 0..<bytes.count, of: "a test")
  }

  private func write(_ fields: Fields) -> [UInt8] {
    var writer = ByteWriter()
    fields.write(to: &writer)
    return writer.bytes
  }

  @Test func `fields are found by their tags`() throws {
    let fields = try read([1, 0, 7, 2, 0xAA, 0xBB, 255, 1, 0xCC])
    expect(fields.value(1) == [] && fields.value(7) == [0xAA, 0xBB] && fields.value(255) == [0xCC])
    expect(fields.value(2) == nil)
    expect(violation { () throws(Violation) in _ = try fields.required(2, "a test") }, is: .field)
  }

  @Test(arguments: [[2, 0, 1, 0], [1, 0, 1, 0], [0, 0], [1, 0, 0, 0]] as [[UInt8]])
  func `tags that do not ascend, and tag 0, are refused`(bytes: [UInt8]) {
    expect(violation { () throws(Violation) in _ = try read(bytes) }, is: .field)
  }

  @Test(
    arguments: [[1], [1, 1], [1, 0x40], [1, 2, 0], [1, 0, 2], [1, 0xFF, 255, 255, 255, 255, 255, 255, 255]] as [[UInt8]]
  )
  func `a field that ends early is refused`(bytes: [UInt8]) {
    expect(violation { () throws(Violation) in _ = try read(bytes) }, is: .truncated)
  }

  @Test func `a length that could be shorter is refused`() {
    expect(violation { () throws(Violation) in _ = try read([1, 0x40, 1, 0]) }, is: .value)
  }

  @Test func `as many fields as there are tags are taken`() throws {
    let bytes = (1...255 as ClosedRange<UInt8>).flatMap { [$0, 0] as [UInt8] }
    expect(write(try read(bytes)), is: bytes)
    #expect(throws: Violation.self) { try read(bytes + [255, 0]) }
  }

  @Test func `unknown fields are kept among the known ones`() throws {
    let bytes: [UInt8] = [1, 0, 2, 1, 5, 3, 0, 9, 2, 7, 8]
    let unknown = try read(bytes).unknown(besides: 2...3)
    var fields = Fields()
    fields.append(2, [5])
    fields.append(3, [])
    var writer = ByteWriter()
    fields.write(with: unknown, to: &writer)
    expect(writer.bytes, is: bytes)
  }

  @Test func `a value that is longer or shorter than its type is refused`() {
    let number = { (reader: inout ByteReader, bytes: Span<UInt8>) throws(Violation) in try reader.u16(bytes) }
    #expect(throws: Violation(.trailing, "a test")) { try read([1, 3, 0, 0, 0]).read(1, "a test", number) }
    #expect(throws: Violation(.truncated, "a test")) { try read([1, 1, 0]).read(1, "a test", number) }
    #expect(throws: Violation(.field, "a test")) { try read([2, 2, 0, 0]).readRequired(1, "a test", number) }
  }

  @Test func `text is UTF-8 within its limit`() throws {
    expect(try read([1, 2, 0xC3, 0xA4]).text(1, limit: 2, "a test"), is: "ä")
    #expect(throws: Violation(.limit, "a test")) { try read([1, 2, 0xC3, 0xA4]).text(1, limit: 1, "a test") }
    for bytes in [[0xC3], [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]] {
      #expect(throws: Violation(.value, "a test")) {
        try read([1, UInt8(bytes.count)] + bytes).text(1, limit: 9, "a test")
      }
    }
  }
}

@Suite struct KeyedHashTests {
  private func hash(_ bytes: [UInt8]) -> UInt128 {
    var hash = SipHash(key: counted(0))
    hash.combine(bytes)
    return hash.finish()
  }

  private func integer(_ hex: some StringProtocol) -> UInt128 { UInt128(hex, radix: 16)! }

  @Test func `the published hashes of 0 to 63 bytes are met`() {
    let published = lines("siphash")
    expect(published.count, is: 64)
    expect(published[0], is: "a3817f04ba25a8e66df67214c7550293")
    for (count, line) in published.enumerated() { expect(hash(run(0, count)), is: integer(line), "\(count) bytes") }
  }

  @Test func `a hash does not depend on how its bytes come`() {
    var hash = SipHash(key: counted(0))
    hash.combine(0x00 as UInt8)
    hash.combine(0x0102 as UInt16)
    hash.combine(0x0304_0506 as UInt32)
    hash.combine(Int64(0x0708_090A_0B0C_0D0E))
    hash.combine([0x0F, 0x10].span)
    expect(hash.finish(), is: self.hash(run(0, 17)))
  }

  @Test func `marks and generations agree with the second implementation`() throws {
    let keys = TransferKeys(hashKey: counted(0x50))
    for line in lines("marks") {
      let parts = line.split(separator: " ")
      let expected = integer(parts.last!)
      switch parts[0] {
      case "staged":
        expect(keys.mark(path: try ArchivePath(bytes(hex: parts[2])), generation: integer(parts[1])), is: expected)
      case "present":
        let time = ItemTime(seconds: Int64(parts[2])!, nanoseconds: UInt32(parts[3])!)
        let path = try ArchivePath(bytes(hex: parts[4]))
        expect(keys.presentMark(path: path, size: UInt64(parts[1])!, modified: time), is: expected)
      case "link":
        let mark = keys.presentMark(path: try ArchivePath(bytes(hex: parts[2])), target: bytes(hex: parts[1]))
        expect(mark, is: expected)
      case "folder":
        let time = ItemTime(seconds: Int64(parts[1])!, nanoseconds: UInt32(parts[2])!)
        expect(keys.presentMark(directory: try ArchivePath(bytes(hex: parts[3])), modified: time), is: expected)
      case "unchanged":
        let times = (0...1).map {
          ItemTime(seconds: Int64(parts[1 + 2 * $0])!, nanoseconds: UInt32(parts[2 + 2 * $0])!)
        }
        let path = try ArchivePath(bytes(hex: parts[5]))
        expect(keys.stateMark(directory: path, modified: times[0], changed: times[1]), is: expected)
      case "sum":
        let lanes = (0..<3).map { UInt32(parts[2].dropFirst(8 * $0).prefix(8), radix: 16)! }
        var sum = ContentSum()
        sum.add(PieceLanes((lanes[0], lanes[1], lanes[2])), at: 0..<UInt64(parts[1])!)
        expect(sum.bytes, is: bytes(hex: parts.last!))
      case "content":
        let (size, sum) = (UInt64(parts[2])!, bytes(hex: parts[3]))
        let path = try ArchivePath(bytes(hex: parts[4]))
        let isBase = parts[1] == "8"
        let mark =
          isBase ? keys.baseMark(path: path, size: size, sum: sum) : keys.contentMark(path: path, size: size, sum: sum)
        expect(mark, is: expected)
      case "digest":
        var ledger = Ledger(keys: keys, bound: Bound(items: 2, bytes: 13, metadata: 0))
        for (path, generation, body) in [
          ("photos/hello.txt", counted(0xA0), ItemRecord.Body.file(size: 13)), ("a/b/c", .max, .directory),
        ] {
          try ledger.finish(ItemRecord(path: ArchivePath(Array(path.utf8)), generation: generation, body: body))
        }
        expect(ledger.digest, is: expected)
      case "taken": expect(keys.takenMark(path: try ArchivePath(bytes(hex: parts[1]))), is: expected)
      default:
        let source = SourceFingerprint(
          fileSystem: UInt64(parts[1])!, inode: UInt64(parts[2])!, size: UInt64(parts[3])!,
          modified: ItemTime(seconds: Int64(parts[4])!, nanoseconds: UInt32(parts[5])!),
          changed: ItemTime(seconds: Int64(parts[6])!, nanoseconds: UInt32(parts[7])!))
        expect(keys.generation(of: source), is: expected)
      }
    }
  }

  @Test func `the journal's key is another one than the hash key`() {
    let keys = TransferKeys(hashKey: 2)
    expect(keys.journalKey != keys.hashKey && keys.journalKey != TransferKeys(hashKey: 3).journalKey)
  }
}
