internal import MigrationWire

/// Where an archiver's items go: to the host of this process, or to a tester.
///
/// All calls may block.
protocol ItemDestination: Sendable {
  /// Throws a `CancellationError` once the export is cancelled.
  func refuseIfCancelled() throws
  /// Opens what is to be appended; throws a `CocoaError`.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem
  /// Takes an item; returns when it has been read.
  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws
}

extension ItemDestination {
  /// In a process of its own the kernel says what an extension may open.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem { try AppendableItem(opening: path) }
}
