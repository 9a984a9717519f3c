/// The items that wait for the end: directories, whose metadata is set when all their items are in
/// them, and hard links.
///
/// The journal has their records; this type has the positions. A million directories take some
/// hundred megabytes, with any metadata.
struct DeferredItems: Sendable {
  struct Entry: Sendable {
    let mark: Mark
    /// The value that tells the record from any other.
    let digest: UInt128
    let depth: Int
    let isLink: Bool
    /// Whether the record has more than a creating call can give.
    let isExtended: Bool
    /// Whether this session brought it.
    var isNew = true
    /// Where the journal tells of it, once it does.
    var position: UInt64?
  }

  private let keys: TransferKeys
  /// By what names the path.
  private var entries: [UInt128: Entry] = [:]

  init(_ keys: TransferKeys) { self.keys = keys }

  func entry(_ path: ArchivePath) -> Entry? {
    // An archive that has only files has no deferred items.
    entries.isEmpty ? nil : entries[keys.digest(of: path)]
  }

  /// Whether another record than this one is held of the same item.
  func contradicts(_ record: ItemRecord, _ mark: Mark) -> Bool {
    guard let entry = entry(record.path), entry.mark == mark else { return false }
    return entry.digest != keys.digest(of: record)
  }

  mutating func add(_ record: ItemRecord, _ mark: Mark) {
    entries[keys.digest(of: record.path)] = Entry(
      mark: mark, digest: keys.digest(of: record), depth: record.path.depth, isLink: record.kind == .hardLink,
      isExtended: !record.attributes.isEmpty || !record.accessList.isEmpty || !record.defaultAccessList.isEmpty)
  }

  mutating func remove(_ path: ArchivePath, _ mark: Mark) {
    guard entry(path)?.mark == mark else { return }
    entries[keys.digest(of: path)] = nil
  }

  /// The journal tells of an item at a position.
  mutating func place(_ path: ArchivePath, _ mark: Mark, at position: UInt64) {
    guard entry(path)?.mark == mark else { return }
    entries[keys.digest(of: path)]?.position = position
  }

  /// Begins another session. Forgets the items that the journal does not have, and returns their
  /// marks.
  mutating func begin() -> [Mark] {
    let lost = entries.values.filter { $0.position == nil }.map(\.mark)
    if !lost.isEmpty { entries = entries.filter { $0.value.position != nil } }
    entries = entries.mapValues { entry in
      var entry = entry
      entry.isNew = false
      return entry
    }
    return lost
  }

  /// Where the records of the hard links are, ascending; nil for one of which the journal does not
  /// tell.
  var linkPositions: [UInt64?] {
    entries.values.filter(\.isLink).map(\.position).sorted { $0 ?? 0 < $1 ?? 0 }
  }

  /// The same of the directories, the deepest first.
  func directoryPositions(extendedOnly: Bool) -> [UInt64?] {
    entries.values.filter { !$0.isLink && ($0.isExtended || !extendedOnly) }
      .sorted { ($1.depth, $0.position ?? 0) < ($0.depth, $1.position ?? 0) }.map(\.position)
  }
}

extension TransferKeys {
  /// The stand-in for a path in memory.
  func digest(of path: ArchivePath) -> UInt128 {
    var hash = SipHash(key: hashKey)
    hash.combine(0x80 as UInt8)
    hash.combine(path.bytes)
    return hash.finish()
  }

  /// The stand-in for a whole record in memory.
  fileprivate func digest(of record: ItemRecord) -> UInt128 {
    var writer = ByteWriter()
    record.write(to: &writer)
    var hash = SipHash(key: hashKey)
    hash.combine(0x81 as UInt8)
    hash.combine(writer.bytes)
    return hash.finish()
  }
}
