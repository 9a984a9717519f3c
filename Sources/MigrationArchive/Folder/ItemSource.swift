package import MigrationSystem
package import MigrationWire

/// Where the items of a transfer come from: folders, or an app's exporter.
package protocol ItemSource: AnyObject, Sendable {
  /// What is sent, as it is known from run to run: the absolute paths of the sources, ascending.
  func origin() throws(ArchiveError) -> [[UInt8]]
  /// Finds out what there is, without reading content; called once, on a thread of its own, until it is to stop.
  func prepare(until stop: StopSignal) throws(ArchiveError) -> SourceSummary
  /// Has every item read; called once a session, on a thread of its own, and returns when all of it is in frames. `begin` is told
  /// where the frames come from. `request` is what the receiver asked for. Says what the archive has come to.
  func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(ArchiveError) -> ExportResult
  /// What of it a destination cannot hold, as far as that was seen before the first byte is sent.
  func withholding(for traits: DestinationTraits) -> Withholding
  /// Whether it is on a disk that rotates, as far as the kernel says.
  var isRotating: Bool { get }
  /// For how many seconds an export may still clear up after it is told to end.
  var graceAtTheEnd: Double { get }
}

extension ItemSource {
  package func withholding(for traits: DestinationTraits) -> Withholding { Withholding(by: traits) }
  package var isRotating: Bool { false }
  package var graceAtTheEnd: Double { 0 }
}
