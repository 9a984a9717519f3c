import MigrationArchive
import MigrationWire
import Synchronization

/// A real folder to receive into, each of whose slow steps a test can hold up.
final class SlowSink: ItemSink {
  enum Step: CaseIterable {
    case admit
    case stage
    case present
    case importItems
  }

  private let sink: FolderSink
  private let before: @Sendable (Step, Int) -> Void
  private let counts = Mutex<[Step: Int]>([:])

  /// `before` is called on the thread that takes a step, with how often that is taken, from 1 on.
  init(_ sink: FolderSink, before: @escaping @Sendable (Step, Int) -> Void) {
    self.sink = sink
    self.before = before
  }

  private func hold(_ step: Step) {
    let count = counts.withLock { counts in
      counts[step, default: 0] += 1
      return counts[step, default: 0]
    }
    before(step, count)
  }

  var request: AppRequest? { sink.request }
  func place() throws(ArchiveError) -> [UInt8] { try sink.place() }
  func lock() throws(ArchiveError) { try sink.lock() }
  func availableBytes() -> UInt64? { sink.availableBytes() }

  func admit(_ offer: Offer, held: Tally, existing: Existing?) throws(ArchiveError) {
    hold(.admit)
    try sink.admit(offer, held: held, existing: existing)
  }

  func present(_ offer: Offer, for staging: Staging) throws(ArchiveError) -> PresentItems {
    hold(.present)
    return try sink.present(offer, for: staging)
  }

  func stage(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws(ArchiveError) -> Staging {
    hold(.stage)
    return try sink.stage(offer, transfer: transfer, keys: keys)
  }

  func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing
  ) throws -> Staging? {
    try sink.recover(offer, transfer: transfer, keys: keys, sealer: sealer)
  }

  func setAside(_ transfer: TransferID) throws(ArchiveError) -> [UInt8] { try sink.setAside(transfer) }

  func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss] {
    hold(.importItems)
    return try sink.importItems(of: staging, progress: progress)
  }

  func interrupt() { sink.interrupt() }
  func clear(_ transfer: TransferID) throws(ArchiveError) { try sink.clear(transfer) }
}
