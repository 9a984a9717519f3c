import MigrationSystem
import MigrationWire

/// Items arrive by renames, which do not lead into another file system: the places of the destination where
/// another one begins.
extension FolderImport {
  /// Why nothing can arrive at the place of a root.
  func hindrance(of item: Item) throws(Failure) -> SystemError? {
    guard places != nil, item.path.parent == nil else { return nil }
    let mount = try stagedOccupant(item.path).mount
    let hindrance = try importing(item.path) { () throws(SystemError) in
      try RootDestinations.hindrance(at: item.target, isDirectory: item.kind == .directory, mount: mount) {
        (path) throws(SystemError) in try destination.occupant(at: path).map { ($0.kind, $0.mount) }
      }
    }
    return hindrance.map { SystemError(reason: $0.clause, operation: "import") }
  }

  /// Items are not renamed from one file system to another: an import that meets a mount point in
  /// the destination names it and leaves it unchanged.
  func checkFileSystem(of directory: Item, _ there: ExistingEntry) throws(Failure) {
    guard try there.mount != stagedOccupant(directory.path).mount else { return }
    throw Failure(
      .importFailed,
      "\(VisibleText.quoted(directory.target)) in the destination is a mount point; "
        + "items are not moved into another file system", name: directory.target.bytes)
  }

  /// Whether an item can be moved to a path by a rename.
  func isOnOneMount(_ item: Item, _ target: ArchivePath) throws(Failure) -> Bool {
    try (try? destination.occupant(at: target))?.mount == stagedOccupant(item.path).mount
  }
}
