internal import MigrationArchive
internal import MigrationSystem

/// A staging disk whose contents need not survive a power failure: tests discard their extracted
/// files.
struct UnsyncedDisk: StagingDisk {
  private let disk: DirectoryDisk

  init(_ disk: DirectoryDisk) { self.disk = disk }

  var name: [UInt8] { disk.name }
  var journal: any StagedFile { disk.journal }
  func places() -> any StagingPlaces { disk.places() }
  func synchronize() throws(SystemError) {}
  func space() -> FileSystemSpace? { disk.space() }
}
