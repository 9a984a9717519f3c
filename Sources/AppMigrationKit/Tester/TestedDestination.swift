internal import MigrationArchive
internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

/// The destination of a tested export's items, under the rules of a device.
final class TestedDestination: ItemDestination {
  private let archive: ExtractedArchive
  private let reach: AppendableArea
  private let supervision: Supervision

  init(_ archive: ExtractedArchive, reach: AppendableArea, supervision: Supervision) {
    self.archive = archive
    self.reach = reach
    self.supervision = supervision
  }

  func refuseIfCancelled() throws { try supervision.refuseIfCancelled() }

  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem { try reach.open(path) }

  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws {
    supervision.begin()
    defer { supervision.end() }
    do {
      try archive.append(item, at: path)
    } catch is CancellationError {
      try supervision.refuseIfCancelled()
      throw CancellationError()
    }
  }
}

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
