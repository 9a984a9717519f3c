import MigrationSystem
import MigrationWire

/// Replaces files in the last pass of a migration. A user may save a file after the look that found
/// it untouched. If the file system can, the new file and the old one exchange their names in one
/// step, and the import then checks the displaced file again.
extension FolderImport {
  /// Replaces the earlier version of an item. Returns false, and leaves everything as it was, if
  /// the earlier version was touched meanwhile.
  mutating func replaceEarlier(_ target: ArchivePath, with item: Item) throws(SystemError) -> Bool {
    // In this order: a change behind the first look shows in one of the next two.
    guard let earlier = arrived?.item(at: item.path), let before = try destination.occupant(at: target),
      since(earlier) == .untouched
    else { return false }
    do throws(SystemError) {
      guard tellsEntriesApart else { throw .unsupported("exchange") }
      try destination.exchange(target, with: item.path)
    } catch {
      guard error.isRenameFlagRefused else { throw error }
      // Only the time between the look above and this step is unguarded.
      try destination.replace(target, with: item.path)
      return true
    }
    guard let displaced = try destination.occupant(ofStaged: item.path), displaced.hasContent(of: before) else {
      try destination.exchange(target, with: item.path)
      return false
    }
    try staged.remove(item.path)
    return true
  }

  /// The items that replace earlier versions, with their paths: a later run finds the earlier
  /// versions staged.
  func exchanges(_ items: ArraySlice<Item>, _ fates: [Fate]) -> [(path: ArchivePath, target: ArchivePath)] {
    guard existing == .merge else { return [] }
    return zip(items, fates).compactMap { item, fate in fate.replaced.map { (path: item.path, target: $0) } }
  }
}

extension ExistingEntry {
  /// Whether both are one entry with one content; a new name changes the time of change.
  fileprivate func hasContent(of other: ExistingEntry) -> Bool {
    isSame(as: other) && mode == other.mode && owner == other.owner
  }
}
