import MigrationSystem
package import MigrationWire

/// Folders and files arriving in a directory. Nothing that exists there is ever overwritten.
package final class FolderSink: ItemSink {
  /// Room for the journal and the directories, for each item.
  private static let overheadPerItem: UInt64 = 256

  private let destination: Destination

  /// Fails unless the directory is there and can be written to, or can be made.
  package init(destination path: [UInt8]) throws(ArchiveError) {
    destination = Destination(path: path)
    try destination.check()
  }

  package var request: AppRequest? { nil }

  package func availableBytes() -> UInt64? {
    (try? destination.space())?.availableBytes
  }

  package func admit(_ offer: Offer) throws(ArchiveError) {
    guard case .folders(let roots) = offer.contents else {
      throw ArchiveError(.destination, "the other device offers an app's data, and folders are expected here")
    }
    if let name = try destination.taken(of: roots.map(\.name)) {
      throw ArchiveError(.exists, "\"\(VisibleText.of(name))\" already exists in the destination", name: name)
    }
    if let shortage = try shortage(for: offer) {
      throw ArchiveError(.noSpace, shortage.description, shortage: shortage)
    }
  }

  /// What is missing for this offer, nil when there is room.
  private func shortage(for offer: Offer) throws(ArchiveError) -> SpaceShortage? {
    let space = try destination.space()
    let (overhead, isEndless) = offer.items.multipliedReportingOverflow(by: Self.overheadPerItem)
    // Both are below 2⁶³ then.
    let needed = offer.allocated + (isEndless ? Limits.fileSize : min(overhead, Limits.fileSize))
    let shortage = SpaceShortage(
      bytes: Close.Space(needed: needed, available: space.availableBytes),
      items: space.availableItems.map { Close.Space(needed: offer.items + 8, available: $0) })
    return shortage.isReal ? shortage : nil
  }

  package func stage(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws(ArchiveError) -> Staging {
    try Staging(in: try destination.open(), for: offer, transfer: transfer, keys: keys)
  }

  package func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss] {
    try FolderImport(staging: staging).run(progress: progress)
    return staging.losses
  }
}
