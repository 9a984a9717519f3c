internal import MigrationWire

/// The destination of an archiver's items: the host of this process, or a tester.
///
/// All calls may block.
protocol ItemDestination: Sendable {
  /// Throws a `CancellationError` once the export is cancelled.
  func refuseIfCancelled() throws
  /// Opens an item to append; throws a `CocoaError`.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem
  /// Appends an item; returns when it has been read.
  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws
}

extension ItemDestination {
  /// In the extension's own process the kernel decides which items the extension may open.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem { try AppendableItem(opening: path) }
}
