import Glibc
import MigrationSystem
import MigrationWire

@testable import MigrationArchive

/// A real disk with the limits of a lesser one: no name with a colon, no symbolic link, no file of
/// more than 3,000 bytes. Unlike a mounted file system of that kind it needs no privileges, and
/// fails on request.
final class NarrowDisk: StagingDisk {
  let disk: DirectoryDisk
  let failure = Mutex<CInt?>(nil)
  let journalFailure = Mutex<CInt?>(nil)
  /// Makes writing to files and removing them fail.
  let contentFailure = Mutex<CInt?>(nil)

  init(_ disk: DirectoryDisk) { self.disk = disk }

  var name: [UInt8] { disk.name }
  var journal: any StagedFile {
    NarrowFile(disk.journal) { [self] (_) throws(SystemError) in
      if let errno = journalFailure.withLock({ $0 }) { throw SystemError(errno: errno, operation: "write") }
    }
  }
  func places() -> any StagingTree { NarrowTree(disk.places(), self) }
  func synchronize() throws(SystemError) { try disk.synchronize() }
  func space() -> FileSystemSpace? { disk.space() }

  fileprivate func checkContent() throws(SystemError) {
    if let errno = contentFailure.withLock({ $0 }) { throw SystemError(errno: errno, operation: "write") }
  }

  fileprivate func check(_ path: ArchivePath) throws(SystemError) {
    if let errno = failure.withLock({ $0 }) { throw SystemError(errno: errno, operation: "create") }
    for name in path.components where name.contains(UInt8(ascii: ":")) {
      throw SystemError(errno: EINVAL, operation: "create")
    }
  }
}

private final class NarrowTree: StagingTree {
  private let places: any StagingTree
  private let disk: NarrowDisk

  init(_ places: any StagingTree, _ disk: NarrowDisk) {
    self.places = places
    self.disk = disk
  }

  func createFile(_ path: ArchivePath, mode: UInt32) throws(SystemError) -> any StagedFile {
    try disk.check(path)
    let disk = disk
    return NarrowFile(try places.createFile(path, mode: mode)) { (end) throws(SystemError) in
      try disk.checkContent()
      if end > 3_000 { throw SystemError(errno: EFBIG, operation: "write") }
    }
  }
  func makeDirectory(_ path: ArchivePath) throws(SystemError) {
    try disk.check(path)
    try places.makeDirectory(path)
  }
  func makeSymbolicLink(_ path: ArchivePath, target: [UInt8]) throws(SystemError) {
    try disk.check(path)
    throw SystemError(errno: EPERM, operation: "link")
  }
  func makeHardLink(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try disk.check(path)
    try places.makeHardLink(path, to: target)
  }

  func openFile(_ path: ArchivePath) throws(SystemError) -> any StagedFile { NarrowFile(try places.openFile(path)) }
  func makeCopy(_ path: ArchivePath, of target: ArchivePath) throws(SystemError) {
    try places.makeCopy(path, of: target)
  }
  func remove(_ path: ArchivePath) throws(SystemError) {
    try disk.checkContent()
    try places.remove(path)
  }
  func removeIfEmpty(_ path: ArchivePath) throws(SystemError) -> Bool { try places.removeIfEmpty(path) }
  func size(of path: ArchivePath) throws(SystemError) -> UInt64? { try places.size(of: path) }
  func kind(of path: ArchivePath) throws(SystemError) -> FileKind? { try places.kind(of: path) }
  func readLink(_ path: ArchivePath) throws(SystemError) -> [UInt8] { try places.readLink(path) }
  func setTimes(_ path: ArchivePath, modified: Timestamp) throws(SystemError) {
    try places.setTimes(path, modified: modified)
  }
  func setMode(_ path: ArchivePath, _ mode: UInt32) throws(SystemError) { try places.setMode(path, mode) }
  func setOwner(_ path: ArchivePath, _ owner: ItemRecord.Owner) throws(SystemError) {
    try places.setOwner(path, owner)
  }
  func setAttribute(_ path: ArchivePath, _ attribute: ExtendedAttribute) throws(SystemError) {
    try places.setAttribute(path, attribute)
  }
  func clearExtendedMetadata(_ path: ArchivePath) throws(SystemError) { try places.clearExtendedMetadata(path) }
  func setAccessList(_ path: ArchivePath, _ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try places.setAccessList(path, list, kind)
  }
  func entries(of directory: ArchivePath?) throws(SystemError) -> [(name: [UInt8], kind: FileKind)] {
    try places.entries(of: directory)
  }
}

/// A real file with a check before each write.
final class NarrowFile: StagedFile {
  private let file: any StagedFile
  private let check: @Sendable (_ end: UInt64) throws(SystemError) -> Void

  init(
    _ file: any StagedFile,
    check: @escaping @Sendable (_ end: UInt64) throws(SystemError) -> Void = { (end) throws(SystemError) in
      if end > 3_000 { throw SystemError(errno: EFBIG, operation: "write") }
    }
  ) {
    self.file = file
    self.check = check
  }

  func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
    try check(offset + UInt64(bytes.count))
    try file.write(at: offset, bytes)
  }
  func truncate(to size: UInt64) throws(SystemError) {
    try check(size)
    try file.truncate(to: size)
  }
  func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try file.read(at: offset, into: &memory)
  }
  func size() throws(SystemError) -> UInt64 { try file.size() }
  func synchronize() throws(SystemError) { try file.synchronize() }
  func clear(_ range: Range<UInt64>) throws(SystemError) { try file.clear(range) }
  func setMode(_ mode: UInt32) throws(SystemError) { try file.setMode(mode) }
  func setOwner(_ owner: ItemRecord.Owner) throws(SystemError) { try file.setOwner(owner) }
  func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError) { try file.setAttribute(attribute) }
  func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try file.setAccessList(list, kind)
  }
  func clearExtendedMetadata() throws(SystemError) { try file.clearExtendedMetadata() }
  func setTimes(modified: Timestamp) throws(SystemError) { try file.setTimes(modified: modified) }
}
