import MigrationSystem
import MigrationWire

/// The positions in the journal of the complete items that earlier sessions brought, by path.
///
/// The ledger knows items only by their marks. This index is built only when a new item is in
/// conflict with an old one.
struct EarlierItems: Sendable {
  private var positions: [UInt64: UInt64] = [:]

  /// Reads the journal up to a position; the last record of a path counts.
  init(_ journal: JournalFile, upTo end: UInt64) throws {
    try journal.forEach(upTo: end) { position, record in
      if let item = record.completedItem { positions[Self.hash(item.path, journal.key)] = position }
    }
  }

  /// The record of an item, if the journal has one that was complete at some time.
  func record(of path: ArchivePath, in journal: JournalFile) throws(SystemError) -> ItemRecord? {
    guard let position = positions[Self.hash(path, journal.key)],
      let item = try journal.record(at: position)?.completedItem, item.path == path
    else { return nil }
    return item
  }

  /// A path in eight bytes. Without the key it is impossible to construct two paths with equal
  /// hashes; an accidental collision is detected.
  static func hash(_ path: ArchivePath, _ key: UInt128) -> UInt64 {
    var hash = SipHash(key: key)
    hash.combine(path.bytes)
    return UInt64(truncatingIfNeeded: hash.finish())
  }
}

extension JournalRecord {
  /// The item that this record completes, possibly together with the claimed ranges.
  var completedItem: ItemRecord? {
    switch self {
    case .item(let record, _), .sealed(let record): record
    case .opened, .range, .discarded, .discardedTree, .void, .synced, .concluded, .moving, .exposed, .imported,
      .existing, .refused, .placing:
      nil
    }
  }
}

extension ArchivePath {
  /// Whether this path is `directory`, or is inside it.
  func isWithin(_ directory: ArchivePath) -> Bool {
    bytes.starts(with: directory.bytes)
      && (bytes.count == directory.bytes.count || bytes[directory.bytes.count] == UInt8(ascii: "/"))
  }

  /// The directories above it, root first, and the path itself.
  var lineage: [ArchivePath] {
    var lineage = [self]
    while let parent = lineage[lineage.count - 1].parent { lineage.append(parent) }
    return lineage.reversed()
  }
}
