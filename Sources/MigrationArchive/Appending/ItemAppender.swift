package import MigrationSystem
package import MigrationWire

/// Puts an archive together item by item, each under the path that an app's exporter gave it.
///
/// Directories merge; anything else under a path that is taken is an error. An append that throws leaves the appender as
/// usable as before, and what it says could not be read is not in the archive. One thread uses it.
package final class ItemAppender {
  /// The pauses before a file that changed while it was read is tried again.
  private static let pauses: [Double] = [0.02, 0.1, 0.5, 2]

  private let packer: FramePacker
  private var paths: AppendedPaths

  /// Appends to the archive that goes through a packer.
  package init(packer: FramePacker) {
    self.packer = packer
    paths = AppendedPaths()
  }

  /// Appends the file, or the directory with everything in it, that a descriptor stands for.
  package func append(_ item: consuming Descriptor, at path: [UInt8]) throws(ArchiveError) {
    let path = try check(path)
    let status: FileStatus
    do {
      status = try item.status()
    } catch {
      throw ArchiveError(.source, "\(VisibleText.quoted(path)) cannot be read", name: path.bytes, cause: error)
    }
    switch status.kind {
    case .regular: try appendFile(item, at: path)
    case .directory: try appendDirectory(Directory(owning: item), at: path)
    default:
      throw ArchiveError(
        .source, "\(VisibleText.quoted(path)) is neither file nor directory", name: path.bytes)
    }
  }

  /// Appends a symbolic link.
  package func appendLink(target: [UInt8], modified: ItemTime, at path: [UInt8]) throws(ArchiveError) {
    let path = try check(path)
    try paths.checkFree(path)
    // Its text and time are all that there is of it, so that they make its generation.
    var text = SipHash(key: 0)
    text.combine(target)
    let hash = text.finish()
    let fingerprint = SourceFingerprint(
      fileSystem: UInt64(truncatingIfNeeded: hash >> 64), inode: UInt64(truncatingIfNeeded: hash),
      size: UInt64(target.count), modified: modified, changed: modified)
    try packer.add(
      ItemRecord(
        path: path, generation: packer.generation(of: fingerprint), body: .symbolicLink(target: target),
        modified: modified))
    paths.take(path, isDirectory: false)
  }

  /// Adds the directories that nobody appended and that items are in. Nothing is appended after that.
  package func finish() throws(ArchiveError) {
    let nothing = ItemTime(seconds: 0, nanoseconds: 0)
    let generation = packer.generation(
      of: SourceFingerprint(fileSystem: 0, inode: 0, size: 0, modified: nothing, changed: nothing))
    for path in paths.implied.sorted() {
      try packer.add(ItemRecord(path: path, generation: generation, body: .directory))
    }
    try packer.flush()
  }

  private func check(_ path: [UInt8]) throws(ArchiveError) -> ArchivePath {
    do {
      return try ArchivePath(path)
    } catch {
      throw ArchiveError(.path, "\(VisibleText.quoted(path)) is no path that an item can have", name: path)
    }
  }

  private func appendFile(_ item: consuming Descriptor, at path: ArchivePath) throws(ArchiveError) {
    try paths.checkFree(path)
    let place: PassedFile
    do {
      place = try PassedFile(item)
    } catch {
      throw ArchiveError(.source, "\(VisibleText.quoted(path)) cannot be read", name: path.bytes, cause: error)
    }
    var export = FileExport(packer: packer, directory: place, path: path, name: path.name)
    var pauses = Self.pauses[...]
    while case .changed = try export.run() {
      guard let pause = pauses.popFirst() else {
        try packer.unsent(Unsent(path: path.bytes, reason: .keepsChanging))
        throw ArchiveError(.source, "\(VisibleText.quoted(path)) keeps changing while it is read", name: path.bytes)
      }
      // The receiver must have written what went before it can take another generation.
      try packer.drain()
      try packer.pause(seconds: pause)
    }
    paths.take(path, isDirectory: false)
  }

  private func appendDirectory(
    _ directory: consuming Directory, at path: ArchivePath
  ) throws(ArchiveError) {
    let directory = SharedDirectory(directory)
    try paths.checkDirectory(path)
    let tree = try SourceWalk.walk(contentsOf: directory) { self.packer.isStopped }
    let (taken, merged) = try paths.check(tree, beneath: path)
    let place: RealDirectory
    let look: SourceLook
    do {
      place = try RealDirectory(directory, SourceClocks(tree.latestChanges))
      look = try place.look { () throws(SystemError) in try directory.directory.status() }
    } catch {
      throw ArchiveError(.source, "\(VisibleText.quoted(path)) cannot be read", name: path.bytes, cause: error)
    }
    let isNew = paths.take(path, isDirectory: true)
    paths.take(taken)
    if isNew {
      let fingerprint = look.fingerprint(on: place.fileSystem(of: look.status))
      if var record = ItemRecord(look.status, path: path, generation: packer.generation(of: fingerprint)) {
        let extended: ExtendedMetadata
        do {
          extended = try ExtendedMetadata(of: directory.directory.descriptor)
        } catch {
          throw ArchiveError(.source, "\(VisibleText.quoted(path)) cannot be read", name: path.bytes, cause: error)
        }
        record.add(extended)
        try packer.add(record)
        packer.leaveBehind(extended.leftBehind)
      }
    }
    var export = FolderExport(roots: [place], tree: tree, packer: packer, prefix: path, merging: merged)
    try export.run()
    if let unsent = export.firstUnsent {
      throw ArchiveError(
        .source, "\(VisibleText.quoted(unsent.path)) cannot be read", name: unsent.path, cause: unsent.cause)
    }
  }
}

extension Unsent {
  /// The kernel's error that such a reason mostly stands for.
  fileprivate var cause: SystemError? {
    switch reason {
    case .vanished: SystemError(noSuchFile: "read")
    case .unreadable: SystemError(noPermission: "read")
    case .keepsChanging, .notSendable, .beyondLimits, .differing, .notStorable: nil
    }
  }
}

/// A file that was opened by somebody else, where a directory is asked for it.
private final class PassedFile: SourceDirectory {
  private let file: RealFile
  private let fileSystem: SourceFileSystem

  init(_ descriptor: consuming Descriptor) throws(SystemError) {
    fileSystem = try SourceFileSystem(of: descriptor, SourceClocks())
    file = fileSystem.file(descriptor)
  }

  func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> RealFile { file }
  func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus { try file.status() }

  func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8] {
    preconditionFailure("an open file is no link")
  }

  func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata {
    preconditionFailure("an open file is no directory")
  }

  func leftBehind(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]] {
    try file.extendedMetadata().leftBehind
  }

  func directory(at path: ArchivePath) throws(SystemError) -> Self {
    preconditionFailure("an open file is no directory")
  }

  func fileSystem(of status: FileStatus) -> UInt64 { fileSystem.number(of: status) }

  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceLook {
    try fileSystem.look(status)
  }

  func showsEveryChange(_ status: FileStatus) -> Bool { fileSystem.showsEveryChange(status) }
}
