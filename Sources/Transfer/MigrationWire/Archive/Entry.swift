/// The value by which a receiver finds bytes that differ from the sender's (Protocol §9.3).
package typealias ChunkCheck = UInt64

/// A piece of one generation of one file: bytes, or a hole that stands for zeros.
package struct FilePiece: Equatable, Sendable {
  package let path: ArchivePath
  package let generation: Generation
  package let range: Range<UInt64>
  package let isHole: Bool

  package init(path: ArchivePath, generation: Generation, range: Range<UInt64>, isHole: Bool = false) {
    self.path = path
    self.generation = generation
    self.range = range
    self.isHole = isHole
  }
}

/// One entry of a DATA frame (Protocol §6.8), with the place of its data in the frame.
package enum Entry: Equatable, Sendable {
  /// A record, and for a small file the whole content behind it.
  case item(ItemRecord, content: Content?)
  case chunk(FilePiece, ChunkCheck, data: Range<Int>)
  case hole(FilePiece, ChunkCheck)
  /// Bytes that the receiver has already, at the same offset of the file's earlier version. The lanes
  /// are those of the sender's bytes.
  case base(FilePiece, ChunkCheck, PieceLanes)

  /// The content of a small file, in the same frame as its record.
  package struct Content: Equatable, Sendable {
    package let check: ChunkCheck
    package let data: Range<Int>
  }

  /// The kinds' numbers on the wire.
  package enum Kind {
    package static let item: UInt8 = 1
    package static let chunk: UInt8 = 2
    package static let hole: UInt8 = 3
    package static let content: UInt8 = 4
    package static let base: UInt8 = 5
  }
}

/// Reads the entries of one DATA frame one after another.
package struct EntryReader: Sendable {
  private var reader: ByteReader

  /// Reads the entries that fill `range`.
  package init(_ range: Range<Int>) {
    reader = ByteReader(range, of: "an entry of a data frame")
  }

  /// The next entry, nil at the end.
  package mutating func next(_ bytes: Span<UInt8>) throws(Violation) -> Entry? {
    guard !reader.isAtEnd else { return nil }
    switch try reader.u8(bytes) {
    case Entry.Kind.item: return try item(bytes)
    case Entry.Kind.chunk: return try chunk(bytes)
    case Entry.Kind.hole: return try hole(bytes)
    case Entry.Kind.base: return try base(bytes)
    case Entry.Kind.content: throw Violation(.field, "content without a record in front of it")
    default: throw Violation(.unknown, "an entry of a data frame")
    }
  }

  private mutating func item(_ bytes: Span<UInt8>) throws(Violation) -> Entry {
    let record = try ItemRecord(bytes, try reader.string(bytes))
    guard !reader.isAtEnd, bytes[reader.offset] == Entry.Kind.content else { return .item(record, content: nil) }
    _ = try reader.u8(bytes)
    let content = Entry.Content(check: try reader.u64(bytes), data: try reader.string(bytes))
    guard case .file(UInt64(content.data.count)) = record.body, (1...Limits.chunk).contains(content.data.count) else {
      throw Violation(.value, "the content of a file")
    }
    return .item(record, content: content)
  }

  private mutating func chunk(_ bytes: Span<UInt8>) throws(Violation) -> Entry {
    let generation = try reader.u128(bytes)
    let offset = try reader.u64(bytes)
    let check = try reader.u64(bytes)
    let path = try path(bytes)
    let data = try reader.string(bytes)
    guard (1...Limits.chunk).contains(data.count) else { throw Violation(.limit, "a chunk") }
    let range = try range(offset, UInt64(data.count))
    return .chunk(FilePiece(path: path, generation: generation, range: range), check, data: data)
  }

  private mutating func hole(_ bytes: Span<UInt8>) throws(Violation) -> Entry {
    let generation = try reader.u128(bytes)
    let offset = try reader.u64(bytes)
    let length = try reader.u64(bytes)
    guard length > 0 else { throw Violation(.value, "a hole") }
    let check = try reader.u64(bytes)
    let range = try range(offset, length)
    return .hole(FilePiece(path: try path(bytes), generation: generation, range: range, isHole: true), check)
  }

  private mutating func base(_ bytes: Span<UInt8>) throws(Violation) -> Entry {
    let generation = try reader.u128(bytes)
    let offset = try reader.u64(bytes)
    let length = try reader.u64(bytes)
    guard (1...UInt64(Limits.chunk)).contains(length) else { throw Violation(.limit, "a piece of a base") }
    let check = try reader.u64(bytes)
    let lanes = try PieceLanes(&reader, bytes)
    let range = try range(offset, length)
    return .base(FilePiece(path: try path(bytes), generation: generation, range: range), check, lanes)
  }

  private mutating func path(_ bytes: Span<UInt8>) throws(Violation) -> ArchivePath {
    try ArchivePath(copying: bytes.extracting(try reader.string(bytes)))
  }

  private func range(_ offset: UInt64, _ length: UInt64) throws(Violation) -> Range<UInt64> {
    guard offset <= Limits.fileSize, length <= Limits.fileSize - offset else {
      throw Violation(.limit, "the place of a chunk")
    }
    return offset..<offset + length
  }
}

/// Writes the headers of entries, which precede their data.
package enum EntryWriter {
  /// The whole ITEM entry.
  package static func item(_ record: ItemRecord, to writer: inout ByteWriter) {
    writer.u8(Entry.Kind.item)
    let length = record.length
    writer.varint(UInt64(length))
    let start = writer.bytes.count
    record.write(to: &writer)
    precondition(writer.bytes.count == start + length, "a record is as long as its length says")
  }

  /// The number of bytes of an ITEM entry.
  package static func length(of record: ItemRecord) -> Int { 1 + ByteWriter.stringSize(record.length) }

  /// A CHUNK or HOLE entry without its data, which follows.
  package static func place(_ place: FilePiece, _ check: ChunkCheck, to writer: inout ByteWriter) {
    writer.u8(place.isHole ? Entry.Kind.hole : Entry.Kind.chunk)
    writer.u128(place.generation)
    writer.u64(place.range.lowerBound)
    let length = place.range.upperBound - place.range.lowerBound
    if place.isHole { writer.u64(length) }
    writer.u64(check)
    writer.string(place.path.bytes)
    if !place.isHole { writer.varint(length) }
  }

  /// A BASE entry.
  package static func base(_ place: FilePiece, _ check: ChunkCheck, _ lanes: PieceLanes, to writer: inout ByteWriter) {
    writer.u8(Entry.Kind.base)
    writer.u128(place.generation)
    writer.u64(place.range.lowerBound)
    writer.u64(UInt64(place.range.count))
    writer.u64(check)
    lanes.write(to: &writer)
    writer.string(place.path.bytes)
  }

  /// The number of bytes of a CHUNK entry without its data.
  package static func length(of place: FilePiece) -> Int {
    1 + 16 + 8 + 8 + ByteWriter.stringSize(place.path.bytes.count) + ByteWriter.varintSize(UInt64(place.range.count))
  }

  /// The header of a CONTENT entry, which follows its ITEM entry directly.
  package static func content(length: Int, _ check: ChunkCheck, to writer: inout ByteWriter) {
    writer.u8(Entry.Kind.content)
    writer.u64(check)
    writer.varint(UInt64(length))
  }

  /// The number of bytes of a CONTENT entry without its data.
  package static func length(ofContent count: Int) -> Int { 1 + 8 + ByteWriter.varintSize(UInt64(count)) }
}
