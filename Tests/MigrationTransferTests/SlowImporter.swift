import MigrationArchive
import MigrationSystem
import MigrationWire

/// A real folder to receive into, each of whose slow steps a test can hold up.
final class SlowImporter: Importer {
  enum Step: CaseIterable {
    case judge
    case present
    case importItems
  }

  private let importer: FolderImporter
  private let before: @Sendable (Step, Int) -> Void
  private let counts = Mutex<[Step: Int]>([:])

  /// `before` is called on the thread that takes a step, with how often that is taken, from 1 on.
  init(_ importer: FolderImporter, before: @escaping @Sendable (Step, Int) -> Void) {
    self.importer = importer
    self.before = before
  }

  private func hold(_ step: Step) {
    let count = counts.withLock { counts in
      counts[step, default: 0] += 1
      return counts[step, default: 0]
    }
    before(step, count)
  }

  var area: StagingArea { importer.area }
  var request: AppRequest? { importer.request }
  var existing: Existing? { importer.existing }

  func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(Failure) -> OfferCheck {
    hold(.judge)
    return try importer.judge(offer, held: held, on: terms)
  }

  func present(
    _ offer: Offer, for staging: Staging, takesBases: Bool
  ) throws(Failure) -> PresentItems {
    hold(.present)
    return try importer.present(offer, for: staging, takesBases: takesBases)
  }

  func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(Failure) -> [Done.Loss] {
    hold(.importItems)
    return try importer.importItems(of: staging, progress: progress)
  }

  func interrupt() { importer.interrupt() }
}
