import MigrationSystem
import MigrationWire
import TestSupport

@testable import MigrationArchive

/// A real folder to receive into that takes no name with a colon, says so, and finds out while it
/// imports that it cannot hold one of the items.
final class NarrowImporter: Importer {
  private let taken: ArchivePath
  private let importer: FolderImporter
  private let before: @Sendable () throws(Failure) -> Void

  /// `before` is called when the import is about to put things in their places, and knows that it
  /// cannot hold `taken`.
  init(
    _ folder: Scratch, taken: ArchivePath, before: @escaping @Sendable () throws(Failure) -> Void
  ) throws(Failure) {
    self.taken = taken
    self.before = before
    importer = FolderImporter(try StagingArea(at: Array(folder.path.utf8)) { NarrowDisk(disk: $0) })
  }

  func importItems(of staging: Staging, progress: (ImportProgress) -> Void) throws(Failure) -> [Done.Loss] {
    try staging.refuseStaged([taken: (.nameTaken, nil)])
    try before()
    return try importer.importItems(of: staging, progress: progress)
  }

  var area: StagingArea { importer.area }
  var request: AppRequest? { importer.request }
  var existing: Existing? { importer.existing }
  func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(Failure) -> OfferCheck {
    try importer.judge(offer, held: held, on: terms)
  }
  func present(
    _ offer: Offer, for staging: Staging, takesBases: Bool
  ) throws(Failure) -> PresentItems {
    try importer.present(offer, for: staging, takesBases: takesBases)
  }
  func interrupt() { importer.interrupt() }
}

/// A real disk that says it takes no names with a colon.
private struct NarrowDisk: StagingDisk {
  let disk: DirectoryDisk

  var name: [UInt8] { disk.name }
  var journal: any StagedFile { disk.journal }
  var abilities: DiskAbilities {
    var abilities = disk.abilities
    abilities.keepsNames = false
    return abilities
  }
  func refusal(ofName name: [UInt8]) -> NotStored.Reason? {
    name.contains(UInt8(ascii: ":")) ? .nameNotAllowed : nil
  }
  func places() -> any StagingTree { disk.places() }
  func synchronize() throws(SystemError) { try disk.synchronize() }
  func space() -> FileSystemSpace? { disk.space() }
  var destination: (any ImportDestination)? { disk }
  func remove() throws(SystemError) { try disk.remove() }
}
