import MigrationSystem
import MigrationWire

@testable import MigrationArchive

// What the stand-ins of these tests leave to others.

/// A destination that moves every item with one rename and never treats two names as equal.
extension ImportDestination {
  func makeParent(of target: ArchivePath) throws(SystemError) {}
  func openBase(_ target: ArchivePath) throws(SystemError) -> DiskFile { throw .unsupported("open") }
  func noteChange(at target: ArchivePath) {}
  func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) { throw .unsupported("link") }
  func createPlaceholder(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> ExistingEntry {
    throw .unsupported("placeholder")
  }
  func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) { throw .unsupported("release") }
  func exchange(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    throw .unsupported("exchange")
  }
  func rename(_ target: ArchivePath, to name: ArchivePath) throws(SystemError) { throw .unsupported("rename") }
  func takeBack(_ target: ArchivePath, to path: ArchivePath) throws(SystemError) {
    throw .unsupported("take back")
  }
  func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool { false }

  func digest(of target: ArchivePath) -> [UInt8]? { nil }
  func open(file target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile {
    throw .unsupported("open")
  }
  func isPresent(_ path: ArchivePath, at target: ArchivePath, timeGranularity: UInt32) -> Bool { false }
  func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]? { nil }
  func enter(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) {}
}

/// A tree whose files are never changed before they are imported.
extension StagingTree {
  func beginning(of path: ArchivePath, _ count: Int) throws(SystemError) -> [UInt8] {
    throw .unsupported("read")
  }
  func replace(_ path: ArchivePath, with other: ArchivePath) throws(SystemError) {
    throw .unsupported("replace")
  }
}

extension StagingTree {
  func openToRead(_ path: ArchivePath) throws(SystemError) -> any StagedFile { try openFile(path) }
}

extension StagedFile {
  func forgetCached() {}
  func reserved() -> UInt64 { 0 }
  func copy(_ range: Range<UInt64>, from other: any StagedFile) throws(SystemError) {
    try copyByReading(range, from: other)
  }
}

extension SourceDirectory {
  var datesChanges: Bool { false }
  func showsEveryChange(_ status: FileStatus) -> Bool { true }
  static var canFetch: Bool { false }
  func fetch(_ name: ArraySlice<UInt8>, length: Int) {}
  func lostAttributes(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]] { [] }
}

extension SourceFile {
  var tellsHoles: Bool { true }
  func fetch(at offset: Int64, length: Int64) {}
}
