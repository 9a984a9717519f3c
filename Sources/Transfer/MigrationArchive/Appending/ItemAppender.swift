package import MigrationSystem
package import MigrationWire

/// Assembles an archive item by item, each under the path that the app's exporter gave it.
///
/// Directories merge; any other item under a path that is taken is an error. After an append that
/// fails, the appender remains usable, and the items that the error names as unreadable are not in
/// the archive. One thread uses the appender. It reads small items itself; the readers of the export
/// read the others, several at once.
package final class ItemAppender {
  /// An append that is being read.
  package struct Append {
    let batch: WorkList.Batch
    let path: ArchivePath
    let isFile: Bool
  }

  private let export: ArchiveExport<RealDirectory>
  private let keys: TransferKeys
  private var paths: AppendedPaths

  /// Appends to the archive of an export.
  package init(export: ArchiveExport<RealDirectory>) {
    self.export = export
    keys = export.settings.keys
    paths = AppendedPaths()
  }

  /// Begins to append the file, or the directory with its contents, that a descriptor refers to.
  package func begin(_ item: consuming Descriptor, at path: [UInt8]) throws(Failure) -> Append {
    let path = try check(path)
    let status = try Failure.wrapping(
      .source, "\(VisibleText.quoted(path)) cannot be read", name: path.bytes, item.status())
    switch status.kind {
    case .regular: return try beginFile(item, status, at: path)
    case .directory: return try beginDirectory(Directory(owning: item), at: path)
    default:
      throw Failure(
        .source, "\(VisibleText.quoted(path)) is neither a file nor a directory", name: path.bytes)
    }
  }

  /// Whether an append has been read.
  package func isRead(_ append: Append) -> Bool { export.isRead(append.batch) }

  /// Ends an append that has been read. Throws the error that kept it, or a part of it, out of the
  /// archive.
  package func end(_ append: Append) throws(Failure) {
    let unsent = export.forget(append.batch)
    if append.isFile { paths.settle(append.path, isTaken: unsent == nil) }
    guard let unsent else { return }
    let words = unsent.reason == .keepsChanging ? "keeps changing while it is read" : "cannot be read"
    throw Failure(
      .source, "\(VisibleText.quoted(unsent.path)) \(words)", name: unsent.path, cause: unsent.cause)
  }

  /// Appends a symbolic link.
  package func appendLink(target: [UInt8], modified: ItemTime, at path: [UInt8]) throws(Failure) {
    let path = try check(path)
    try paths.checkFree(path)
    // A link has only its target and its time, so its generation is made of them.
    var text = SipHash(key: 0)
    text.combine(target)
    let hash = text.finish()
    let fingerprint = SourceFingerprint(
      fileSystem: UInt64(truncatingIfNeeded: hash >> 64), inode: UInt64(truncatingIfNeeded: hash),
      size: UInt64(target.count), modified: modified, changed: modified)
    export.addSmall(
      ItemRecord(
        path: path, generation: keys.generation(of: fingerprint), body: .symbolicLink(target: target),
        modified: modified))
    paths.take(path, isDirectory: false)
  }

  /// Adds the directories that contain items and that no append has added. No append may follow.
  package func finish() {
    let nothing = ItemTime(seconds: 0, nanoseconds: 0)
    let generation = keys.generation(
      of: SourceFingerprint(fileSystem: 0, inode: 0, size: 0, modified: nothing, changed: nothing))
    // The last directory is added first, so that the order is that of the paths.
    export.add(paths.implied.sorted().reversed().map { ItemRecord(path: $0, generation: generation, body: .directory) })
    export.endGrowing()
  }

  private func check(_ path: [UInt8]) throws(Failure) -> ArchivePath {
    try Violation.mapped(ArchivePath(path)) { _ in
      Failure(.path, "\(VisibleText.quoted(path)) is not a valid path for an item", name: path)
    }
  }

  private func beginFile(
    _ item: consuming Descriptor, _ status: FileStatus, at path: ArchivePath
  ) throws(Failure) -> Append {
    try paths.checkFree(path)
    let place: RealDirectory
    do {
      place = try RealDirectory(file: item)
    } catch {
      throw Failure(.source, "\(VisibleText.quoted(path)) cannot be read", name: path.bytes, cause: error)
    }
    var tree = SourceTree()
    _ = tree.add(path.name.span, status, kind: .file, parent: -1)
    paths.reserve(path)
    return Append(
      batch: export.addSmall(SourceBatch(roots: [place], tree: tree, prefix: path.parent)), path: path, isFile: true)
  }

  private func beginDirectory(
    _ directory: consuming Directory, at path: ArchivePath
  ) throws(Failure) -> Append {
    let directory = SharedDirectory(directory)
    try paths.checkDirectory(path)
    let tree = try SourceWalk.walk(contentsOf: directory) { self.export.isStopped }
    let (taken, merged) = try paths.check(tree, beneath: path)
    let place: RealDirectory
    do {
      place = try RealDirectory(directory, SourceClocks(tree.latestChanges))
      let record = try record(of: directory, place, at: path)
      if paths.take(path, isDirectory: true), let record {
        export.add([record.record], leavingBehind: record.lostAttributes)
      }
    } catch {
      throw Failure(.source, "\(VisibleText.quoted(path)) cannot be read", name: path.bytes, cause: error)
    }
    paths.take(taken)
    let batch = SourceBatch(roots: [place], tree: tree, prefix: path, merging: merged)
    return Append(batch: export.add(batch), path: path, isFile: false)
  }

  /// The record of an appended directory, and the attributes that are never carried.
  private func record(
    of directory: SharedDirectory, _ place: RealDirectory, at path: ArchivePath
  ) throws(SystemError) -> (record: ItemRecord, lostAttributes: [[UInt8]])? {
    let look = try place.look { () throws(SystemError) in try directory.directory.status() }
    let fingerprint = look.fingerprint(on: place.fileSystem(of: look.status))
    guard var record = ItemRecord(look.status, path: path, generation: keys.generation(of: fingerprint)) else {
      return nil
    }
    let extended = try ExtendedMetadata(of: directory.directory.descriptor)
    record.add(extended)
    return (record, extended.lostAttributes)
  }
}

extension NotStored {
  /// The kernel's error that usually causes this reason.
  fileprivate var cause: SystemError? {
    switch reason {
    case .vanished, .replaced: SystemError(noSuchFile: "read")
    case .unreadable: SystemError(noPermission: "read")
    default: nil
    }
  }
}
