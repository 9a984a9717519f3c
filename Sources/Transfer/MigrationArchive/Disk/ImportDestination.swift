package import MigrationSystem
package import MigrationWire

/// The entry that has a name: enough data to recognise it again.
package struct ExistingEntry: Equatable, Sendable {
  package let kind: FileKind
  /// The twelve permission bits.
  package let mode: UInt32
  package let device: UInt64
  package let inode: UInt64
  /// The length of a file; without meaning for other types.
  package let size: UInt64
  /// When the content last changed, if known.
  package let modified: Timestamp?
  /// When its content or metadata last changed, if known.
  package let changed: Timestamp?
  /// Its owner, if known.
  package let owner: ItemRecord.Owner?
  /// The mount that has it: items are moved only within one.
  package let mount: MountIdentity

  package init(
    kind: FileKind, mode: UInt32, device: UInt64, inode: UInt64, size: UInt64 = 0, modified: Timestamp? = nil,
    changed: Timestamp? = nil, owner: ItemRecord.Owner? = nil, mount: MountIdentity? = nil
  ) {
    self.mount = mount ?? MountIdentity(device: device)
    self.kind = kind
    self.mode = mode
    self.device = device
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
    self.owner = owner
  }

  /// Whether both have one inode. Only on some file systems (`DiskAbilities.tellsEntriesApart`)
  /// does that show that an entry was moved, or was replaced.
  func hasInode(of other: ExistingEntry) -> Bool { (device, inode) == (other.device, other.inode) }

  /// Whether both are names of one entry. On a file system with unreliable inode numbers, two
  /// different entries would not also have equal times.
  func isSame(as other: ExistingEntry) -> Bool {
    (device, inode, kind, size) == (other.device, other.inode, other.kind, other.size) && modified == other.modified
  }
}

/// The destination that a finished archive is moved to. Paths are those of the archive.
///
/// No operation follows a symbolic link, in staging or at the destination. Each is a single step: a
/// crash comes before or after it.
package protocol ImportDestination {
  /// The staged entry at a path; nil if it is not, or no longer, staged.
  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> ExistingEntry?
  /// The existing entry at the destination; nil if the name is free. Fails if its parent directory
  /// does not exist.
  func occupant(at target: ArchivePath) throws(SystemError) -> ExistingEntry?
  /// Creates the missing directories above a path at the destination.
  func makeParent(of target: ArchivePath) throws(SystemError)
  /// Moves an item with its contents; EEXIST if the name is taken. A file system that cannot
  /// guarantee that refuses (`isRenameFlagRefused`), and nothing has changed.
  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError)
  /// Gives a staged file or link a second name, at the destination; EEXIST if the name is taken.
  func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError)
  /// Creates an empty directory or an empty file, private to this user; EEXIST if the name is
  /// taken.
  func createPlaceholder(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> ExistingEntry
  /// Removes an empty directory, or a file, at the destination.
  func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError)
  /// Replaces an item at the destination with a staged item of the same type, in one step: every
  /// lookup finds either the old or the new item. A directory replaces only an empty directory.
  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError)
  /// Gives an item at the destination and a staged one each other's name, in one step. A file system
  /// that cannot refuses (`isRenameFlagRefused`), and nothing has changed.
  func exchange(_ target: ArchivePath, with path: ArchivePath) throws(SystemError)
  /// Gives an entry at the destination another name there; EEXIST if the name is taken.
  func rename(_ target: ArchivePath, to name: ArchivePath) throws(SystemError)
  /// Moves an entry at the destination back to a staged name; EEXIST if that is taken.
  func takeBack(_ target: ArchivePath, to path: ArchivePath) throws(SystemError)
  /// Whether the entry at the destination equals the staged entry in every byte and in its time.
  /// Directories never do.
  func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool
  /// The sum of the content of a file at the destination (`ContentSum`); nil if it cannot be read.
  func digest(of target: ArchivePath) -> [UInt8]?

  /// Whether the entry at `target` is the staged item by the rule of marks of kind 2 (Protocol
  /// §9.2): a file of equal size and time, a symbolic link with an equal target. An entry that
  /// cannot be looked at is not. Opens no file.
  func isPresent(_ path: ArchivePath, at target: ArchivePath, timeGranularity: UInt32) -> Bool
  /// The names in a directory of the destination as it lists them; nil if the file system finds
  /// each entry by exactly one name.
  func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]?
  /// Opens a file at the destination, to copy from it.
  func openBase(_ target: ArchivePath) throws(SystemError) -> DiskFile
  /// Opens a staged directory, which keeps its metadata wherever it is moved.
  func open(staged path: ArchivePath) throws(SystemError) -> any StagedFile
  /// Opens a directory at the destination. Fails if it is not the entry that was seen there.
  func open(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile
  /// Opens a file at the destination, to change its metadata. Fails if it is not the entry that was
  /// seen there.
  func open(file target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile
  /// Goes to a directory at the destination: its items are the entries of this directory, wherever
  /// its name leads, until another one is entered. Fails if it is not the entry that was seen
  /// there.
  func enter(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError)
  /// Records that an item came to a path, in this run or one before: the names in its folder are to be
  /// made durable.
  func noteChange(at target: ArchivePath)
  /// Returns when all changes are durable.
  func synchronize() throws(SystemError)
}
