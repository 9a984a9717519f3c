/// One record of the receiver's journal: a statement about the staging directory.
package enum JournalRecord: Equatable, Sendable {
  /// The first record: which transfer the journal belongs to.
  case opened(TransferID)
  /// A complete item; for a small file with the lanes of its whole content.
  case item(ItemRecord, PieceLanes?)
  /// A range that is in its staging file.
  case range(FilePiece, PieceLanes)
  /// The record of a file whose bytes are in `range` records.
  case sealed(ItemRecord)
  /// Every earlier record about this path is void.
  case discarded(ArchivePath)
  /// The complete file of this record, whose newer state is on the way, is about to get that name until
  /// the newer state is complete.
  case kept(ItemRecord, as: ArchivePath)
  /// Every earlier record about this path, or a path below it, is void.
  case discardedTree(ArchivePath)
  /// The record at this position is wrong.
  case void(at: UInt64)
  /// Every record before this position is durable.
  case synced(upTo: UInt64)
  /// Everything has arrived and agrees with FINISH. The import may begin: an item that is missing
  /// from staging from now on was moved.
  case concluded(Tally)
  /// The import is about to move the staged item at this path, which has this inode, to that path
  /// at the destination.
  case moving(ArchivePath, inode: UInt64, to: ArchivePath)
  /// An app's importer begins. It may move and change staged items: if it does not finish, every
  /// earlier record needs a check.
  case exposed
  /// Everything is imported and durable.
  case imported
  /// The treatment of items whose names are taken at the destination, from now on.
  case existing(Existing)
  /// The destination cannot hold this state of an item. Every record about it, also a later one, is
  /// void. The size is nil if the item's record had not come.
  case refused(path: ArchivePath, generation: Generation, size: UInt64?, NotStored.Reason)
  /// The import is about to place the staged item in several steps at a free path of the
  /// destination. From now on an empty entry there, or a second name of the same item, belongs to
  /// this import. Nil takes that back.
  case placing(ArchivePath, to: ArchivePath?)
  /// The import is about to give the existing entry at the target of the item with this path, which
  /// has this inode, that name beside it.
  case aside(ArchivePath, inode: UInt64, at: ArchivePath)
  /// The import begins at this moment, by the clock of the file system: what is changed later in an item
  /// that it moves is changed by others. Nil if the moment is not known.
  case importing(since: ItemTime?)
  /// The import has put this entry in place, or has set its metadata, which was its last change.
  case placed(inode: UInt64, changed: ItemTime)
  /// An importer is about to give a staged file other bytes, so many.
  case rewritten(ArchivePath, size: UInt64)
  /// An import is about to change the metadata of what arrived before under this path.
  case following(ArchivePath)
  /// An item that an import has put in place: only in the record of what a known device has brought.
  case arrived(ArrivedItem)

  /// Bytes around a record's body: length, kind, authentication code.
  package static let overhead = 4 + 1 + 16

  /// Appends the record, authenticated for the position in the journal at which it will stand.
  package func write(to writer: inout ByteWriter, position: UInt64, key: UInt128) {
    let start = writer.bytes.count
    writer.u32(0)
    writer.u8(kind)
    let body = writer.bytes.count
    writeBody(to: &writer)
    writer.u32(UInt32(writer.bytes.count - body), at: start)
    writer.u128(Self.code(key, position, kind, writer.bytes.span.extracting(body...)))
  }

  /// Reads the record at the start of `bytes`, whose position is `position`; nil where the bytes
  /// end too early.
  ///
  /// A record that is not authentic, or authentic and malformed, is a violation. Without a key, every
  /// record counts as authentic.
  package static func read(
    _ bytes: Span<UInt8>, position: UInt64, key: UInt128?
  ) throws(Violation) -> (JournalRecord, length: Int)? {
    guard bytes.count >= overhead else { return nil }
    var reader = ByteReader(0..<bytes.count, of: "the journal")
    let length = Int(try reader.u32(bytes))
    guard length <= Limits.frameBody else { throw Violation(.limit, "the journal") }
    guard bytes.count >= overhead + length else { return nil }
    let kind = try reader.u8(bytes)
    let body = try reader.take(length)
    let stated = try reader.u128(bytes)
    guard key.map({ stated == code($0, position, kind, bytes.extracting(body)) }) ?? true else {
      throw Violation(.check, "a record of the journal")
    }
    return (try JournalRecord(kind, bytes, body), overhead + length)
  }

  /// The greatest position in an authentic sync mark anywhere in `bytes`, whose first byte is at
  /// `position` in the journal.
  ///
  /// After a record that is not authentic, this distinguishes damage to durable records from an
  /// incomplete end.
  package static func greatestSyncMark(_ bytes: Span<UInt8>, position: UInt64, key: UInt128) -> UInt64? {
    var greatest: UInt64?
    var start = 0
    while bytes.count - start >= syncedLength {
      // The length and the kind are compared first, since the hash is slow.
      if bytes[start + 3] == 8, bytes[start + 4] == 6,
        case (.synced(let upTo), _)?? = try? read(
          bytes.extracting(start...), position: position + UInt64(start), key: key)
      {
        greatest = max(greatest ?? 0, upTo)
      }
      start += 1
    }
    return greatest
  }

  /// Bytes of a whole sync mark.
  package static let syncedLength = overhead + 8

  private static func code(_ key: UInt128, _ position: UInt64, _ kind: UInt8, _ body: Span<UInt8>) -> UInt128 {
    var hash = SipHash(key: key)
    hash.combine(position)
    hash.combine(kind)
    hash.combine(body)
    return hash.finish()
  }

  private var kind: UInt8 {
    switch self {
    case .opened: 1
    case .item: 2
    case .range: 3
    case .sealed: 4
    case .discarded: 5
    case .synced: 6
    case .concluded: 7
    case .imported: 8
    case .discardedTree: 9
    case .moving: 10
    case .void: 11
    case .exposed: 12
    case .existing: 13
    case .refused: 14
    case .placing: 15
    case .arrived: 18
    case .rewritten: 19
    case .following: 20
    case .aside: 17
    case .importing: 21
    case .placed: 22
    case .kept: 23
    }
  }

  private func writeBody(to body: inout ByteWriter) {
    switch self {
    case .opened(let transfer):
      body.array(Self.magic)
      body.u128(transfer)
    case .item(let record, let lanes):
      body.u8(lanes == nil ? 0 : 1)
      if let lanes { lanes.write(to: &body) }
      record.write(to: &body)
    case .range(let place, let lanes):
      body.u8(place.isHole ? 1 : 0)
      body.u128(place.generation)
      body.u64(place.range.lowerBound)
      body.u64(place.range.upperBound)
      lanes.write(to: &body)
      body.array(place.path.bytes)
    case .sealed(let record): record.write(to: &body)
    case .kept(let record, let name):
      body.u16(UInt16(name.bytes.count))
      body.array(name.bytes)
      record.write(to: &body)
    case .discarded(let path), .discardedTree(let path), .following(let path): body.array(path.bytes)
    case .synced(let position), .void(let position): body.u64(position)
    case .concluded(let total):
      body.u64(total.items)
      body.u64(total.bytes)
    case .importing(let moment): if let moment { body.time(moment) }
    case .placed(let inode, let changed):
      body.u64(inode)
      body.time(changed)
    case .aside(let path, let inode, let target), .moving(let path, let inode, let target):
      body.u64(inode)
      body.u16(UInt16(path.bytes.count))
      body.array(path.bytes)
      body.array(target.bytes)
    case .existing(let existing): body.u8(existing.rawValue)
    case .refused(let path, let generation, let size, let reason):
      body.u8(reason.rawValue)
      body.u128(generation)
      body.u8(size == nil ? 0 : 1)
      body.u64(size ?? 0)
      body.array(path.bytes)
    case .placing(let path, let target):
      body.u16(UInt16(path.bytes.count))
      body.array(path.bytes)
      if let target { body.array(target.bytes) }
    case .rewritten(let path, let size):
      body.u64(size)
      body.array(path.bytes)
    case .arrived(let item): item.write(to: &body)
    case .exposed, .imported: break
    }
  }

  private static let magic = Array("peer journal 2\n".utf8)

  private init(_ kind: UInt8, _ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "a record of the journal"
    var reader = ByteReader(range, of: subject)
    switch kind {
    case 1:
      guard try reader.array(bytes, Self.magic.count) == Self.magic else { throw Violation(.unknown, "the journal") }
      self = .opened(try reader.u128(bytes))
    case 2:
      let lanes: PieceLanes? = try reader.u8(bytes) == 0 ? nil : try PieceLanes(&reader, bytes)
      self = .item(try ItemRecord(bytes, try reader.take(reader.remaining)), lanes)
    case 3:
      let isHole = try reader.u8(bytes) == 1
      let generation = try reader.u128(bytes)
      let (start, end) = (try reader.u64(bytes), try reader.u64(bytes))
      guard start < end, end <= Limits.fileSize else { throw Violation(.value, subject) }
      let lanes = try PieceLanes(&reader, bytes)
      let path = try ArchivePath(try reader.rest(bytes))
      self = .range(FilePiece(path: path, generation: generation, range: start..<end, isHole: isHole), lanes)
    case 4: self = .sealed(try ItemRecord(bytes, try reader.take(reader.remaining)))
    case 5: self = .discarded(try ArchivePath(try reader.rest(bytes)))
    case 6: self = .synced(upTo: try reader.u64(bytes))
    case 7: self = .concluded(Tally(items: try reader.u64(bytes), bytes: try reader.u64(bytes)))
    case 8: self = .imported
    case 9: self = .discardedTree(try ArchivePath(try reader.rest(bytes)))
    case 10, 17:
      let inode = try reader.u64(bytes)
      let path = try ArchivePath(try reader.array(bytes, Int(try reader.u16(bytes))))
      let target = try ArchivePath(try reader.rest(bytes))
      self = kind == 10 ? .moving(path, inode: inode, to: target) : .aside(path, inode: inode, at: target)
    case 11: self = .void(at: try reader.u64(bytes))
    case 12: self = .exposed
    case 13:
      guard let existing = Existing(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, subject) }
      self = .existing(existing)
    case 14:
      let reason = NotStored.Reason(rawValue: try reader.u8(bytes))
      let generation = try reader.u128(bytes)
      let hasSize = try reader.u8(bytes) == 1
      let size = try reader.u64(bytes)
      self = .refused(
        path: try ArchivePath(try reader.rest(bytes)), generation: generation, size: hasSize ? size : nil, reason)
    case 15:
      let path = try ArchivePath(try reader.array(bytes, Int(try reader.u16(bytes))))
      let target = try reader.rest(bytes)
      self = .placing(path, to: target.isEmpty ? nil : try ArchivePath(target))
    case 18: self = .arrived(try ArrivedItem(&reader, bytes, of: subject))
    case 19:
      let size = try reader.u64(bytes)
      self = .rewritten(try ArchivePath(try reader.rest(bytes)), size: size)
    case 20: self = .following(try ArchivePath(try reader.rest(bytes)))
    case 21: self = .importing(since: reader.remaining == 0 ? nil : try reader.time(bytes))
    case 23:
      let name = try ArchivePath(try reader.array(bytes, Int(try reader.u16(bytes))))
      self = .kept(try ItemRecord(bytes, try reader.take(reader.remaining)), as: name)
    case 22:
      let inode = try reader.u64(bytes)
      self = .placed(inode: inode, changed: try reader.time(bytes))
    default: throw Violation(.unknown, subject)
    }
    try reader.finish()
  }
}

/// The treatment of an arriving item whose name is taken at the destination; the numbers are those
/// of the journal.
package enum Existing: UInt8, CaseIterable, Sendable {
  /// The transfer is refused, and nothing is written.
  case refuse = 1
  /// Folders are merged, and existing files stay as they are.
  case skip = 2
  /// The arriving item gets another name.
  case keepBoth = 3
  /// Folders are merged, and files and links take the places of those that are there.
  case replace = 4
  /// Folders are merged, and a file or link that differs from the existing one gets another name.
  case merge = 5
  /// The existing root gets another name, and the arriving one gets its name: for an app's data, and
  /// no choice of the option.
  case setAside = 6
  /// Folders are merged; a file or link that equals the existing one stays, and one that differs takes
  /// its place.
  case update = 7

  /// The choices of the option.
  package static let allCases: [Existing] = [.refuse, .skip, .keepBoth, .replace, .update, .merge]

  /// Whether the sender leaves out what equals an existing item.
  package var leavesOutEqual: Bool { self == .skip || self == .merge || self == .update }
  /// Whether existing files and links are replaced.
  package var replacesFiles: Bool { self == .replace || self == .update }

  /// The value of the option.
  package var name: String {
    switch self {
    case .refuse: "refuse"
    case .skip: "skip"
    case .keepBoth: "keep-both"
    case .replace: "replace"
    case .merge: "merge"
    case .setAside: "set-aside"
    case .update: "update"
    }
  }
}
