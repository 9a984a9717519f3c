package import MigrationSystem
package import MigrationWire

/// The disk as staging needs it: a tree that only it writes to, a journal beside it, and what makes both durable.
///
/// Everything about staging that could go wrong (what is written when, what is believed after a crash) is decided above
/// this, and so can be tried on a disk that loses power.
package protocol StagingDisk: Sendable {
  /// What the staging directory is called, for people.
  var name: [UInt8] { get }
  var journal: any StagedFile { get }
  /// A way to the tree for one thread.
  func places() -> any StagingPlaces
  /// Returns once everything that was written before the call, tree and journal, is durable.
  func synchronize() throws(SystemError)
  /// How much room its file system has; nil where nothing is known of it.
  func space() -> FileSystemSpace?
  /// What its file system can do.
  var abilities: DiskAbilities { get }
  /// Closes its open files, since it is about to be removed. It serves for nothing from then on.
  func letGo()
}

extension StagingDisk {
  /// Nothing is known of it.
  package var abilities: DiskAbilities { DiskAbilities() }
  /// What it can hold.
  package var traits: DestinationTraits { abilities.traits }
}

/// The tree of a staging directory, by paths within the archive. One thread uses it; it may remember where it was last.
///
/// No operation follows a symbolic link. Directories on the way to what is made are made as well.
package protocol StagingPlaces: AnyObject {
  /// Makes a file; whatever has the name already is an error.
  func createFile(_ path: ArchivePath, mode: UInt32) throws(SystemError) -> any StagedFile
  /// Opens a file for reading and writing.
  func openFile(_ path: ArchivePath) throws(SystemError) -> any StagedFile
  /// Makes a directory; one that is there is fine.
  func makeDirectory(_ path: ArchivePath) throws(SystemError)
  func makeSymbolicLink(_ path: ArchivePath, target: [UInt8]) throws(SystemError)
  /// Gives a file that is there another name; fails for anything but a file.
  func makeHardLink(_ path: ArchivePath, to target: ArchivePath) throws(SystemError)
  /// Makes a file with the content, holes, rights and time of one that is there.
  func makeCopy(_ path: ArchivePath, of target: ArchivePath) throws(SystemError)
  /// Removes whatever has the name, and everything beneath it; nothing there is fine.
  func remove(_ path: ArchivePath) throws(SystemError)
  /// Removes a directory if it is empty; whether it is gone.
  func removeIfEmpty(_ path: ArchivePath) throws(SystemError) -> Bool
  /// What has the name; nil where nothing has.
  func kind(of path: ArchivePath) throws(SystemError) -> FileKind?
  func readLink(_ path: ArchivePath) throws(SystemError) -> [UInt8]
  func setTimes(_ path: ArchivePath, modified: Timestamp) throws(SystemError)
  func setMode(_ path: ArchivePath, _ mode: UInt32) throws(SystemError)
  /// Sets the owner of whatever has the name, a symbolic link's own.
  func setOwner(_ path: ArchivePath, _ owner: ItemRecord.Owner) throws(SystemError)
  /// Sets an extended attribute of a directory, which is made accessible to us first, if it is not.
  func setAttribute(_ path: ArchivePath, _ attribute: ExtendedAttribute) throws(SystemError)
  /// Removes the extended attributes and the lists of a directory.
  func clearExtendedMetadata(_ path: ArchivePath) throws(SystemError)
  /// Sets an access control list of a directory.
  func setAccessList(_ path: ArchivePath, _ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError)
  /// What is in a directory, or in the tree itself. The directory is made accessible to us first, if it is not.
  func entries(of directory: ArchivePath?) throws(SystemError) -> [(name: [UInt8], kind: FileKind)]
}

/// A file of staging: one that arrives, or the journal.
package protocol StagedFile: AnyObject, Sendable {
  /// Writes all of the bytes.
  func write(at offset: UInt64, _ bytes: RawSpan) throws(SystemError)
  /// Reads until the buffer is full or the file ends, and says how much there was.
  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
  func size() throws(SystemError) -> UInt64
  /// Cuts the file, or extends it with a hole.
  func truncate(to size: UInt64) throws(SystemError)
  /// Makes a range read as zeros.
  func clear(_ range: Range<UInt64>) throws(SystemError)
  func setMode(_ mode: UInt32) throws(SystemError)
  func setOwner(_ owner: ItemRecord.Owner) throws(SystemError)
  func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError)
  func setAccessList(_ list: [AccessEntry]) throws(SystemError)
  /// Removes attributes and access lists.
  func clearExtendedMetadata() throws(SystemError)
  func setTimes(modified: Timestamp) throws(SystemError)
  /// Returns once the content is durable.
  func synchronize() throws(SystemError)
}
