import MigrationSystem
import MigrationWire

/// What becomes of an item that the destination cannot hold.
extension StagingWriter {
  /// Fails when the destination is known not to hold such an item.
  func checkTraits(_ record: ItemRecord) throws(ArchiveError) {
    guard let reason = traits.refusal(of: record) else { return }
    throw ArchiveError(refusing: record.path, reason)
  }

  /// Refuses an item upon an error that is its own; any other error is thrown.
  func refuse(_ record: ItemRecord, after error: ArchiveError) throws {
    let (reason, message) = try reason(for: record.path, record.body, error)
    try refuse(record, reason, message)
  }

  func refuse(_ record: ItemRecord, _ reason: RefusalReason, _ message: String?) throws {
    try staging.refuse(record, reason, message, in: places)
    refused()
  }

  /// Refuses a file upon an error that met a chunk of it and is the file's own; any other error is thrown.
  func refuse(_ place: ChunkPlace, after error: ArchiveError, isStaged: Bool) throws {
    let (reason, message) = try reason(for: place.path, .file(size: place.range.upperBound), error)
    try staging.refuse(place, reason, message, in: places, isStaged: isStaged)
    refused()
  }

  private func reason(
    for path: ArchivePath, _ body: ItemRecord.Body, _ error: ArchiveError
  ) throws -> (RefusalReason, String?) {
    guard staging.shared.withLock({ $0.mayRefuse }) else { throw error }
    if let refusal = error.refusal { return (refusal, nil) }
    do {
      if let known = try Storability(staging: staging, places: places).reason(for: path, body, error) { return known }
    } catch {
      // The disk says no more: its first word is told.
    }
    throw error
  }
}
