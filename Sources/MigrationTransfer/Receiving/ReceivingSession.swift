import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The values that the workers of one session of an accepted offer share. The session decides
/// nothing; the engine names it by its number.
final class ReceivingSession: Sendable {
  let number: SessionNumber
  let transfer: ReceivingTransfer
  let staging: Staging
  /// The session's features.
  let features: Features
  /// Shut when the sender has said FINISH, and closed with the session.
  let gate = WritingGate()
  let syncer: Syncer
  private let ledger: Mutex<LedgerReader>

  init(
    _ number: SessionNumber, of transfer: ReceivingTransfer, staging: Staging, features: Features, ledger: LedgerReader
  ) {
    self.number = number
    self.transfer = transfer
    self.staging = staging
    self.features = features
    self.ledger = Mutex(ledger)
    syncer = Syncer(staging) { transfer.noteProgress() }
  }

  /// The next part of the available data.
  func nextLedgerPart() -> ReceiverEngine.LedgerPart {
    let part = ledger.withLock { $0.next() }
    return ReceiverEngine.LedgerPart(pages: part.pages, partials: part.partials, end: part.end)
  }

  /// Stops further writes and syncs. Those that have begun finish.
  func halt() {
    gate.close()
    syncer.stop()
  }
}
