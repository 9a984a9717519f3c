package import MigrationEngine
import MigrationSystem
import MigrationWire

/// The record of one transfer, locked for this process as long as the object lives.
package final class TransferEntry: Sendable {
  static let file = Array("state".utf8)

  /// The directory that has the lock.
  private let directory: SharedDirectory
  private let name: [UInt8]
  private let transfers: SharedDirectory
  private let state: Mutex<(remembered: RememberedTransfer, pieces: RememberedTransfer.Pieces)>

  init(
    _ remembered: RememberedTransfer, _ directory: SharedDirectory, name: [UInt8], in transfers: SharedDirectory
  ) {
    state = Mutex((remembered, RememberedTransfer.Pieces()))
    self.directory = directory
    self.name = name
    self.transfers = transfers
  }

  package var remembered: RememberedTransfer {
    LoopThread.check("wait for a transfer's entry")
    return state.withLock { $0.remembered }
  }

  /// Changes the record, durably and at once.
  package func update(_ change: (inout RememberedTransfer) -> Void) throws(Fault) {
    LoopThread.check("write a transfer's entry")
    do {
      try state.withLock { (state) throws(SystemError) in
        var changed = state.remembered
        change(&changed)
        try directory.directory.replaceFile(Self.file, with: changed.encoded(&state.pieces))
        state.remembered = changed
      }
    } catch {
      throw Fault(store: "the record of the transfer cannot be written", error)
    }
  }

  /// Records the end of a part, with the names of the items that are not stored. The record stays
  /// until both ends know the end.
  func finish(_ part: UInt16, _ done: Done, notStored: [Refusal]) throws(Fault) {
    let now = Timestamp.coarseNow().seconds
    try update { remembered in
      remembered.lastSeen = now
      remembered.parts[Int(part)].notStored = notStored
      remembered.parts[Int(part)].finished = RememberedTransfer.Part.Finished(done: done, at: now)
      remembered.held = remembered.finished
      if remembered.isDone { remembered.total = remembered.held }
    }
  }

  /// Forgets the transfer.
  package func remove() throws(Fault) {
    do {
      try transfers.directory.removeTree(name)
      try transfers.directory.synchronize()
    } catch {
      if error.isNotFound { return }
      throw Fault(store: "the record of the transfer cannot be removed", error)
    }
  }
}
