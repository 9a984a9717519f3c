import MigrationSystem
import MigrationWire

@testable import MigrationArchive

/// A real disk that can lose the journal's unsynced data, as in a power loss.
final class ForgetfulDisk: StagingDisk {
  let disk: DirectoryDisk
  /// The part of the journal that would remain.
  fileprivate let durable: Mutex<[UInt8]>

  /// Only this part of the journal is durable.
  init(_ disk: DirectoryDisk, durable: [UInt8]) {
    self.disk = disk
    self.durable = Mutex(durable)
  }

  func losePower() throws(SystemError) {
    let left = durable.withLock { $0 }
    try disk.journal.truncate(to: 0)
    try disk.journal.write(at: 0, left.span)
  }

  var name: [UInt8] { disk.name }
  var journal: any StagedFile { ForgetfulFile(disk.journal, self) }
  func places() -> any StagingTree { disk.places() }
  func synchronize() throws(SystemError) {
    try disk.synchronize()
    try journal.synchronize()
  }
  func space() -> FileSystemSpace? { disk.space() }
}

/// The journal of a forgetful disk.
private final class ForgetfulFile: StagedFile {
  private let file: any StagedFile
  private let disk: ForgetfulDisk

  init(_ file: any StagedFile, _ disk: ForgetfulDisk) {
    self.file = file
    self.disk = disk
  }

  func synchronize() throws(SystemError) {
    try file.synchronize()
    var content = [UInt8](repeating: 0, count: Int(try file.size()))
    _ = try file.read(at: 0, into: &content, 0..<content.count)
    disk.durable.withLock { $0 = content }
  }

  func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) { try file.write(at: offset, bytes) }
  func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try file.read(at: offset, into: &memory)
  }
  func size() throws(SystemError) -> UInt64 { try file.size() }
  func truncate(to size: UInt64) throws(SystemError) { try file.truncate(to: size) }
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
