import MigrationSystem
import MigrationWire

/// The user's selection of the items to send.
package struct Selection: Equatable, Sendable {
  /// The items to leave out, with their contents. A source itself is never left out.
  package var exclusions = ExclusionList()
  /// Whether the contents of directories that are marked as caches are left out, except for the
  /// mark.
  package var isWithoutCaches = false

  /// Selects everything.
  package init() {}

  /// Warnings for the user before the transfer begins: patterns that match nothing.
  package var warnings: [String] {
    exclusions.flawed.map { "the pattern \(VisibleText.quoted($0.text)) \($0.flaw?.clause ?? "") and matches nothing" }
  }
}

/// Applies a selection to the items of one directory.
struct DirectorySelection {
  private let exclusions: ExclusionList
  /// Whether only the mark of this directory is sent.
  private let isCache: Bool
  /// The path of the item that is being checked, within its source.
  private var path: [UInt8] = []
  private let nameStart: Int

  /// Prepares for a directory that is sent; `path` is its path in the archive, nil for the parent
  /// of the sources.
  init(_ selection: Selection, in directory: borrowing Directory, _ path: ArchivePath?) {
    exclusions = selection.exclusions
    isCache = selection.isWithoutCaches && CacheTag.marks(directory)
    if let path, path.depth > 1 {
      self.path = path.bytes.dropFirst(path.root.count + 1) + [UInt8(ascii: "/")]
    }
    nameStart = self.path.count
  }

  /// Whether an item is sent.
  mutating func takes(_ name: Span<UInt8>, _ kind: FileKind) -> Bool {
    if isCache, [UInt8](copying: name) != CacheTag.name { return false }
    if exclusions.isEmpty { return true }
    path.removeSubrange(nameStart...)
    for index in name.indices { path.append(name[index]) }
    return !exclusions.excludes(path.span, nameStart: nameStart, isDirectory: kind == .directory)
  }
}
