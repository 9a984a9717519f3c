import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The items that the destination cannot hold, by their names: who hears of them, and when.
extension IncomingTransfer {
  /// Tells this device's user, and the session, of items that the destination cannot hold.
  func tellRefusals() {
    let (new, mailbox) = state.withLock { state -> (ArraySlice<Refusal>, Mailbox<ReceiverNews>?) in
      let new = state.staging?.refusals(from: state.toldRefusals) ?? []
      state.toldRefusals += new.count
      return (new, state.mailbox)
    }
    for refusal in new { host.observe(refusal.event) }
    mailbox?.post(.refused)
  }

  /// The user hears of all of them again.
  func tellRefusalsAgain() {
    state.withLock { $0.toldRefusals = 0 }
    tellRefusals()
  }

  /// The named ones, from a place in their order on.
  func refusals(from start: Int) -> ArraySlice<Refusal> { state.withLock { $0.staging }?.refusals(from: start) ?? [] }

  /// The sender has left an item out since the destination cannot hold it.
  func noteWithheld(_ item: Refusal, as part: TransferPart) {
    state.withLock { state in
      guard state.course.isReceiving(part.number) else { return }
      state.withheldItems.append(item)
    }
  }

  /// The user hears of what the sender had left out in an earlier run, and does not say again.
  func tellWithheld() {
    for item in state.withLock({ $0.withheldItems }) { host.observe(item.event) }
  }

  /// All is imported: nothing more is refused, and the user knows of everything that is named.
  func nameAll() {
    tellRefusals()
    state.withLock { state in
      let refusals = state.staging?.refusals(from: 0) ?? []
      state.notStored = (refusals + state.withheldItems).nameable
      state.isNotStoredTold = true
    }
  }

  /// Everything that is named as not stored, for a sender whose offer is answered by DONE. The user of this device hears of it
  /// as well, unless this run has told it.
  func nameAgain() -> [Refusal] {
    let (named, isTold) = state.withLock { state in
      defer { state.isNotStoredTold = true }
      return (state.notStored, state.isNotStoredTold)
    }
    if !isTold { for refusal in named { host.observe(refusal.event) } }
    return named
  }
}
