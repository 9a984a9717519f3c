import MigrationEngine
import MigrationSystem
import MigrationTLS

/// The code that is shown while a sender may pair (Protocol §4.3).
extension Receiver {
  /// Shows a code, or another one where its time is over; when to look again. Fails where no code can be shown any more.
  func tendCode() throws(TransferFailure) -> BootInstant? {
    guard isInviting else {
      restart.giveUp()
      return nil
    }
    office.expireIfDue()
    if office.isExhausted {
      office.tellEnd(isOver: !restart.isAttended)
      guard restart.isAttended else { throw Self.exhausted }
      guard let isWanted = restart.answer(telling: attention) else { return nil }
      guard isWanted else { throw Self.exhausted }
      office.startAnew()
    }
    do {
      try office.issueIfWanted()
    } catch {
      throw TransferFailure(.failed, error.description)
    }
    return office.expiry
  }

  private static let exhausted = TransferFailure(
    .pairing, "too many wrong codes were entered; no code is shown any more",
    hint: "Start again with --from and the address of the other device, so that nobody else can try.")
}
