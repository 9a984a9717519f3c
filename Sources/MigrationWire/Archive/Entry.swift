/// The value by which a receiver finds bytes that are not those that the sender read (Protocol §9.3).
package typealias ChunkCheck = UInt64

/// A piece of one generation of one file: bytes, or a hole that stands for zeros.
package struct ChunkPlace: Equatable, Sendable {
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
  case chunk(ChunkPlace, ChunkCheck, data: Range<Int>)
  case hole(ChunkPlace, ChunkCheck)

  /// The content of a small file, in the same frame as its record.
  package struct Content: Equatable, Sendable {
    package let check: ChunkCheck
    package let data: Range<Int>

    package init(check: ChunkCheck, data: Range<Int>) {
      self.check = check
      self.data = data
    }
  }

  /// The kinds' numbers on the wire.
  package enum Kind {
    package static let item: UInt8 = 1
    package static let chunk: UInt8 = 2
    package static let hole: UInt8 = 3
    package static let content: UInt8 = 4
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
    case Entry.Kind.content: throw Violation(.field, "content without a record in front of it")
    default: throw Violation(.unknown, "an entry of a data frame")
    }
  }

  private mutating func item(_ bytes: Span<UInt8>) throws(Violation) -> Entry {
    let length = Int(try reader.u32(bytes))
    let record = try ItemRecord(bytes, try reader.take(length))
    guard !reader.isAtEnd, bytes[reader.offset] == Entry.Kind.content else { return .item(record, content: nil) }
    _ = try reader.u8(bytes)
    let size = Int(try reader.u32(bytes))
    guard case .file(UInt64(size)) = record.body, size > 0, size <= Limits.chunk else {
      throw Violation(.value, "the content of a file")
    }
    let check = try reader.u64(bytes)
    return .item(record, content: Entry.Content(check: check, data: try reader.take(size)))
  }

  private mutating func chunk(_ bytes: Span<UInt8>) throws(Violation) -> Entry {
    let pathLength = Int(try reader.u16(bytes))
    let generation = try reader.u128(bytes)
    let offset = try reader.u64(bytes)
    let length = Int(try reader.u32(bytes))
    guard length > 0, length <= Limits.chunk else { throw Violation(.limit, "a chunk") }
    let check = try reader.u64(bytes)
    let place = try place(bytes, pathLength, generation, offset, UInt64(length), isHole: false)
    return .chunk(place, check, data: try reader.take(length))
  }

  private mutating func hole(_ bytes: Span<UInt8>) throws(Violation) -> Entry {
    let pathLength = Int(try reader.u16(bytes))
    let generation = try reader.u128(bytes)
    let offset = try reader.u64(bytes)
    let length = try reader.u64(bytes)
    guard length > 0 else { throw Violation(.value, "a hole") }
    let check = try reader.u64(bytes)
    return .hole(try place(bytes, pathLength, generation, offset, length, isHole: true), check)
  }

  private mutating func place(
    _ bytes: Span<UInt8>, _ pathLength: Int, _ generation: Generation, _ offset: UInt64, _ length: UInt64,
    isHole: Bool
  ) throws(Violation) -> ChunkPlace {
    guard offset <= Limits.fileSize, length <= Limits.fileSize - offset else {
      throw Violation(.limit, "the place of a chunk")
    }
    let path = try ArchivePath(copying: bytes.extracting(try reader.take(pathLength)))
    return ChunkPlace(path: path, generation: generation, range: offset..<offset + length, isHole: isHole)
  }
}

/// Writes the headers of entries, which precede their data.
package enum EntryWriter {
  /// The whole ITEM entry.
  package static func item(_ record: ItemRecord, to writer: inout ByteWriter) {
    writer.u8(Entry.Kind.item)
    let start = writer.bytes.count
    writer.u32(0)
    record.write(to: &writer)
    writer.u32(UInt32(writer.bytes.count - start - 4), at: start)
  }

  /// A CHUNK or HOLE entry without its data, which follows.
  package static func place(_ place: ChunkPlace, _ check: ChunkCheck, to writer: inout ByteWriter) {
    writer.u8(place.isHole ? Entry.Kind.hole : Entry.Kind.chunk)
    writer.u16(UInt16(place.path.bytes.count))
    writer.u128(place.generation)
    writer.u64(place.range.lowerBound)
    let length = place.range.upperBound - place.range.lowerBound
    if place.isHole { writer.u64(length) } else { writer.u32(UInt32(length)) }
    writer.u64(check)
    writer.array(place.path.bytes)
  }

  /// The header of a CONTENT entry, which follows its ITEM entry directly.
  package static func content(length: Int, _ check: ChunkCheck, to writer: inout ByteWriter) {
    writer.u8(Entry.Kind.content)
    writer.u32(UInt32(length))
    writer.u64(check)
  }
}
