package import MigrationSystem
package import MigrationWire

/// A directory of the source, as far as an export looks into it.
///
/// What decides whether a file held still is above this, and so can be tried on sources that change at any moment.
package protocol SourceDirectory: AnyObject, Sendable {
  associatedtype File: SourceFile

  /// Opens a file here.
  func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> File
  /// What the kernel knows about a name; about a symbolic link itself.
  func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus
  func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8]
  /// What a directory here has of extended metadata.
  func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata
  /// The names of the attributes of a name here that are never carried; nothing is opened.
  func leftBehind(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]]
  /// Opens the directory at a path beneath this one, through no link.
  func directory(at path: ArchivePath) throws(SystemError) -> Self
  /// What the file system of a status is called: a number that outlives a restart, where there is one.
  func fileSystem(of status: FileStatus) -> UInt64
  /// Looks at something here, and says whether the clock that makes its stamps has moved past the last one.
  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceLook
  /// Whether every change of what has this status shows in it, also one after which its modification time was put back.
  func showsEveryChange(_ status: FileStatus) -> Bool
  /// Whether `fetch` does anything.
  static var canFetch: Bool { get }
  /// Begins to bring the first bytes of a file into memory, without waiting for them.
  func fetch(_ name: ArraySlice<UInt8>, length: Int)
}

extension SourceDirectory {
  package func showsEveryChange(_ status: FileStatus) -> Bool { true }
  package static var canFetch: Bool { false }
  package func fetch(_ name: ArraySlice<UInt8>, length: Int) {}
  package func leftBehind(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]] { [] }
}

/// A file of the source while it is read.
package protocol SourceFile: AnyObject, Sendable {
  func status() throws(SystemError) -> FileStatus
  func extendedMetadata() throws(SystemError) -> ExtendedMetadata
  /// Reads until the buffer is full or the file ends, and says how much there was.
  func readFully(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
  /// The file will be read from front to back.
  func adviseSequential()
  /// Begins to bring a part of the file into memory, without waiting for it.
  func fetch(at offset: Int64, length: Int64)
  /// The first offset from `offset` on that holds data, or nil if only a hole is left.
  func nextData(from offset: Int64) throws(SystemError) -> Int64?
  /// The first offset from `offset` on that lies in a hole, the end counting as one; nil at or behind the end.
  func nextHole(from offset: Int64) throws(SystemError) -> Int64?
}

extension SourceFile {
  package func fetch(at offset: Int64, length: Int64) {}
}

/// A real directory of the source.
final class RealDirectory: SourceDirectory {
  private let directory: SharedDirectory
  private let fileSystem: SourceFileSystem

  /// Begins with a directory of a source; `clocks` is shared by all of them.
  convenience init(_ directory: SharedDirectory, _ clocks: SourceClocks = SourceClocks()) throws(SystemError) {
    self.init(directory, try SourceFileSystem(of: directory.directory.descriptor, clocks))
  }

  private init(_ directory: SharedDirectory, _ fileSystem: SourceFileSystem) {
    self.directory = directory
    self.fileSystem = fileSystem
  }

  func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> RealFile {
    fileSystem.file(try directory.directory.openChild(name, .nonBlocking))
  }

  func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus { try directory.directory.status(name) }

  func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8] { try directory.directory.readLink(name) }

  func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata {
    do {
      return try ExtendedMetadata(of: try directory.directory.openChildDirectory(name).descriptor)
    } catch  where error.isPermissionDenied {
      // Then nothing in it can be sent either, and that is told.
      return ExtendedMetadata()
    }
  }

  func leftBehind(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]] {
    try directory.directory.attributeNames(of: name).filter(ExtendedMetadata.leavesBehind)
  }

  func directory(at path: ArchivePath) throws(SystemError) -> RealDirectory {
    let below = SharedDirectory(try directory.directory.openDirectoryBeneath(path.bytes))
    return RealDirectory(below, try fileSystem.sharingClocks(with: below.directory.descriptor))
  }

  func fileSystem(of status: FileStatus) -> UInt64 { fileSystem.number(of: status) }

  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceLook {
    try fileSystem.look(status)
  }

  func showsEveryChange(_ status: FileStatus) -> Bool { fileSystem.showsEveryChange(status) }

  static var canFetch: Bool { true }

  func fetch(_ name: ArraySlice<UInt8>, length: Int) {
    (try? open(name))?.fetch(at: 0, length: Int64(length))
  }
}

/// A real file of the source.
package final class RealFile: SourceFile {
  private let descriptor: Descriptor
  /// Whether the kernel tells of it what it remembers, unless it is asked not to.
  private let isRemembered: Bool

  init(_ descriptor: consuming Descriptor, isRemembered: Bool = false) {
    self.descriptor = descriptor
    self.isRemembered = isRemembered
  }

  package func status() throws(SystemError) -> FileStatus {
    try isRemembered ? descriptor.freshStatus() : descriptor.status()
  }

  package func extendedMetadata() throws(SystemError) -> ExtendedMetadata { try ExtendedMetadata(of: descriptor) }

  package func readFully(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    try unsafe descriptor.readFully(at: offset, into: buffer)
  }

  package func adviseSequential() { descriptor.adviseSequential() }
  package func fetch(at offset: Int64, length: Int64) { descriptor.adviseNeeded(at: offset, length: length) }
  package func nextData(from offset: Int64) throws(SystemError) -> Int64? { try descriptor.nextData(from: offset) }
  package func nextHole(from offset: Int64) throws(SystemError) -> Int64? { try descriptor.nextHole(from: offset) }
}
