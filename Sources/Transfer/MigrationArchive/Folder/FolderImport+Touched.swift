package import MigrationSystem
package import MigrationWire

/// Gathers the facts of a later pass of a migration: what the same source has brought before, and what
/// became of it. `ItemFate` decides. Nothing that was touched here since is replaced, and nothing that
/// was moved or removed here comes back. Doubt means touched.
extension FolderImport {
  /// What is known of an item before anything looks at its own name.
  mutating func facts(of item: Item) throws(Failure) -> ItemFate {
    let isRoot = item.path.parent == nil
    guard let earlier = earlier(item) else {
      return ItemFate(item.kind == .directory ? .folder : .leaf, existing: existing, isRoot: isRoot)
    }
    var kind = item.kind == .directory ? ItemFate.Kind.folder : .leaf
    if existing == .setAside { kind = .whole }
    if existing == .merge, kind == .folder, try isWhole(item) { kind = .whole }
    return ItemFate(kind, try facts(of: item, kind, earlier), existing: existing, isRoot: isRoot)
  }

  /// The record of an item's earlier version, if earlier versions count.
  func earlier(_ item: Item) -> ArrivedItem? {
    guard existing == .merge || existing == .update || existing == .setAside && item.path.parent == nil else {
      return nil
    }
    return arrived?.item(at: item.path)
  }

  private mutating func facts(
    of item: Item, _ kind: ItemFate.Kind, _ earlier: ArrivedItem
  ) throws(Failure) -> ItemFate.Earlier {
    let isSameKind = earlier.kind.fileKind == item.kind
    var since = since(earlier)
    if since == .untouched {
      // A unit is replaced whole, or not at all: items that the sender has removed from it must not stay.
      let isWhole = kind == .whole || !isSameKind && earlier.kind == .directory
      if isWhole, !isUntouched(earlier) { since = .touched }
      if kind != .folder || !isSameKind, try !isOnOneMount(item, earlier.target) { since = .touched }
    }
    var source = ItemFate.Source.content
    if !isSameKind {
      source = .kind
    } else if item.kind != .directory {
      if !isChanged(item, earlier) { source = .same }
    } else if kind == .whole, try isUnchanged(item, earlier) {
      source = .same
    }
    // It comes again as a whole, or not at all.
    if kind == .whole, try lacksWanted(item) { since = .removed }
    var facts = ItemFate.Earlier(source, since, isWantedAgain: arrived?.removals(of: item.path) == .again)
    if facts.isAway, kind == .folder, isSameKind { facts.hasNew = try holdsWanted(item) }
    return facts
  }

  // MARK: Comparing

  /// What has become of an item of an earlier migration; it counts as touched unless it is compared.
  func since(_ earlier: ArrivedItem, comparing isCompared: Bool = true) -> ItemFate.Since {
    let there: ExistingEntry?
    do {
      there = try destination.occupant(at: earlier.target)
    } catch {
      // The item's path leads elsewhere now.
      return error.isNotFound || error.isNotDirectory || error.isSymbolicLink ? .removed : .touched
    }
    guard let there else { return .removed }
    guard there.kind == earlier.kind.fileKind else { return .displaced }
    guard isCompared else { return .touched }
    let isUntouched = earlier.isUntouched(
      there, tellsEntriesApart: staging.abilities.tellsEntriesApart, mayHaveChanged: replaced.contains(there.inode)
    ) { destination.digest(of: earlier.target) }
    return isUntouched ? .untouched : .touched
  }

  /// Whether a file or link differs from the version that has arrived. Compares the records: the
  /// staged file may have been changed for this device.
  func isChanged(_ item: Item, _ earlier: ArrivedItem) -> Bool {
    guard let record = try? records?.record(of: item.path, in: staging.journal) else { return true }
    switch (record.body, earlier.kind) {
    case (.file(let size), .file):
      return size != earlier.size || hasChanged(record, earlier)
    case (.symbolicLink(let target), .symbolicLink): return target != earlier.content
    case (.hardLink(let other), .file):
      guard let first = try? records?.record(of: other, in: staging.journal) else { return true }
      return first.size != earlier.size || hasChanged(first, earlier)
    default: return true
    }
  }

  /// Whether a file has another time, of its content or of its last change, than the arrived version.
  private func hasChanged(_ record: ItemRecord, _ earlier: ArrivedItem) -> Bool {
    if record.modified?.rounded(to: staging.abilities.timeGranularity) != earlier.modified { return true }
    guard let changed = record.changed, let before = earlier.changed else { return false }
    return changed != before
  }

  /// Whether all these files and links equal the versions that have arrived.
  func areUnchanged(_ items: [Item]) -> Bool {
    guard let arrived else { return false }
    return items.allSatisfy { item in arrived.item(at: item.path).map { !isChanged(item, $0) } ?? false }
  }

  /// Whether a staged item, with everything in it, is what has arrived, and nothing is missing: that would
  /// have changed the time of a directory.
  mutating func isUnchanged(_ item: Item, _ earlier: ArrivedItem) throws(Failure) -> Bool {
    guard item.kind == .directory else { return !isChanged(item, earlier) }
    guard let arrived, earlier.kind == .directory,
      try staging.directoryRecord(item.path)?.modified == earlier.modified
    else { return false }
    for item in try entries(of: item) {
      guard let earlier = arrived.item(at: item.path), try isUnchanged(item, earlier) else { return false }
    }
    return true
  }

  /// Whether a directory has exactly the items that have arrived in it, all untouched.
  private func isUntouched(_ directory: ArrivedItem) -> Bool {
    arrived?.isWholly(directory, { since($0) == .untouched }, names: { (try? destination.names(in: $0)) ?? nil })
      == true
  }
}

extension ArrivedItems {
  /// Whether the roots of these keys, at these places of a directory, have exactly the items that
  /// have arrived there, untouched, apart from some items.
  package func areUntouched(
    _ roots: [(key: [UInt8], place: [UInt8])], in home: borrowing Directory, besides others: Set<ArchivePath> = []
  ) -> Bool {
    // A program that writes one of them may rename it, which changes the folder.
    let folders = Set(others.compactMap(\.parent))
    return roots.allSatisfy { root in
      guard let path = try? ArchivePath(root.key), let item = item(at: path), item.target.bytes == root.place else {
        return false
      }
      return isWholly(
        item,
        { item in
          if others.contains(item.path) { return true }
          guard let status = try? Self.parent(of: item.target, in: home).status(item.target.name) else { return false }
          return item.isUntouched(
            ExistingEntry(status), tellsEntriesApart: true, mayHaveChanged: folders.contains(item.path)
          ) { nil }
        }, names: { try? home.openDirectoryBeneath($0.bytes).names() }, besides: others)
    }
  }

  private static func parent(of path: ArchivePath, in home: borrowing Directory) throws(SystemError) -> Directory {
    guard let parent = path.parent else { return try home.duplicate() }
    return try home.openDirectoryBeneath(parent.bytes)
  }

  /// Whether an item, with everything in it, is untouched, and nothing else is in it, apart from some
  /// items.
  fileprivate func isWholly(
    _ item: ArrivedItem, _ isUntouched: (ArrivedItem) -> Bool, names: (ArchivePath) -> [[UInt8]]?,
    besides others: Set<ArchivePath> = []
  ) -> Bool {
    var pending = [item]
    while let next = pending.popLast() {
      guard isUntouched(next) else { return false }
      guard next.kind == .directory else { continue }
      guard let names = names(next.target) else { return false }
      for name in names {
        guard let path = try? next.path.appending(name.span) else { return false }
        if others.contains(path) { continue }
        guard let item = self.item(at: path), item.target == (try? next.target.appending(name.span)) else {
          return false
        }
        pending.append(item)
      }
    }
    return true
  }
}

extension ArrivedItem {
  /// Whether an entry is unchanged since an import put it there or set its metadata.
  ///
  /// - Parameters:
  ///   - mayHaveChanged: whether this import has changed the entry itself: another name of it was
  ///     replaced.
  ///   - digest: the sum of the content, for a file system where entries prove nothing.
  func isUntouched(
    _ there: ExistingEntry, tellsEntriesApart: Bool, mayHaveChanged: Bool = false, digest: () -> [UInt8]?
  ) -> Bool {
    guard let entry, kind.fileKind == there.kind, let changed = there.changed else { return false }
    if kind == .file {
      guard entry.size == there.size, let time = there.modified, ItemTime(time) == entry.modified else { return false }
    }
    guard tellsEntriesApart else { return kind == .file && !sum.isEmpty && digest() == sum }
    return entry.inode == there.inode && (mayHaveChanged || entry.changed == ItemTime(changed))
  }
}

extension ItemKind {
  /// The type of the entries of such items.
  var fileKind: FileKind {
    switch self {
    case .directory: .directory
    case .file, .hardLink, .metadata: .regular
    case .symbolicLink: .symbolicLink
    }
  }
}
