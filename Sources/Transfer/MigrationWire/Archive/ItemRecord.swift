/// The kind of an item, numbered as in Protocol §8.2.
package enum ItemKind: UInt8, Sendable {
  case directory = 1
  case file = 2
  case symbolicLink = 3
  case hardLink = 4
  /// Other metadata of a file whose content has arrived from the same source before.
  case metadata = 5
}

/// A point in time as file systems keep it; seconds may be negative.
package struct ItemTime: Comparable, Sendable {
  package let seconds: Int64
  package let nanoseconds: UInt32

  package init(seconds: Int64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  package static func < (one: ItemTime, other: ItemTime) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }

  /// The latest time at or before this one that is a multiple of `granularity` nanoseconds.
  package func rounded(to granularity: UInt32) -> ItemTime {
    guard granularity > 1 else { return self }
    let second: Int128 = 1_000_000_000
    let time = Int128(seconds) * second + Int128(nanoseconds)
    let rest = time % Int128(granularity)
    let rounded = time - (rest < 0 ? rest + Int128(granularity) : rest)
    // Division rounds towards zero, and seconds towards the past.
    let fraction = (rounded % second + second) % second
    // Only the first second of the range can leave it.
    return ItemTime(
      seconds: Int64(clamping: (rounded - fraction) / second), nanoseconds: UInt32(truncatingIfNeeded: fraction))
  }

  /// The nearest time that a file system keeps, which reaches from one second to another and puts other
  /// times at its ends; nil for no end.
  package func clamped(from earliest: Int64?, to latest: Int64?) -> ItemTime {
    if let earliest, seconds <= earliest { return ItemTime(seconds: earliest, nanoseconds: 0) }
    if let latest, seconds >= latest { return ItemTime(seconds: latest, nanoseconds: 0) }
    return self
  }

  /// The finest granularity of a known file system that explains the kept times; nil if none does.
  package static func granularity(of kept: [(set: ItemTime, got: ItemTime)]) -> UInt32? {
    granularities.first { granularity in kept.allSatisfy { $0.set.rounded(to: granularity) == $0.got } }
  }

  private static let granularities: [UInt32] = [
    1, 100, 1000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000,
  ]
}

/// Names one state of one item at its source (Protocol §9.1).
package typealias Generation = UInt128
/// Names one item in one generation to both ends (Protocol §9.2).
package typealias Mark = UInt128

/// An item's record: everything about it except its bytes.
package struct ItemRecord: Equatable, Sendable {
  package struct Owner: Equatable, Sendable {
    package let user: UInt32
    package let group: UInt32

    package init(user: UInt32, group: UInt32) {
      self.user = user
      self.group = group
    }
  }

  /// The fields that only this kind has.
  package enum Body: Equatable, Sendable {
    case directory
    case file(size: UInt64)
    /// The target is never interpreted on its way.
    case symbolicLink(target: [UInt8])
    case hardLink(target: ArchivePath)
    /// The content is not sent, since it is that which arrived before.
    case metadata(size: UInt64)
  }

  package let path: ArchivePath
  package let generation: Generation
  package let body: Body
  package var mode: UInt16?
  package var modified: ItemTime?
  /// When a file or directory, or its metadata, last changed at the source.
  package var changed: ItemTime?
  package var owner: Owner?
  package var attributes: [ExtendedAttribute] = []
  package var accessList: [AccessEntry] = []
  package var defaultAccessList: [AccessEntry] = []
  /// The sender's names of users and groups among the numbers above, as far as it has them.
  package var names: [OwnerName] = []
  /// Fields of later versions, kept as they came.
  package private(set) var unknown = Fields()

  package init(
    path: ArchivePath, generation: Generation, body: Body, mode: UInt16? = nil, modified: ItemTime? = nil
  ) {
    self.path = path
    self.generation = generation
    self.body = body
    self.mode = mode
    self.modified = modified
  }

  package var kind: ItemKind {
    switch body {
    case .directory: .directory
    case .file: .file
    case .symbolicLink: .symbolicLink
    case .hardLink: .hardLink
    case .metadata: .metadata
    }
  }

  /// A file's size, 0 for everything else.
  package var size: UInt64 {
    if case .file(let size) = body { size } else { 0 }
  }

  /// Reads a record that fills `range`.
  package init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "an item's record"
    guard range.count <= Limits.record else { throw Violation(.limit, subject) }
    var (path, kind, generation): (ArchivePath?, ItemKind?, Generation?)
    var (size, target): (UInt64?, [UInt8]?)
    var seen: UInt16 = 0
    var room = Limits.unknownFields
    var fields = FieldReader(range, of: subject)
    while let (tag, value) = try fields.next(bytes) {
      var reader = ByteReader(value, of: subject)
      if tag <= 13 { seen |= 1 << UInt16(tag) }
      switch tag {
      case 1: path = try ArchivePath(copying: bytes.extracting(try reader.take(reader.remaining)))
      case 2: kind = try Self.kind(&reader, bytes)
      case 3: generation = try reader.u128(bytes)
      case 4: size = try reader.u64(bytes)
      case 5: mode = try reader.u16(bytes)
      case 6: modified = try reader.time(bytes)
      case 7: target = try reader.rest(bytes)
      case 8: owner = Owner(user: try reader.u32(bytes), group: try reader.u32(bytes))
      case 9: attributes = try ExtendedAttribute.readList(&reader, bytes)
      case 10: accessList = try AccessEntry.readList(&reader, bytes)
      case 11: defaultAccessList = try AccessEntry.readList(&reader, bytes)
      case 12: names = try OwnerName.readList(&reader, bytes)
      case 13: changed = try reader.time(bytes)
      default:
        room -= Fields.length(ofValue: value.count)
        guard room >= 0 else { throw Violation(.limit, "the unknown fields of an item's record") }
        unknown.append(tag, try reader.rest(bytes))
      }
      try reader.finish()
    }
    guard let path, let kind, let generation else { throw Violation(.field, subject) }
    (self.path, self.generation) = (path, generation)
    body = try Self.body(kind, size: size, target: target)
    try checkMetadata(seen)
  }

  private static func kind(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> ItemKind {
    guard let kind = ItemKind(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, "an item's record") }
    return kind
  }

  private static func body(_ kind: ItemKind, size: UInt64?, target: [UInt8]?) throws(Violation) -> Body {
    let subject = "an item's record"
    switch (kind, size, target) {
    case (.directory, nil, nil): return .directory
    case (.file, let size?, nil):
      guard size <= Limits.fileSize else { throw Violation(.limit, "a file's size") }
      return .file(size: size)
    case (.symbolicLink, nil, let target?):
      guard !target.isEmpty, target.count <= Limits.linkTarget, !target.contains(0) else {
        throw Violation(.value, "a symbolic link's target")
      }
      return .symbolicLink(target: target)
    case (.hardLink, nil, let target?): return .hardLink(target: try ArchivePath(target))
    case (.metadata, let size?, nil):
      guard size <= Limits.fileSize else { throw Violation(.limit, "a file's size") }
      return .metadata(size: size)
    case (.directory, _, _), (.file, _, _), (.symbolicLink, _, _), (.hardLink, _, _), (.metadata, _, _):
      throw Violation(.field, subject)
    }
  }

  /// Refuses values out of range, empty lists, and fields that belong to another kind.
  private func checkMetadata(_ seen: UInt16) throws(Violation) {
    let subject = "an item's record"
    if let mode, mode > 0o7777 { throw Violation(.value, subject) }
    for time in [modified, changed] {
      if let time, time.nanoseconds >= 1_000_000_000 { throw Violation(.value, subject) }
    }
    // One bit a tag.
    let forbidden: UInt16 =
      switch kind {
      case .directory: 0
      case .file, .metadata: 1 << 11
      case .symbolicLink: 1 << 5 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13
      case .hardLink: 1 << 5 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13
      }
    guard seen & forbidden == 0 else { throw Violation(.field, subject) }
    let empty: UInt16 =
      (attributes.isEmpty ? 1 << 9 : 0) | (accessList.isEmpty ? 1 << 10 : 0) | (defaultAccessList.isEmpty ? 1 << 11 : 0)
      | (names.isEmpty ? 1 << 12 : 0)
    guard seen & empty == 0 else { throw Violation(.value, subject) }
  }

  /// Writes the record's field body.
  package func write(to writer: inout ByteWriter) {
    var fields = FieldWriter(besides: unknown)
    fields.append(1, path.bytes, to: &writer)
    fields.append(2, length: 1, to: &writer) { $0.u8(kind.rawValue) }
    fields.append(3, length: 16, to: &writer) { $0.u128(generation) }
    switch body {
    case .file(let size), .metadata(let size): fields.append(4, length: 8, to: &writer) { $0.u64(size) }
    case .directory, .symbolicLink, .hardLink: break
    }
    if let mode { fields.append(5, length: 2, to: &writer) { $0.u16(mode) } }
    if let modified { fields.append(6, length: 12, to: &writer) { $0.time(modified) } }
    switch body {
    case .symbolicLink(let target): fields.append(7, target, to: &writer)
    case .hardLink(let target): fields.append(7, target.bytes, to: &writer)
    case .directory, .file, .metadata: break
    }
    if let owner {
      fields.append(8, length: 8, to: &writer) {
        $0.u32(owner.user)
        $0.u32(owner.group)
      }
    }
    writeLists(to: &writer, &fields)
    fields.finish(to: &writer)
  }

  private func writeLists(to writer: inout ByteWriter, _ fields: inout FieldWriter) {
    if !attributes.isEmpty {
      var list = ByteWriter()
      ExtendedAttribute.write(attributes, to: &list)
      fields.append(9, list.bytes, to: &writer)
    }
    for tag in 10...11 as ClosedRange<UInt8> {
      let entries = tag == 10 ? accessList : defaultAccessList
      guard !entries.isEmpty else { continue }
      fields.append(tag, length: AccessEntry.size * entries.count, to: &writer) { AccessEntry.write(entries, to: &$0) }
    }
    if !names.isEmpty { fields.append(12, length: namesLength, to: &writer) { OwnerName.write(names, to: &$0) } }
    if let changed { fields.append(13, length: 12, to: &writer) { $0.time(changed) } }
  }

  private var namesLength: Int { names.reduce(0) { $0 + $1.length } }

  /// The number of bytes that `write` writes. The record counts as that many bytes of metadata
  /// (Protocol §11).
  package var length: Int {
    // Kind and generation, and their tags and lengths.
    var length = Fields.length(ofValue: path.bytes.count) + 3 + 18
    if mode != nil { length += 4 }
    if modified != nil { length += 14 }
    if changed != nil { length += 14 }
    if owner != nil { length += 10 }
    switch body {
    case .directory: break
    case .file, .metadata: length += 10
    case .symbolicLink(let target): length += Fields.length(ofValue: target.count)
    case .hardLink(let target): length += Fields.length(ofValue: target.bytes.count)
    }
    if !attributes.isEmpty { length += Fields.length(ofValue: attributes.reduce(0) { $0 + $1.length }) }
    if !accessList.isEmpty { length += Fields.length(ofValue: AccessEntry.size * accessList.count) }
    if !defaultAccessList.isEmpty { length += Fields.length(ofValue: AccessEntry.size * defaultAccessList.count) }
    if !names.isEmpty { length += Fields.length(ofValue: namesLength) }
    return length + unknown.length
  }

  /// The same record without the names of owners, which may change although the item does not.
  package var unnamed: ItemRecord {
    var record = self
    record.names = []
    return record
  }

  /// The same item with only its path, kind and generation.
  package var bare: ItemRecord { ItemRecord(path: path, generation: generation, body: body) }
}

/// One extended attribute of the user namespace; the name includes its prefix.
package struct ExtendedAttribute: Equatable, Sendable {
  package let name: [UInt8]
  package let value: [UInt8]

  package init(name: [UInt8], value: [UInt8]) {
    self.name = name
    self.value = value
  }

  static func readList(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [ExtendedAttribute] {
    let subject = "an item's extended attributes"
    guard reader.remaining <= Limits.attributes else { throw Violation(.limit, subject) }
    return try reader.list(
      of: subject, orNone: true, ascending: { $0.name.lexicographicallyPrecedes($1.name) },
      reading: { reader throws(Violation) in
        let (name, value) = (try reader.stringBytes(bytes), try reader.stringBytes(bytes))
        guard name.starts(with: "user.".utf8), (6...Limits.attributeName).contains(name.count), !name.contains(0) else {
          throw Violation(.value, subject)
        }
        return ExtendedAttribute(name: name, value: value)
      })
  }

  static func write(_ list: [ExtendedAttribute], to writer: inout ByteWriter) {
    for attribute in list {
      writer.string(attribute.name)
      writer.string(attribute.value)
    }
  }

  /// The length of the attribute in a list.
  fileprivate var length: Int { ByteWriter.stringSize(name.count) + ByteWriter.stringSize(value.count) }
}

/// One entry of a POSIX access control list.
package struct AccessEntry: Equatable, Sendable {
  /// The user or group that an entry applies to, numbered as in Protocol §8.2.
  package enum Subject: UInt8, Sendable {
    case owner = 1
    case user = 2
    case groupOwner = 3
    case group = 4
    case mask = 5
    case other = 6
  }

  package let subject: Subject
  /// Read, write, execute as the bits 4, 2, 1.
  package let permissions: UInt8
  /// The user or group; 0 for the other subjects.
  package let id: UInt32

  package init(subject: Subject, permissions: UInt8, id: UInt32) {
    self.subject = subject
    self.permissions = permissions
    self.id = id
  }

  /// The length of an entry on the wire.
  static let size = 6

  static func readList(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [AccessEntry] {
    let what = "an item's access control list"
    guard reader.remaining <= Limits.aclEntries * size else { throw Violation(.limit, what) }
    return try reader.list(of: what, orNone: true) { reader throws(Violation) in
      guard let subject = Subject(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, what) }
      let entry = AccessEntry(subject: subject, permissions: try reader.u8(bytes), id: try reader.u32(bytes))
      guard entry.permissions <= 7, entry.id == 0 || subject == .user || subject == .group else {
        throw Violation(.value, what)
      }
      return entry
    }
  }

  static func write(_ list: [AccessEntry], to writer: inout ByteWriter) {
    for entry in list {
      writer.u8(entry.subject.rawValue)
      writer.u8(entry.permissions)
      writer.u32(entry.id)
    }
  }
}
