import MigrationSystem
import MigrationWire

/// Handles items that the destination cannot hold.
extension StagingWriter {
  /// Fails if the destination is known to be unable to hold the item.
  func checkTraits(_ record: ItemRecord) throws(ArchiveError) {
    guard let reason = traits.refusal(of: record) else { return }
    throw ArchiveError(refusing: record.path, reason)
  }

  /// Refuses an item if the error was caused by the item; throws any other error.
  func refuse(_ record: ItemRecord, after error: ArchiveError) throws {
    let (reason, message) = try reason(for: record.path, record.body, error)
    try refuse(record, reason, message)
  }

  func refuse(_ record: ItemRecord, _ reason: RefusalReason, _ message: String?) throws {
    try staging.refuse(record, reason, message, in: places)
    refused()
  }

  /// Refuses a file if the error of a chunk was caused by the file; throws any other error.
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
      // If a trial on the disk fails as well, the first error is reported.
    }
    throw error
  }
}
