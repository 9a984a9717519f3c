package import MigrationSystem
package import MigrationWire

/// The origin of a transfer's items: folders, or an app's exporter.
package protocol ItemSource: AnyObject, Sendable {
  /// The identity of the source from run to run: the absolute paths of the sources, ascending.
  func origin() throws(Failure) -> [[UInt8]]
  /// Where each of its roots comes from, in their order.
  func identities(by naming: SourceNaming) -> [SourceIdentity]
  /// The places of its roots on this device, for its user, if the roots' names in the archive are keys.
  var places: RootDestinations? { get }
  /// Determines the items, without reading content. Called once, on a thread of its own; ends early
  /// when `stop` is set.
  func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary
  /// Lets the readers read every item. Called once a session, on a thread of its own; returns when
  /// every item is in a frame. `begin` receives the source of the frames. `request` is the
  /// receiver's request. Returns the totals of the archive.
  func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult
  /// Whether the source is on a rotating disk, as far as the kernel reports it.
  var isRotating: Bool { get }
  /// The seconds that an export may use for cleaning up after it is stopped.
  var graceAtTheEnd: Double { get }
  /// Ends the work that still runs, for a program that may end before this object is deallocated.
  func end()
}

extension ItemSource {
  /// An app is its own source.
  package func identities(by naming: SourceNaming) -> [SourceIdentity] {
    [naming.identity(of: ((try? origin()) ?? []).first)]
  }

  package var places: RootDestinations? { nil }
  package var isRotating: Bool { false }
  package var graceAtTheEnd: Double { 0 }
  package func end() {}
}
