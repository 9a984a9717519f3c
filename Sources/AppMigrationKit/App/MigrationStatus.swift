internal import MigrationHost

/// The result of the import of an app's data.
public enum MigrationStatus: Sendable {
  /// The import succeeded.
  case success
  /// The import failed, and the app's container is empty.
  ///
  /// The error is an `NSError` with the domain, the code and the texts of the importer's error.
  case failure(any Error)

  /// The result of this app's last import; nil if there was none since the status was cleared.
  ///
  /// Outside an app that `peer` runs, and outside of testers, it is nil.
  public static var importStatus: MigrationStatus? { Surroundings.current?.status.read() }

  /// Clears the result of the last import. The app calls it when it has acted on the result.
  public static func clearImportStatus() { Surroundings.current?.status.clear() }
}

extension MigrationStatus {
  init(_ record: ImportRecord) {
    self = record.failure.map { .failure($0.systemError) } ?? .success
  }
}
