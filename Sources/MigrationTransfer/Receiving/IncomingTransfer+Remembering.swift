import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// What the store remembers of a transfer.
extension IncomingTransfer {
  /// Remembers the transfer from now on, if it is not remembered yet.
  func remember(_ offer: Offer, _ keys: TransferKeys, label: String, address: String) throws {
    guard state.withLock({ $0.entry == nil }), let store = host.store else { return }
    let now = Timestamp.coarseNow().seconds
    let entry = try store.create(
      RememberedTransfer(
        transfer: identifier, role: .receiver, identity: try host.identity.encoded(), peer: client, label: label,
        address: address, started: now, lastSeen: now, total: Tally(items: offer.items, bytes: offer.bytes),
        held: Tally(),
        subject: .destination(
          RememberedTransfer.Destination(
            path: try host.importer.area.place(), port: host.port, keys: keys, offer: offer.withoutTransfer))))
    state.withLock { $0.entry = entry }
  }

  /// Remembers that it is done, and what is named as not stored, since a sender that missed the answer may ask again, and
  /// removes the staging directory.
  ///
  /// In this order, and what fails is left to the next run: the journal says as well that all is imported.
  func leaveTombstone(_ done: Done) {
    do {
      let (entry, notStored) = state.withLock { ($0.entry, $0.notStored) }
      try entry?.finish(done, notStored: notStored)
      state.withLock { $0.staging }?.letGo()
      try host.importer.area.clear(identifier)
    } catch {
      host.observe(.notice("what was staged is still there: \(error)"))
    }
  }

  /// Notes how far it is, for those who list what is unfinished.
  func noteProgress() {
    let (entry, staging) = state.withLock { ($0.entry, $0.staging) }
    guard let entry, let staging, !isDone else { return }
    let held = staging.held
    try? entry.update { remembered in
      remembered.held = held
      remembered.lastSeen = Timestamp.coarseNow().seconds
    }
  }

  /// The sender knows that all is done, or nothing is worth remembering.
  func forget() {
    let entry = state.withLock { state in
      defer { state.entry = nil }
      return state.entry
    }
    try? entry?.remove()
  }

  /// Gives up what is there, which is nothing.
  func discard() {
    stop()
    try? host.importer.area.clear(identifier)
    forget()
  }
}

extension Offer {
  /// The offer as it was first made.
  fileprivate var withoutTransfer: Offer {
    Offer(
      transfer: nil, contents: contents, items: items, bytes: bytes, allocated: allocated, flags: flags,
      metadata: metadata)
  }
}
