import MigrationSystem
import MigrationWire

/// What of the sources is sent.
package struct Selection: Equatable, Sendable {
  /// What is left out, and nothing in it is looked at. A source itself always stays.
  package var exclusions = ExclusionList()
  /// Whether directories that are marked as caches lose what they hold, the mark excepted.
  package var isWithoutCaches = false

  /// Everything.
  package init() {}

  /// What the user should know before the transfer begins: patterns that leave nothing out.
  package var warnings: [String] {
    exclusions.flawed.map { "the pattern \(VisibleText.quoted($0.text)) \($0.flaw?.clause ?? "") and matches nothing" }
  }
}

/// What a selection says of the items of one directory.
struct DirectorySelection {
  private let exclusions: ExclusionList
  /// Whether of this directory nothing but its mark is sent.
  private let isCache: Bool
  /// The path of the item that is judged, within its source.
  private var path: [UInt8] = []
  private let nameStart: Int

  /// Looks at a directory that is sent; `path` is what it is called in the archive, nil for the one that holds the sources.
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
