import MigrationSystem
import MigrationWire
import TestSupport

@testable import MigrationArchive

/// A real folder to receive into that takes no name with a colon, says so, and finds out while it imports that it cannot hold
/// one of the items.
final class NarrowSink: ItemSink {
  private let taken: ArchivePath
  private let folder: Scratch
  private let sink: FolderSink
  private let before: @Sendable () throws(ArchiveError) -> Void

  /// `before` is called when the import is about to put things in their places, and knows that it cannot hold `taken`.
  init(
    _ folder: Scratch, taken: ArchivePath, before: @escaping @Sendable () throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    self.taken = taken
    self.folder = folder
    self.before = before
    sink = try FolderSink(destination: Array(folder.path.utf8))
  }

  func stage(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws(ArchiveError) -> Staging {
    do {
      let directory = SharedDirectory(try Directory.open(folder.path))
      let disk = NarrowDisk(disk: try DirectoryDisk(making: Staging.name(of: transfer), in: directory))
      return try Staging(on: disk, for: offer, transfer: transfer, keys: keys)
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(.destination, "nothing can be staged", cause: error as? SystemError)
    }
  }

  func importItems(of staging: Staging, progress: (ImportProgress) -> Void) throws(ArchiveError) -> [Done.Loss] {
    try staging.refuseStaged([taken: Staging.WhyRefused(reason: .nameTaken, message: nil)])
    try before()
    return try sink.importItems(of: staging, progress: progress)
  }

  var request: AppRequest? { sink.request }
  func place() throws(ArchiveError) -> [UInt8] { try sink.place() }
  func lock() throws(ArchiveError) { try sink.lock() }
  func availableBytes() -> UInt64? { sink.availableBytes() }
  func admit(_ offer: Offer, held: Tally, existing: Existing?) throws(ArchiveError) {
    try sink.admit(offer, held: held, existing: existing)
  }
  func present(_ offer: Offer, for staging: Staging) throws(ArchiveError) -> PresentItems {
    try sink.present(offer, for: staging)
  }
  func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing
  ) throws -> Staging? {
    try sink.recover(offer, transfer: transfer, keys: keys, sealer: sealer)
  }
  func setAside(_ transfer: TransferID) throws(ArchiveError) -> [UInt8] { try sink.setAside(transfer) }
  func interrupt() { sink.interrupt() }
  func clear(_ transfer: TransferID) throws(ArchiveError) { try sink.clear(transfer) }
}

/// A real disk that says it takes no names with a colon.
private struct NarrowDisk: StagingDisk {
  let disk: DirectoryDisk

  var name: [UInt8] { disk.name }
  var journal: any StagedFile { disk.journal }
  var abilities: DiskAbilities {
    var abilities = disk.abilities
    abilities.nameRules = .noWindowsCharacters
    return abilities
  }
  func places() -> any StagingPlaces { disk.places() }
  func synchronize() throws(SystemError) { try disk.synchronize() }
  func availableBytes() -> UInt64? { disk.availableBytes() }
  func letGo() { disk.letGo() }
}
