internal import MigrationHost

/// How the import of an app's data ended.
public enum MigrationStatus: Sendable {
  /// Everything was imported.
  case success
  /// The import failed, and the app's container is empty.
  ///
  /// The error is an `NSError` with the domain, the code and the texts of the one that the importer threw.
  case failure(any Error)

  /// How this app's last import ended; nil if there was none since the status was cleared.
  ///
  /// Outside an app that `peer` runs, and outside of testers, it is nil.
  public static var importStatus: MigrationStatus? { Surroundings.current?.status.read() }

  /// Forgets how the last import ended, once the app has acted on it.
  public static func clearImportStatus() { Surroundings.current?.status.clear() }
}

extension MigrationStatus {
  init(_ record: ImportRecord) {
    self = record.failure.map { .failure($0.systemError) } ?? .success
  }
}
