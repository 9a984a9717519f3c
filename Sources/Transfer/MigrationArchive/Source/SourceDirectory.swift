package import MigrationSystem
package import MigrationWire

/// A directory of the source, with the operations that an export needs.
///
/// The code above this protocol decides whether a file is consistent, so tests can run it on
/// sources that change at any moment.
package protocol SourceDirectory: AnyObject, Sendable {
  associatedtype File: SourceFile

  /// Opens a file in this directory.
  func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> File
  /// The kernel's status of a name; for a symbolic link, of the link itself.
  func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus
  func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8]
  /// The extended metadata of a subdirectory.
  func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata
  /// The names of the attributes that are never carried, for a name in this directory; opens
  /// nothing.
  func lostAttributes(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]]
  /// Opens the directory at a path inside this one, without following links.
  func directory(at path: ArchivePath) throws(SystemError) -> Self
  /// The identifier of the file system of a status: a number that stays the same after a restart,
  /// if there is one.
  func fileSystem(of status: FileStatus) -> UInt64
  /// Reads the status of an item, and whether the clock that makes its stamps has moved past the
  /// last one.
  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceStatus
  /// Whether a look tells when an item changed last. Then one look after the reading of a file
  /// tells whether the file was read in one state.
  var datesChanges: Bool { get }
  /// Whether every change of an item with this status is visible in it, even if its modification
  /// time is set back afterwards.
  func showsEveryChange(_ status: FileStatus) -> Bool
  /// Whether `fetch` has an effect.
  static var canFetch: Bool { get }
  /// Starts reading the first bytes of a file into memory, without waiting for them.
  func fetch(_ name: ArraySlice<UInt8>, length: Int)
}

/// A file of the source that is being read.
package protocol SourceFile: AnyObject, Sendable {
  func status() throws(SystemError) -> FileStatus
  func extendedMetadata() throws(SystemError) -> ExtendedMetadata
  /// Reads until the memory is full or the file ends. Returns the number of bytes read.
  func readFully(at offset: Int64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int
  /// Announces that the file will be read from start to end.
  func adviseSequential()
  /// Starts reading a part of the file into memory, without waiting for it.
  func fetch(at offset: Int64, length: Int64)
  /// The first offset with data at or after `offset`; nil if only a hole remains.
  func nextData(from offset: Int64) throws(SystemError) -> Int64?
  /// Whether the file system's answers about holes are known to be right.
  var tellsHoles: Bool { get }
  /// The first offset in a hole at or after `offset`, where the end of the file counts as a hole;
  /// nil at or behind the end.
  func nextHole(from offset: Int64) throws(SystemError) -> Int64?
}

/// A real directory of the source; or one file that an app has opened, presented as a directory that
/// contains only this file.
package final class RealDirectory: SourceDirectory {
  private enum Contents {
    case directory(SharedDirectory)
    case file(File)
  }

  private let contents: Contents
  private let fileSystem: SourceFileSystem
  /// The source, in the directory that holds it.
  private let root: SourceRoot?

  /// Starts with a directory of a source; all of them share `clocks`.
  convenience init(_ directory: SharedDirectory, _ clocks: SourceClocks = SourceClocks()) throws(SystemError) {
    self.init(directory, try SourceFileSystem(of: directory.directory.descriptor, clocks))
  }

  /// Starts with the directory that holds a source.
  convenience init(_ root: SourceRoot, _ clocks: SourceClocks = SourceClocks()) throws(SystemError) {
    self.init(root.parent, try SourceFileSystem(of: root.parent.directory.descriptor, clocks), root)
  }

  private init(_ directory: SharedDirectory, _ fileSystem: SourceFileSystem, _ root: SourceRoot? = nil) {
    contents = .directory(directory)
    self.fileSystem = fileSystem
    self.root = root
  }

  /// Presents one open file as its directory.
  init(file descriptor: consuming Descriptor) throws(SystemError) {
    fileSystem = try SourceFileSystem(of: descriptor, SourceClocks())
    contents = .file(fileSystem.file(descriptor))
    root = nil
  }

  /// An open file contains neither links nor directories.
  private var directory: SharedDirectory {
    guard case .directory(let directory) = contents else { preconditionFailure("an open file is no directory") }
    return directory
  }

  /// The name in this directory of an item with a name in the archive.
  private func entry(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> { root.map { $0.entry[...] } ?? name }

  package func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> File {
    if case .file(let file) = contents { return file }
    return fileSystem.file(try directory.directory.openChild(entry(name), .anyKind))
  }

  package func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus {
    if case .file(let file) = contents { return try file.status() }
    return try directory.directory.status(entry(name))
  }

  package func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8] {
    try directory.directory.readLink(entry(name))
  }

  package func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata {
    do {
      return try ExtendedMetadata(of: try directory.directory.openChildDirectory(entry(name)).descriptor)
    } catch  where error.isPermissionDenied {
      // Then no item in it can be sent either, and the sender reports that.
      return ExtendedMetadata()
    }
  }

  package func lostAttributes(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]] {
    if case .file(let file) = contents { return try file.extendedMetadata().lostAttributes }
    return try directory.directory.attributeNames(of: entry(name)).filter(ExtendedMetadata.leavesBehind)
  }

  package func directory(at path: ArchivePath) throws(SystemError) -> RealDirectory {
    let below = SharedDirectory(try directory.directory.openDirectoryBeneath(root?.place(of: path) ?? path.bytes))
    return RealDirectory(below, try fileSystem.sharingClocks(with: below.directory.descriptor))
  }

  package func fileSystem(of status: FileStatus) -> UInt64 { fileSystem.number(of: status) }

  package func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceStatus {
    try fileSystem.look(status)
  }

  package var datesChanges: Bool { fileSystem.datesChanges }
  package func showsEveryChange(_ status: FileStatus) -> Bool { fileSystem.showsEveryChange(status) }

  package static var canFetch: Bool { true }

  package func fetch(_ name: ArraySlice<UInt8>, length: Int) {
    (try? open(name))?.fetch(at: 0, length: Int64(length))
  }
}

extension RealDirectory {
  /// A real file of the source.
  package final class File: SourceFile {
    private let descriptor: Descriptor
    /// Whether the kernel returns its cached data of the file unless told not to.
    private let isRemembered: Bool
    package let tellsHoles: Bool

    init(_ descriptor: consuming Descriptor, isRemembered: Bool = false, tellsHoles: Bool = true) {
      self.descriptor = descriptor
      self.isRemembered = isRemembered
      self.tellsHoles = tellsHoles
    }

    package func status() throws(SystemError) -> FileStatus {
      try isRemembered ? descriptor.freshStatus() : descriptor.status()
    }

    package func extendedMetadata() throws(SystemError) -> ExtendedMetadata { try ExtendedMetadata(of: descriptor) }

    package func readFully(at offset: Int64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
      try descriptor.readFully(at: offset, into: &memory)
    }

    package func adviseSequential() { descriptor.adviseSequential() }
    package func fetch(at offset: Int64, length: Int64) { descriptor.adviseNeeded(at: offset, length: length) }
    package func nextData(from offset: Int64) throws(SystemError) -> Int64? { try descriptor.nextData(from: offset) }
    package func nextHole(from offset: Int64) throws(SystemError) -> Int64? { try descriptor.nextHole(from: offset) }
  }
}
