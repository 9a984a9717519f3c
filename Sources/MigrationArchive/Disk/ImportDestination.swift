package import MigrationSystem
package import MigrationWire

/// What has a name: enough to know it again.
package struct Occupant: Equatable, Sendable {
  package let kind: FileKind
  /// The twelve permission bits.
  package let mode: UInt32
  package let device: UInt64
  package let inode: UInt64

  package init(kind: FileKind, mode: UInt32, device: UInt64, inode: UInt64) {
    self.kind = kind
    self.mode = mode
    self.device = device
    self.inode = inode
  }

  /// Whether both are names of one thing.
  func isSame(as other: Occupant) -> Bool { (device, inode) == (other.device, other.inode) }
}

/// Where a finished archive is moved to, by paths as they are in the archive.
///
/// No operation follows a symbolic link, in staging or at the destination.
package protocol ImportDestination {
  /// What is staged at a path; nil where nothing is, any more.
  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> Occupant?
  /// What has a name at the destination, nil if the name is free; fails if there is no such directory to be in.
  func occupant(at target: ArchivePath) throws(SystemError) -> Occupant?
  /// Moves something with all that is in it; a name that is taken is an error.
  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError)
  /// Puts a staged file or link in the place of one at the destination, in one step: whoever looks sees the one or the other.
  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError)
  /// A way to what is at the destination for one thread: for metadata, nothing is made by it.
  func arrivedPlaces() -> any StagingPlaces
  /// Returns once all of that is durable.
  func synchronize() throws(SystemError)
}
