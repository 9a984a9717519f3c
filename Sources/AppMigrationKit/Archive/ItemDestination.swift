internal import MigrationWire

/// Where an archiver's items go: to the host of this process, or to a tester.
///
/// All calls may block.
protocol ItemDestination: Sendable {
  /// Throws a `CancellationError` once the export is cancelled.
  func refuseIfCancelled() throws
  /// Takes an item; returns when it has been read.
  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws
}
