extension TransferKeys {
  /// The hash that stands for a path in memory.
  func digest(of path: ArchivePath) -> UInt128 {
    var hash = SipHash(key: hashKey)
    hash.combine(0x80 as UInt8)
    hash.combine(path.bytes)
    return hash.finish()
  }

  /// The hash that stands for a record in memory.
  fileprivate func digest(of record: ItemRecord) -> UInt128 {
    var writer = ByteWriter()
    record.write(to: &writer)
    var hash = SipHash(key: hashKey)
    hash.combine(0x81 as UInt8)
    hash.combine(writer.bytes)
    return hash.finish()
  }
}

/// The items that wait for the end, with the positions of their records in the journal.
extension Ledger {
  /// Whether a directory at this path has a record.
  package func hasDirectory(_ path: ArchivePath) -> Bool { deferred.entry(path)?.isLink == false }

  /// Whether a hard link is to be made at this path.
  package func hasHardLink(_ path: ArchivePath) -> Bool { deferred.entry(path)?.isLink == true }

  /// Where the record of a directory is.
  package func position(ofDirectory path: ArchivePath) -> UInt64? {
    guard let entry = deferred.entry(path), !entry.isLink else { return nil }
    return entry.position
  }

  /// The positions of the hard links' records, ascending; nil for a record that is not in the
  /// journal.
  package var linkPositions: [UInt64?] { deferred.linkPositions }

  /// The positions of the directories' records, the deepest directory first.
  package var directoryPositions: [UInt64?] { deferred.directoryPositions(extendedOnly: false) }

  /// The positions of the records of directories with attributes or access lists.
  package var extendedDirectoryPositions: [UInt64?] { deferred.directoryPositions(extendedOnly: true) }

  /// The items that the import completes last: directories, whose metadata is set after their items
  /// exist, and hard links.
  ///
  /// The journal has their records, and this type has the records' positions: a million directories
  /// take about a hundred megabytes.
  struct DeferredItems: Sendable {
    struct Entry: Sendable {
      let mark: Mark
      /// The hash of the record.
      let digest: UInt128
      let depth: Int
      let isLink: Bool
      /// Whether the record has attributes or access lists, which need further calls.
      let isExtended: Bool
      /// Whether the item arrived in this session.
      var isNew = true
      /// The record's position in the journal; nil until it is written.
      var position: UInt64?
    }

    private let keys: TransferKeys
    /// By the hash of the path.
    private var entries: [SipHash.KeyedHash: Entry] = [:]

    init(_ keys: TransferKeys) { self.keys = keys }

    func entry(_ path: ArchivePath) -> Entry? {
      // An archive that has only files has no deferred items.
      entries.isEmpty ? nil : entries[hash(path)]
    }

    func entry(_ path: SipHash.KeyedHash) -> Entry? { entries[path] }

    private func hash(_ path: ArchivePath) -> SipHash.KeyedHash { SipHash.KeyedHash(value: keys.digest(of: path)) }

    /// Whether a different record of the same state is held.
    func contradicts(_ record: ItemRecord, _ mark: Mark) -> Bool {
      guard let entry = entry(record.path), entry.mark == mark else { return false }
      return entry.digest != keys.digest(of: record)
    }

    mutating func add(_ record: ItemRecord, _ mark: Mark) {
      entries[hash(record.path)] = Entry(
        mark: mark, digest: keys.digest(of: record), depth: record.path.depth, isLink: record.kind == .hardLink,
        isExtended: !record.attributes.isEmpty || !record.accessList.isEmpty || !record.defaultAccessList.isEmpty)
    }

    mutating func remove(_ path: ArchivePath, _ mark: Mark) {
      guard entry(path)?.mark == mark else { return }
      entries[hash(path)] = nil
    }

    /// Stores the position of an item's record in the journal.
    mutating func place(_ path: ArchivePath, _ mark: Mark, at position: UInt64) {
      guard entry(path)?.mark == mark else { return }
      entries[hash(path)]?.position = position
    }

    /// Begins another session. Forgets the items without a record in the journal, and returns their
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

    /// The positions of the hard links' records, ascending; nil for a record that is not in the
    /// journal.
    var linkPositions: [UInt64?] {
      entries.values.filter(\.isLink).map(\.position).sorted { $0 ?? 0 < $1 ?? 0 }
    }

    /// The positions of the directories' records, the deepest directory first.
    func directoryPositions(extendedOnly: Bool) -> [UInt64?] {
      entries.values.filter { !$0.isLink && ($0.isExtended || !extendedOnly) }
        .sorted { ($1.depth, $0.position ?? 0) < ($0.depth, $1.position ?? 0) }.map(\.position)
    }
  }
}
