/// What kind of thing an item is; the numbers are those of Protocol §8.2.
package enum ItemKind: UInt8, Sendable {
  case directory = 1
  case file = 2
  case symbolicLink = 3
  case hardLink = 4
}

/// A point in time as file systems keep it; seconds may be negative.
package struct ItemTime: Equatable, Sendable {
  package let seconds: Int64
  package let nanoseconds: UInt32

  package init(seconds: Int64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }
}

/// Names one state of one item at its source (Protocol §9.1).
package typealias Generation = UInt128
/// Names one item in one generation to both ends (Protocol §9.2).
package typealias Mark = UInt128

/// An item's record: everything about it but its bytes.
package struct ItemRecord: Equatable, Sendable {
  package struct Owner: Equatable, Sendable {
    package let user: UInt32
    package let group: UInt32

    package init(user: UInt32, group: UInt32) {
      self.user = user
      self.group = group
    }
  }

  /// What the kind brings with it.
  package enum Body: Equatable, Sendable {
    case directory
    case file(size: UInt64)
    /// The target is never interpreted on its way.
    case symbolicLink(target: [UInt8])
    case hardLink(target: ArchivePath)
  }

  package let path: ArchivePath
  package let generation: Generation
  package let body: Body
  package var mode: UInt16?
  package var modified: ItemTime?
  package var owner: Owner?
  package var attributes: [ExtendedAttribute] = []
  package var accessList: [AccessEntry] = []
  package var defaultAccessList: [AccessEntry] = []
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
    }
  }

  /// A file's size, 0 for everything else.
  package var size: UInt64 {
    if case .file(let size) = body { size } else { 0 }
  }

  /// Reads a record that fills `range`.
  package init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "an item's record"
    let fields = try Fields(bytes, range, of: subject)
    path = try ArchivePath(try fields.required(1, subject))
    let rawKind = try fields.readRequired(2, subject) { reader, bytes throws(Violation) in try reader.u8(bytes) }
    guard let kind = ItemKind(rawValue: rawKind) else { throw Violation(.unknown, subject) }
    generation = try fields.readRequired(3, subject) { reader, bytes throws(Violation) in try reader.u128(bytes) }
    let size = try fields.read(4, subject) { reader, bytes throws(Violation) in try reader.u64(bytes) }
    mode = try fields.read(5, subject) { reader, bytes throws(Violation) in try reader.u16(bytes) }
    modified = try fields.read(6, subject) { reader, bytes throws(Violation) in
      ItemTime(seconds: Int64(bitPattern: try reader.u64(bytes)), nanoseconds: try reader.u32(bytes))
    }
    let target = fields.value(7)
    owner = try fields.read(8, subject) { reader, bytes throws(Violation) in
      Owner(user: try reader.u32(bytes), group: try reader.u32(bytes))
    }
    attributes = try fields.read(9, subject, ExtendedAttribute.readList) ?? []
    accessList = try fields.read(10, subject, AccessEntry.readList) ?? []
    defaultAccessList = try fields.read(11, subject, AccessEntry.readList) ?? []
    unknown = fields.unknown(besides: 1...11)
    body = try Self.body(kind, size: size, target: target)
    try checkMetadata(fields)
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
    case (.directory, _, _), (.file, _, _), (.symbolicLink, _, _), (.hardLink, _, _):
      throw Violation(.field, subject)
    }
  }

  /// Refuses values out of range, empty lists, and fields that belong to another kind.
  private func checkMetadata(_ fields: Fields) throws(Violation) {
    let subject = "an item's record"
    if let mode, mode > 0o7777 { throw Violation(.value, subject) }
    if let modified, modified.nanoseconds >= 1_000_000_000 { throw Violation(.value, subject) }
    let forbidden: [UInt8] =
      switch kind {
      case .directory: []
      case .file: [11]
      case .symbolicLink: [5, 9, 10, 11]
      case .hardLink: [5, 6, 8, 9, 10, 11]
      }
    for tag in forbidden where fields.value(tag) != nil { throw Violation(.field, subject) }
    for tag in 9...11 as ClosedRange<UInt8> where fields.value(tag)?.isEmpty == true {
      throw Violation(.value, subject)
    }
  }

  /// Writes the record's field body.
  package func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, path.bytes)
    fields.append(2, [kind.rawValue])
    fields.append(3) { $0.u128(generation) }
    if case .file(let size) = body { fields.append(4) { $0.u64(size) } }
    if let mode { fields.append(5) { $0.u16(mode) } }
    if let modified {
      fields.append(6) {
        $0.u64(UInt64(bitPattern: modified.seconds))
        $0.u32(modified.nanoseconds)
      }
    }
    switch body {
    case .symbolicLink(let target): fields.append(7, target)
    case .hardLink(let target): fields.append(7, target.bytes)
    case .directory, .file: break
    }
    if let owner {
      fields.append(8) {
        $0.u32(owner.user)
        $0.u32(owner.group)
      }
    }
    if !attributes.isEmpty { fields.append(9) { ExtendedAttribute.write(attributes, to: &$0) } }
    if !accessList.isEmpty { fields.append(10) { AccessEntry.write(accessList, to: &$0) } }
    if !defaultAccessList.isEmpty { fields.append(11) { AccessEntry.write(defaultAccessList, to: &$0) } }
    fields.merge(unknown)
    fields.write(to: &writer)
  }
}
