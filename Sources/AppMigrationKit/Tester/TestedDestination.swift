internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

/// The destination of a tested export's items, under the rules of a device.
final class TestedDestination: ItemDestination {
  private let archive: ExtractedArchive
  private let reach: Reach
  private let supervision: Supervision

  init(_ archive: ExtractedArchive, reach: Reach, supervision: Supervision) {
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
