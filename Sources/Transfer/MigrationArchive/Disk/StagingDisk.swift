package import MigrationSystem
package import MigrationWire

/// The disk that staging needs: a tree that only staging writes to, a journal next to it, and a way
/// to make both durable.
///
/// The code above this protocol decides everything in staging that could go wrong (the order of
/// writes, what to trust after a crash), so tests can run it on a disk that loses power.
package protocol StagingDisk: Sendable {
  /// The name of the staging directory, for people.
  var name: [UInt8] { get }
  var journal: any StagedFile { get }
  /// Access to the tree for one thread.
  func places() -> any StagingTree
  /// Returns when everything written before the call, in the tree and in the journal, is durable; with
  /// `syncsEach`, as far as the file system knows.
  func synchronize() throws(SystemError)
  /// Whether `synchronize` is not known to reach the data, so that each item must be synced too.
  var syncsEach: Bool { get }
  /// Returns when some staged items, and the folders above them, are durable; missing ones are fine.
  func synchronize(_ paths: Set<ArchivePath>) throws(SystemError)
  /// Returns when all staged folders are durable, with their metadata and names.
  func synchronizeFolders() throws(SystemError)
  /// The space on its file system; nil if unknown.
  func space() -> FileSystemSpace?
  /// The abilities of its file system.
  var abilities: DiskAbilities { get }
  /// Why it cannot hold an item of this name; nil if it can. Asked if it does not keep every name.
  func refusal(ofName name: [UInt8]) -> NotStored.Reason?
  /// The destination of its archive; nil for a disk from which nothing is imported.
  var destination: (any ImportDestination)? { get }
  /// Removes the staging directory, durably. The disk is unusable afterwards.
  func remove() throws(SystemError)
}

extension StagingDisk {
  /// Its abilities are unknown.
  package var abilities: DiskAbilities { DiskAbilities() }
  package func refusal(ofName name: [UInt8]) -> NotStored.Reason? { nil }
  package var destination: (any ImportDestination)? { nil }
  package func remove() throws(SystemError) {}
  package var syncsEach: Bool { false }
  package func synchronize(_ paths: Set<ArchivePath>) throws(SystemError) {}
  package func synchronizeFolders() throws(SystemError) {}
}

/// The tree of a staging directory, by paths of the archive. One thread uses it; it may remember
/// the last directory.
///
/// No operation follows a symbolic link. Operations that create an item also create its missing
/// parent directories.
package protocol StagingTree: AnyObject {
  /// Creates a file; fails if the name is taken.
  func createFile(_ path: ArchivePath, mode: UInt32) throws(SystemError) -> any StagedFile
  /// Opens a file for reading and writing.
  func openFile(_ path: ArchivePath) throws(SystemError) -> any StagedFile
  /// Opens a complete file, whose rights stay as they are.
  func openToRead(_ path: ArchivePath) throws(SystemError) -> any StagedFile
  /// Creates a directory; an existing directory is fine.
  func makeDirectory(_ path: ArchivePath) throws(SystemError)
  func makeSymbolicLink(_ path: ArchivePath, target: [UInt8]) throws(SystemError)
  /// Gives an existing file another name; fails if the target is not a file.
  func makeHardLink(_ path: ArchivePath, to target: ArchivePath) throws(SystemError)
  /// Creates a file with the content, holes, permissions and time of an existing file.
  func makeCopy(_ path: ArchivePath, of target: ArchivePath) throws(SystemError)
  /// The first bytes of a file, at most so many; its permissions stay as they are.
  func beginning(of path: ArchivePath, _ count: Int) throws(SystemError) -> [UInt8]
  /// Gives a file the name of another one, which is gone then, in one step.
  func replace(_ path: ArchivePath, with other: ArchivePath) throws(SystemError)
  /// Removes an item with its contents; a missing item is fine.
  func remove(_ path: ArchivePath) throws(SystemError)
  /// Removes a directory if it is empty. Returns whether it no longer exists.
  func removeIfEmpty(_ path: ArchivePath) throws(SystemError) -> Bool
  /// The length of a file; nil if there is none.
  func size(of path: ArchivePath) throws(SystemError) -> UInt64?
  /// The type of the entry with a name; nil if there is none.
  func kind(of path: ArchivePath) throws(SystemError) -> FileKind?
  func readLink(_ path: ArchivePath) throws(SystemError) -> [UInt8]
  func setTimes(_ path: ArchivePath, modified: Timestamp) throws(SystemError)
  func setMode(_ path: ArchivePath, _ mode: UInt32) throws(SystemError)
  /// Sets the owner of an entry; for a symbolic link, of the link itself.
  func setOwner(_ path: ArchivePath, _ owner: ItemRecord.Owner) throws(SystemError)
  /// Sets an extended attribute of a directory, after making the directory accessible if necessary.
  func setAttribute(_ path: ArchivePath, _ attribute: ExtendedAttribute) throws(SystemError)
  /// Removes the extended attributes and the access lists of a directory.
  func clearExtendedMetadata(_ path: ArchivePath) throws(SystemError)
  /// Sets an access control list of a directory.
  func setAccessList(_ path: ArchivePath, _ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError)
  /// The entries of a directory, or of the tree itself, also of one that its owner may not list. Its
  /// permissions stay.
  func entries(of directory: ArchivePath?) throws(SystemError) -> [(name: [UInt8], kind: FileKind)]
}

/// An open file or directory: a received one, or the journal. It stays the same one wherever its
/// name leads.
package protocol StagedFile: AnyObject, Sendable {
  /// Writes all of the bytes.
  func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError)
  /// Reads until the memory is full or the file ends. Returns the number of bytes read.
  func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int
  func size() throws(SystemError) -> UInt64
  /// The bytes that the file system has set aside for its growth, and that only this file can use.
  func reserved() -> UInt64
  /// Truncates the file, or extends it with a hole.
  func truncate(to size: UInt64) throws(SystemError)
  /// Makes a range read as zeros.
  func clear(_ range: Range<UInt64>) throws(SystemError)
  /// Gives a range the bytes that another file has there; holes stay holes.
  func copy(_ range: Range<UInt64>, from other: any StagedFile) throws(SystemError)
  func setMode(_ mode: UInt32) throws(SystemError)
  func setOwner(_ owner: ItemRecord.Owner) throws(SystemError)
  func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError)
  func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError)
  /// Removes the extended attributes and access lists.
  func clearExtendedMetadata() throws(SystemError)
  func setTimes(modified: Timestamp) throws(SystemError)
  /// Returns when the content is durable.
  func synchronize() throws(SystemError)
  /// From now on, durable content is read from the disk, where the system can do so.
  func forgetCached()
}

extension StagedFile {
  func copyByReading(_ range: Range<UInt64>, from other: any StagedFile) throws(SystemError) {
    var bytes = [UInt8](repeating: 0, count: Int(min(UInt64(range.count), 1 << 20)))
    var position = range.lowerBound
    while position < range.upperBound {
      let wanted = Int(min(range.upperBound - position, UInt64(bytes.count)))
      let count = try other.read(at: position, into: &bytes, 0..<wanted)
      // A block of zeros stays a hole, as it usually was in the other file.
      if bytes[..<count].contains(where: { $0 != 0 }) {
        try write(at: position, bytes.span.extracting(..<count))
      } else {
        try clear(position..<position + UInt64(count))
      }
      position += UInt64(count)
      if count < wanted { return }
    }
  }

  /// Reads into a part of an array, until the part is full or the file ends. Returns the number of
  /// bytes read.
  package func read(at offset: UInt64, into bytes: inout [UInt8], _ range: Range<Int>) throws(SystemError) -> Int {
    try bytes.withPart(range) { (memory) throws(SystemError) in try read(at: offset, into: &memory) }
  }
}
