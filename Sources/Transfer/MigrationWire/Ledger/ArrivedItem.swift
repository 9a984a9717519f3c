/// An item that a source has brought, and how it lay at the destination after the last step. The next
/// migration from the same source compares with it (`JournalRecord.arrived`).
package struct ArrivedItem: Equatable, Sendable {
  /// The entry at the destination: its inode and time of change, which no program can set back, and
  /// the size and time that were put in place. An importer may have rewritten the content of a file.
  package struct Entry: Equatable, Sendable {
    package let inode: UInt64
    /// When its content or metadata last changed.
    package let changed: ItemTime
    /// The size of a file.
    package let size: UInt64
    package let modified: ItemTime

    package init(inode: UInt64, changed: ItemTime, size: UInt64, modified: ItemTime) {
      self.inode = inode
      self.changed = changed
      self.size = size
      self.modified = modified
    }
  }

  /// A version of an item at its source: the values by which a sender tells it from other versions.
  package struct Version: Equatable, Sendable {
    package let kind: ItemKind
    /// The size of a file.
    package let size: UInt64
    package let modified: ItemTime
    /// The target of a symbolic link.
    package let target: [UInt8]

    package init(kind: ItemKind, size: UInt64, modified: ItemTime, target: [UInt8]) {
      self.kind = kind
      self.size = size
      self.modified = modified
      self.target = target
    }
  }

  /// The source of its root.
  package let source: SourceIdentity
  /// Its path in the archive.
  package let path: ArchivePath
  /// Its path at the destination.
  package var target: ArchivePath
  /// A directory, a file or a symbolic link.
  package let kind: ItemKind
  /// The size of a file, and the time, as they came.
  package let size: UInt64
  package let modified: ItemTime
  /// The target of a symbolic link.
  package let content: [UInt8]
  /// When a file or directory, or its metadata, had last changed at the source; nil if that is not known.
  package var changed: ItemTime?
  /// The sum of a file's content as it came (`ContentSum`); empty if that is not known.
  package var sum: [UInt8] = []
  /// Whether the file was put in place with the bytes that came. An importer may rewrite a file, and
  /// older records do not say.
  package var isVerbatim = false
  /// Nil if the item was gone, or if the entry may be another item than the import had put there.
  package var entry: Entry?
  /// The newest version that was not stored, since the item had been moved or removed here.
  package var keptAway: Version?
  /// Whether the user has said that it was meant to be moved or removed.
  package var isRemovalMeant = false
  /// Whether nothing has arrived any more: the item was set aside, or is gone on both devices.
  package var isVoid = false

  package init(
    source: SourceIdentity, path: ArchivePath, target: ArchivePath, kind: ItemKind, size: UInt64 = 0,
    modified: ItemTime, content: [UInt8] = [], entry: Entry?
  ) {
    self.source = source
    self.path = path
    self.target = target
    self.kind = kind
    self.size = size
    self.modified = modified
    self.content = content
    self.entry = entry
  }

  /// The version by which the source is told what is here, or was moved or removed here.
  package func version(isAway: Bool) -> Version {
    if isAway, let keptAway { return keptAway }
    return Version(kind: kind, size: size, modified: modified, target: kind == .symbolicLink ? content : [])
  }

  func write(to writer: inout ByteWriter) {
    writer.u64(source.rawValue)
    writer.u8(kind.rawValue)
    writer.u64(size)
    writer.time(modified)
    writer.u8(
      (entry == nil ? 0 : 1) | (isRemovalMeant ? 2 : 0) | (changed == nil ? 0 : 4) | (isVoid ? 8 : 0)
        | (keptAway == nil ? 0 : 16) | (isVerbatim ? 32 : 0))
    if let entry {
      writer.u64(entry.inode)
      writer.time(entry.changed)
      writer.u64(entry.size)
      writer.time(entry.modified)
    }
    if let changed { writer.time(changed) }
    if let keptAway {
      writer.u8(keptAway.kind.rawValue)
      writer.u64(keptAway.size)
      writer.time(keptAway.modified)
      writer.u16(UInt16(keptAway.target.count))
      writer.array(keptAway.target)
    }
    writer.u8(UInt8(sum.count))
    writer.array(sum)
    // Most items lie at their own path.
    for bytes in [path.bytes, target == path ? [] : target.bytes] {
      writer.u16(UInt16(bytes.count))
      writer.array(bytes)
    }
    writer.array(content)
  }

  init(_ reader: inout ByteReader, _ bytes: Span<UInt8>, of subject: String) throws(Violation) {
    source = SourceIdentity(try reader.u64(bytes))
    kind = try reader.kind(bytes, of: subject)
    size = try reader.u64(bytes)
    modified = try reader.time(bytes)
    let flags = try reader.u8(bytes)
    guard flags < 64 else { throw Violation(.value, subject) }
    isRemovalMeant = flags & 2 != 0
    isVoid = flags & 8 != 0
    isVerbatim = flags & 32 != 0
    entry =
      flags & 1 == 0
      ? nil
      : Entry(
        inode: try reader.u64(bytes), changed: try reader.time(bytes), size: try reader.u64(bytes),
        modified: try reader.time(bytes))
    changed = flags & 4 == 0 ? nil : try reader.time(bytes)
    if flags & 16 != 0 {
      keptAway = Version(
        kind: try reader.kind(bytes, of: subject), size: try reader.u64(bytes), modified: try reader.time(bytes),
        target: try reader.array(bytes, Int(try reader.u16(bytes))))
    }
    sum = try reader.array(bytes, Int(try reader.u8(bytes)))
    path = try ArchivePath(try reader.array(bytes, Int(try reader.u16(bytes))))
    let target = try reader.array(bytes, Int(try reader.u16(bytes)))
    self.target = target.isEmpty ? path : try ArchivePath(target)
    content = try reader.rest(bytes)
  }
}

extension ByteWriter {
  mutating func time(_ time: ItemTime) {
    u64(UInt64(bitPattern: time.seconds))
    u32(time.nanoseconds)
  }
}

extension ByteReader {
  fileprivate mutating func kind(_ bytes: Span<UInt8>, of subject: String) throws(Violation) -> ItemKind {
    guard let kind = ItemKind(rawValue: try u8(bytes)), kind != .hardLink, kind != .metadata else {
      throw Violation(.value, subject)
    }
    return kind
  }

  mutating func time(_ bytes: Span<UInt8>) throws(Violation) -> ItemTime {
    ItemTime(seconds: Int64(bitPattern: try u64(bytes)), nanoseconds: try u32(bytes))
  }
}
