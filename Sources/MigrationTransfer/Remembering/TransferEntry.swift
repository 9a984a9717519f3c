import MigrationSystem
import MigrationWire

/// One remembered transfer, which is this process's as long as the object lives.
package final class TransferEntry: Sendable {
  static let file = Array("state".utf8)

  /// The lock is on it.
  private let directory: SharedDirectory
  private let name: [UInt8]
  private let transfers: SharedDirectory
  private let state: Mutex<RememberedTransfer>

  init(
    _ remembered: RememberedTransfer, _ directory: consuming Directory, name: [UInt8], in transfers: SharedDirectory
  ) {
    state = Mutex(remembered)
    self.directory = SharedDirectory(directory)
    self.name = name
    self.transfers = transfers
  }

  package var remembered: RememberedTransfer {
    LoopThread.check("wait for a transfer's entry")
    return state.withLock { $0 }
  }

  /// Changes the record, durably and at once.
  package func update(_ change: (inout RememberedTransfer) -> Void) throws(StoreError) {
    LoopThread.check("write a transfer's entry")
    do {
      try state.withLock { (remembered) throws(SystemError) in
        var changed = remembered
        change(&changed)
        try directory.directory.replaceFile(Self.file, with: changed.encoded)
        remembered = changed
      }
    } catch {
      throw StoreError("the record of the transfer cannot be written", error)
    }
  }

  /// Everything is complete. The record stays until both ends know it, with the names of the items
  /// that are not stored.
  func finish(_ done: Done, notStored: [Refusal]) throws(StoreError) {
    let now = Timestamp.coarseNow().seconds
    try update { remembered in
      remembered.held = done.total
      remembered.total = done.total
      remembered.lastSeen = now
      remembered.notStored = notStored
      remembered.done = RememberedTransfer.Finished(done: done, at: now)
    }
  }

  /// Forgets the transfer.
  package func remove() throws(StoreError) {
    do {
      try transfers.directory.removeTree(name)
      try transfers.directory.synchronize()
    } catch {
      if error.isNotFound { return }
      throw StoreError("the record of the transfer cannot be removed", error)
    }
  }
}
