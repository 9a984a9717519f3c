package import MigrationSystem
package import MigrationWire

/// What has a name: enough to know it again.
package struct Occupant: Equatable, Sendable {
  package let kind: FileKind
  /// The twelve permission bits.
  package let mode: UInt32
  package let device: UInt64
  package let inode: UInt64
  /// The length of a file; of anything else it says nothing.
  package let size: UInt64
  /// When its content last changed, where that is known.
  package let modified: Timestamp?

  package init(
    kind: FileKind, mode: UInt32, device: UInt64, inode: UInt64, size: UInt64 = 0, modified: Timestamp? = nil
  ) {
    self.kind = kind
    self.mode = mode
    self.device = device
    self.inode = inode
    self.size = size
    self.modified = modified
  }

  /// Whether both are names of one thing. A file system whose numbers are not to be relied on has not two with one time, too.
  func isSame(as other: Occupant) -> Bool {
    (device, inode, kind, size) == (other.device, other.inode, other.kind, other.size) && modified == other.modified
  }
}

/// Where a finished archive is moved to, by paths as they are in the archive.
///
/// No operation follows a symbolic link, in staging or at the destination. Each is one step: a crash comes before or after it.
package protocol ImportDestination {
  /// What is staged at a path; nil where nothing is, any more.
  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> Occupant?
  /// What has a name at the destination, nil if the name is free; fails if there is no such directory to be in.
  func occupant(at target: ArchivePath) throws(SystemError) -> Occupant?
  /// Moves something with all that is in it; a name that is taken is EEXIST. A file system that cannot promise that refuses
  /// (`isRenameFlagRefused`), and nothing has happened.
  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError)
  /// Gives a staged file or link a second name, at the destination; a name that is taken is EEXIST.
  func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError)
  /// Makes an empty directory or an empty file, for this user alone; a name that is taken is EEXIST.
  func claim(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> Occupant
  /// Removes an empty directory, or a file, at the destination.
  func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError)
  /// Puts something staged in the place of something of the same kind at the destination, in one step: every look finds the
  /// one or the other. A directory takes the place of an empty one alone.
  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError)
  /// Whether the entry at the destination equals the staged one to the last byte, and in its time. Directories never do.
  func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool
  /// The names in a directory of the destination as it lists them; nil where it finds each by that name alone.
  func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]?
  /// A way to what is at the destination for one thread: for metadata, nothing is made by it.
  func arrivedPlaces() -> any StagingPlaces
  /// Returns once all of that is durable.
  func synchronize() throws(SystemError)
}

/// A destination that moves everything by one rename, and takes no two names for one.
extension ImportDestination {
  package func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) { throw .unsupported("link") }
  package func claim(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> Occupant {
    throw .unsupported("claim")
  }
  package func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) { throw .unsupported("release") }
  package func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool { false }
  package func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]? { nil }
}
