import MigrationSystem
import MigrationWire

/// Where the journal tells of the complete items that earlier sessions brought, by their paths.
///
/// The ledger knows items by marks alone. This is made only when something new stands in the way of something old.
struct EarlierItems: Sendable {
  private var positions: [UInt64: UInt64] = [:]

  /// Reads the journal up to a position; later records of a path count.
  init(_ journal: JournalFile, upTo end: UInt64) throws {
    try journal.forEach(upTo: end) { position, record in
      if let item = record.completedItem { positions[Self.hash(item.path, journal.key)] = position }
    }
  }

  /// The record of an item, if the journal tells of one that was complete at some time.
  func record(of path: ArchivePath, in journal: JournalFile) throws(SystemError) -> ItemRecord? {
    guard let position = positions[Self.hash(path, journal.key)],
      let item = try journal.record(at: position)?.completedItem, item.path == path
    else { return nil }
    return item
  }

  /// A path in eight bytes. Whoever does not know the key cannot make two paths alike; a chance meeting is found out.
  static func hash(_ path: ArchivePath, _ key: UInt128) -> UInt64 {
    var hash = SipHash(key: key)
    hash.combine(path.bytes)
    return UInt64(truncatingIfNeeded: hash.finish())
  }
}

extension JournalRecord {
  /// The item that this record says is complete, or will be with the ranges that are claimed.
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
  /// Whether this is `directory`, or lies beneath it.
  func isWithin(_ directory: ArchivePath) -> Bool {
    bytes.starts(with: directory.bytes)
      && (bytes.count == directory.bytes.count || bytes[directory.bytes.count] == UInt8(ascii: "/"))
  }

  /// The directories that it lies in, the root first, and the path itself.
  var lineage: [ArchivePath] {
    var lineage = [self]
    while let parent = lineage[lineage.count - 1].parent { lineage.append(parent) }
    return lineage.reversed()
  }
}
