import MigrationEngine
import MigrationSystem
import MigrationWire

/// Records the state of a transfer. If the disk does not take it, the old record stays.
struct RememberWorker: SenderWorker {
  enum Subject: Sendable {
    /// Everything is sent except so many items. A later run that only hears the answer must know
    /// the number.
    case finish(SessionNumber, TransferID, Finish)
    /// The receiver has said that all is done, and these items are named as not stored.
    case done(TransferID, Done, refusals: [Refusal])
    /// A session has ended, with this progress.
    case progress(TransferID, arrived: Tally, total: Tally, address: String)
    /// It is done, or the other device no longer knows it.
    case nothing(TransferID)
  }

  let subject: Subject
  let transfer: SendingTransfer?
  let name = "remember"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    switch subject {
    case .finish(_, _, let finish):
      transfer?.update { remembered in
        remembered.unsent = finish.unsent
        remembered.lastSeen = Timestamp.coarseNow().seconds
      }
    case .done(let id, let done, let refusals):
      return recorded(id, isWritten: transfer?.finish(done, naming: refusals) ?? true)
    case .progress(_, let arrived, let total, let address):
      transfer?.update { remembered in
        if arrived != Tally() { remembered.held = arrived }
        remembered.total = total
        remembered.address = address
        remembered.lastSeen = Timestamp.coarseNow().seconds
      }
    case .nothing: transfer?.forget()
    }
    return end(nil)
  }

  func end(without thread: Fault) -> SenderNews { end(thread) }

  private func end(_ fault: Fault?) -> SenderNews {
    switch subject {
    case .finish(let session, let id, _): .event(.finishNoted(session, id, fault))
    case .done(let id, _, _): recorded(id, isWritten: false)
    case .progress(let id, _, _, _): .event(.noted(id))
    case .nothing(let id): .event(.forgot(id))
    }
  }

  private func recorded(_ id: TransferID, isWritten: Bool) -> SenderNews {
    let traffic = transfer.map { Traffic(sent: $0.traffic.sent, saved: $0.traffic.saved, seconds: $0.traffic.seconds) }
    return .event(.recorded(id, traffic ?? Traffic(), isWritten: isWritten))
  }
}
