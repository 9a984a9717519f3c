package import MigrationWire

/// Where the items of a transfer come from: folders, or an app's exporter.
package protocol ItemSource: AnyObject, Sendable {
  /// What is sent, as it is known from run to run: the absolute paths of the sources, ascending.
  func origin() throws(ArchiveError) -> [[UInt8]]
  /// Finds out what there is, without reading content; called once, on a thread of its own, until `isStopped`.
  func prepare(isStopped: @escaping @Sendable () -> Bool) throws(ArchiveError) -> SourceSummary
  /// Adds every item to the packer; called once a session, on a thread of its own. `request` is what the receiver asked for.
  func export(to packer: FramePacker, for request: AppRequest?) throws(ArchiveError)
  /// What of it a destination cannot hold, as far as that was seen before the first byte is sent.
  func withholding(for traits: DestinationTraits) -> Withholding
  /// For how many seconds an export may still clear up after it is told to end.
  var graceAtTheEnd: Double { get }
}

extension ItemSource {
  package func withholding(for traits: DestinationTraits) -> Withholding { Withholding(by: traits) }
  package var graceAtTheEnd: Double { 0 }
}

/// Where the items of a transfer go: a folder, or an app's importer.
package protocol ItemSink: AnyObject, Sendable {
  /// The app that is wanted, nil for folders.
  var request: AppRequest? { get }
  /// The destination, as it is known from run to run: its absolute path.
  func place() throws(ArchiveError) -> [UInt8]
  /// Keeps others away from the destination for as long as this lives, if it is there.
  func lock() throws(ArchiveError)
  /// How much room there is, for the person to see.
  func availableBytes() -> UInt64?
  /// Judges an offer, of which so much is staged already: names, room, fitness. Nothing is written if it throws.
  ///
  /// `existing` is what was said earlier of names that are taken, if anything was.
  func admit(_ offer: Offer, held: Tally, existing: Existing?) throws(ArchiveError)
  /// What the destination has of an admitted offer already and keeps as it is. Slow: it looks at every name.
  func present(_ offer: Offer, for staging: Staging) throws(ArchiveError) -> PresentItems
  /// Makes the staging directory of an admitted offer.
  func stage(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws(ArchiveError) -> Staging
  /// Takes back what an earlier run staged; nil if there is nothing.
  ///
  /// Throws an `ArchiveError`, with the code journal where it cannot be believed.
  func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing
  ) throws -> Staging?
  /// Moves what cannot be believed out of the way; what it is called now.
  func setAside(_ transfer: TransferID) throws(ArchiveError) -> [UInt8]
  /// Puts the verified contents of the staging directory in their place, durably.
  func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss]
  /// The user wants it to end: an import that is going on is broken off, if it can be undone.
  func interrupt()
  /// Removes what was staged of a transfer, if anything is left of it.
  func clear(_ transfer: TransferID) throws(ArchiveError)
}
