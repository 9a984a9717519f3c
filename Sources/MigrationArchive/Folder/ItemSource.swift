package import MigrationWire

/// What a transfer is about, before any of it is sent.
package struct SourceSummary: Sendable {
  package let contents: Offer.Contents
  package let total: Tally
  /// What the files take on disk.
  package let allocated: UInt64
  package let flags: Offer.Flags

  package init(contents: Offer.Contents, total: Tally, allocated: UInt64, flags: Offer.Flags) {
    self.contents = contents
    self.total = total
    self.allocated = allocated
    self.flags = flags
  }
}

/// Where the items of a transfer come from: folders, or an app's exporter.
package protocol ItemSource: AnyObject, Sendable {
  /// Finds out what there is, without reading content; called once, on a thread of its own, until `isStopped`.
  func prepare(isStopped: @escaping @Sendable () -> Bool) throws(ArchiveError) -> SourceSummary
  /// Adds every item to the packer; called once a session, on a thread of its own.
  func export(to packer: FramePacker) throws(ArchiveError)
}

/// Where the items of a transfer go: a folder, or an app's importer.
package protocol ItemSink: AnyObject, Sendable {
  /// The app that is wanted, nil for folders.
  var request: AppRequest? { get }
  /// How much room there is, for the person to see.
  func availableBytes() -> UInt64?
  /// Judges an offer: names, room, fitness. Nothing is written if it throws.
  func admit(_ offer: Offer) throws(ArchiveError)
  /// Makes the staging directory of an admitted offer.
  func stage(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws(ArchiveError) -> Staging
  /// Puts the verified contents of the staging directory in their place, durably, and removes the staging directory.
  func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss]
}
