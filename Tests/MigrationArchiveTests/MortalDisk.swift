import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A real disk whose process dies at one of its operations, before or after performing it; from
/// then on every operation fails.
final class MortalDisk: StagingDisk, ImportDestination {
  /// How its file system moves names.
  enum Renaming: CaseIterable, Sendable {
    /// With the kernel's rename that never replaces.
    case promising
    /// Without this rename; files can have two names.
    case linking
    /// Files have one name.
    case placeholder
    /// Also, no directory is renamed over another.
    case placeholderFreshly
    /// Without this rename, and each name has an inode number of its own.
    case linkingByPath
    /// Files have one name, and each path a number of its own.
    case placeholderByPath
  }

  struct Life: Sendable {
    var operations = 0
    /// Called before the operation of this number.
    var stranger: (at: Int, act: @Sendable () -> Void)?
    /// The operation at which it ends; nil for none.
    var last: Int?
    /// Whether the last operation is still performed.
    var diesAfter = false
    var isOver = false
    /// Whether its file system syncs each item, and the places that are to be synced.
    var syncsEach = false
    var noted: Set<ArchivePath> = []
  }

  let disk: DirectoryDisk
  let renaming: Renaming
  let life: Mutex<Life>

  init(_ disk: DirectoryDisk, dyingAt last: Int?, diesAfter: Bool, renaming: Renaming = .promising) {
    self.disk = disk
    self.renaming = renaming
    life = Mutex(Life(last: last, diesAfter: diesAfter))
  }

  var hasDied: Bool { life.withLock { $0.isOver } }

  func operate<Value>(_ body: () throws(SystemError) -> Value) throws(SystemError) -> Value {
    let (isLast, isDone, act) = try life.withLock {
      (life) throws(SystemError) -> (Bool, Bool, (@Sendable () -> Void)?) in
      if life.isOver { throw SystemError(errno: EIO, operation: "live") }
      life.operations += 1
      life.isOver = life.operations == life.last
      let act = life.stranger.flatMap { $0.at == life.operations ? $0.act : nil }
      return (life.isOver, !life.isOver || life.diesAfter, act)
    }
    act?()
    if isDone, !isLast { return try body() }
    if isDone { _ = try? body() }
    throw SystemError(errno: EIO, operation: "live")
  }

  var name: [UInt8] { disk.name }
  var syncsEach: Bool { life.withLock { $0.syncsEach } }
  func noteChange(at target: ArchivePath) { life.withLock { _ = $0.noted.insert(target) } }
  var journal: any StagedFile { MortalFile(disk.journal, self) }
  func places() -> any StagingTree { MortalTree(disk.places(), self) }
  var abilities: DiskAbilities {
    var abilities = DiskAbilities()
    abilities.keepsNumbers = ![.linkingByPath, .placeholderByPath].contains(renaming)
    return abilities
  }
  func open(staged path: ArchivePath) throws(SystemError) -> any StagedFile {
    try operate { () throws(SystemError) in MortalFile(try disk.open(staged: path), self) }
  }
  func open(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile {
    // Where the numbers are made up, they show nothing.
    let known = abilities.keepsNumbers ? seen : try disk.occupant(at: target) ?? seen
    return try operate { () throws(SystemError) in MortalFile(try disk.open(target, seen: known), self) }
  }
  func synchronize() throws(SystemError) { try operate { () throws(SystemError) in try disk.synchronize() } }
  func space() -> FileSystemSpace? { disk.space() }

  func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]? {
    try operate { () throws(SystemError) in try disk.names(in: directory) }
  }
  func makeParent(of target: ArchivePath) throws(SystemError) {
    try operate { () throws(SystemError) in try disk.makeParent(of: target) }
  }
  func rename(_ target: ArchivePath, to name: ArchivePath) throws(SystemError) {
    try operate { () throws(SystemError) in try disk.rename(target, to: name) }
  }
  func takeBack(_ target: ArchivePath, to path: ArchivePath) throws(SystemError) {
    try operate { () throws(SystemError) in try disk.takeBack(target, to: path) }
  }
  func isPresent(_ path: ArchivePath, at target: ArchivePath, timeGranularity: UInt32) -> Bool {
    disk.isPresent(path, at: target, timeGranularity: timeGranularity)
  }

  func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool {
    try operate { () throws(SystemError) in try disk.isCopy(of: path, at: target) }
  }
  func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) {
    try operate { () throws(SystemError) in try disk.release(target, isDirectory: isDirectory) }
  }
}

/// The operations that depend on how its file system moves names.
extension MortalDisk {
  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> ExistingEntry? {
    try operate { () throws(SystemError) in numbered(try disk.occupant(ofStaged: path), "staged", path) }
  }
  func occupant(at target: ArchivePath) throws(SystemError) -> ExistingEntry? {
    try operate { () throws(SystemError) in numbered(try disk.occupant(at: target), "arrived", target) }
  }
  func createPlaceholder(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> ExistingEntry {
    try operate { () throws(SystemError) in
      let made = try disk.createPlaceholder(target, isDirectory: isDirectory)
      return numbered(made, "arrived", target) ?? made
    }
  }
  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try operate { () throws(SystemError) in
      guard renaming == .promising else { throw SystemError(errno: EINVAL, operation: "rename") }
      try disk.move(path, to: target)
    }
  }
  func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try operate { () throws(SystemError) in
      guard [.linking, .linkingByPath].contains(renaming) else { throw SystemError(errno: EPERM, operation: "link") }
      try disk.link(path, to: target)
    }
  }
  func exchange(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try operate { () throws(SystemError) in
      guard renaming == .promising else { throw SystemError(errno: EINVAL, operation: "rename") }
      try disk.exchange(target, with: path)
    }
  }
  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try operate { () throws(SystemError) in
      if renaming == .placeholderFreshly, try disk.occupant(at: target)?.kind == .directory {
        throw SystemError(alreadyExisting: "rename")
      }
      try disk.replace(target, with: path)
    }
  }

  private func numbered(_ occupant: ExistingEntry?, _ tree: String, _ path: ArchivePath) -> ExistingEntry? {
    guard let occupant, [.linkingByPath, .placeholderByPath].contains(renaming) else { return occupant }
    var number = occupant.inode
    for byte in Array(tree.utf8) + Array(path.bytes) { number = number &* 31 &+ UInt64(byte) }
    return ExistingEntry(
      kind: occupant.kind, mode: occupant.mode, device: occupant.device, inode: number, size: occupant.size,
      modified: occupant.modified)
  }
}

/// The journal of a mortal disk.
private final class MortalFile: StagedFile {
  private let file: any StagedFile
  private let disk: MortalDisk

  init(_ file: any StagedFile, _ disk: MortalDisk) {
    self.file = file
    self.disk = disk
  }

  func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
    let array = bytes.withUnsafeBytes { Array($0) }
    try disk.operate { () throws(SystemError) in try file.write(at: offset, array.span) }
  }
  func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try file.read(at: offset, into: &memory)
  }
  func size() throws(SystemError) -> UInt64 { try file.size() }
  func truncate(to size: UInt64) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.truncate(to: size) }
  }
  func synchronize() throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.synchronize() }
  }
  func clear(_ range: Range<UInt64>) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.clear(range) }
  }
  func setMode(_ mode: UInt32) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.setMode(mode) }
  }
  func setOwner(_ owner: ItemRecord.Owner) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.setOwner(owner) }
  }
  func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.setAttribute(attribute) }
  }
  func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.setAccessList(list, kind) }
  }
  func clearExtendedMetadata() throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.clearExtendedMetadata() }
  }
  func setTimes(modified: Timestamp) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try file.setTimes(modified: modified) }
  }
}

/// A tree of a mortal disk.
private final class MortalTree: StagingTree {
  private let places: any StagingTree
  private let disk: MortalDisk

  init(_ places: any StagingTree, _ disk: MortalDisk) {
    self.places = places
    self.disk = disk
  }

  func createFile(_ path: ArchivePath, mode: UInt32) throws(SystemError) -> any StagedFile {
    try disk.operate { () throws(SystemError) in try places.createFile(path, mode: mode) }
  }
  func openFile(_ path: ArchivePath) throws(SystemError) -> any StagedFile {
    try disk.operate { () throws(SystemError) in try places.openFile(path) }
  }
  func makeDirectory(_ path: ArchivePath) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.makeDirectory(path) }
  }
  func makeSymbolicLink(_ path: ArchivePath, target: [UInt8]) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.makeSymbolicLink(path, target: target) }
  }
  func makeHardLink(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.makeHardLink(path, to: target) }
  }
  func makeCopy(_ path: ArchivePath, of target: ArchivePath) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.makeCopy(path, of: target) }
  }
  func beginning(of path: ArchivePath, _ count: Int) throws(SystemError) -> [UInt8] {
    try disk.operate { () throws(SystemError) in try places.beginning(of: path, count) }
  }
  func replace(_ path: ArchivePath, with other: ArchivePath) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.replace(path, with: other) }
  }
  func remove(_ path: ArchivePath) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.remove(path) }
  }
  func removeIfEmpty(_ path: ArchivePath) throws(SystemError) -> Bool {
    try disk.operate { () throws(SystemError) in try places.removeIfEmpty(path) }
  }
  func size(of path: ArchivePath) throws(SystemError) -> UInt64? {
    try disk.operate { () throws(SystemError) in try places.size(of: path) }
  }
  func kind(of path: ArchivePath) throws(SystemError) -> FileKind? {
    try disk.operate { () throws(SystemError) in try places.kind(of: path) }
  }
  func readLink(_ path: ArchivePath) throws(SystemError) -> [UInt8] {
    try disk.operate { () throws(SystemError) in try places.readLink(path) }
  }
  func setTimes(_ path: ArchivePath, modified: Timestamp) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.setTimes(path, modified: modified) }
  }
  func setMode(_ path: ArchivePath, _ mode: UInt32) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.setMode(path, mode) }
  }
  func setOwner(_ path: ArchivePath, _ owner: ItemRecord.Owner) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.setOwner(path, owner) }
  }
  func setAttribute(_ path: ArchivePath, _ attribute: ExtendedAttribute) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.setAttribute(path, attribute) }
  }
  func clearExtendedMetadata(_ path: ArchivePath) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.clearExtendedMetadata(path) }
  }
  func setAccessList(_ path: ArchivePath, _ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try disk.operate { () throws(SystemError) in try places.setAccessList(path, list, kind) }
  }
  func entries(of directory: ArchivePath?) throws(SystemError) -> [(name: [UInt8], kind: FileKind)] {
    try disk.operate { () throws(SystemError) in try places.entries(of: directory) }
  }
}
