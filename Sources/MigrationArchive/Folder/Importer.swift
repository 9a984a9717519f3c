package import MigrationWire

/// Where the items of a transfer go from the staging area: into a folder, or to an app's importer.
///
/// A worker of a session calls `judge` before the user is asked, and `present` when the transfer is staged; a worker of a
/// transfer calls `recover` at the start of a run, and `importItems` at the end. Any thread may call `interrupt`.
package protocol Importer: AnyObject, Sendable {
  /// Where the items are staged before.
  var area: StagingArea { get }
  /// The app that is wanted, nil for folders.
  var request: AppRequest? { get }
  /// What the user of this device says of names that are taken; nil where a transfer goes on as it began.
  var existing: Existing? { get }
  /// Judges an offer, of which so much is staged already: names, room, fitness. Writes nothing.
  func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(ArchiveError) -> Judgement
  /// What the destination has of a judged offer already and keeps as it is. Slow: it looks at every name, once a session.
  func present(
    _ offer: Offer, for staging: Staging, after judgement: Judgement
  ) throws(ArchiveError) -> PresentItems
  /// What is known of a transfer's import besides what the journal says.
  func fate(of transfer: TransferID) -> Staging.ImportFate
  /// Puts the verified contents of the staging directory in their place, durably.
  func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss]
  /// The user wants it to end: an import that is going on is broken off, if it can be undone.
  func interrupt()
  /// For how many seconds an import that is broken off may clear up.
  var graceAtTheEnd: Double { get }
}

extension Importer {
  package var graceAtTheEnd: Double { 0 }
  package func fate(of transfer: TransferID) -> Staging.ImportFate { .told }

  /// Settles what holds for all sessions of a transfer that begins.
  package func terms(of transfer: TransferID, keys: TransferKeys) -> TransferTerms {
    TransferTerms(transfer: transfer, keys: keys, existing: existing ?? .refuse)
  }

  /// Recovers what an earlier run staged; nil if there is nothing.
  ///
  /// Throws an `ArchiveError`, with the code journal where it cannot be believed.
  package func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing
  ) throws -> Staging? {
    try area.recover(
      offer, transfer: transfer, keys: keys, sealer: sealer, existing: existing, import: fate(of: transfer))
  }
}

/// What is settled of a transfer at the receiver when it begins, and holds for all its sessions.
package struct TransferTerms: Equatable, Sendable {
  package let transfer: TransferID
  package let keys: TransferKeys
  /// What becomes of items whose names are taken at the destination.
  package let existing: Existing

  package init(transfer: TransferID, keys: TransferKeys, existing: Existing) {
    self.transfer = transfer
    self.keys = keys
    self.existing = existing
  }
}

/// That an offer can be taken, and what was found out on the way.
package struct Judgement: Sendable {
  /// How much room there is, for people.
  package let availableBytes: UInt64?
  /// How much is taken of a transfer that may become more than it says; nil for any other.
  package let mostBytes: UInt64?
  /// What is at the destination already, if it was looked at, in marks of these keys.
  private let present: PresentItems?
  private let keys: TransferKeys?

  package init(availableBytes: UInt64?, mostBytes: UInt64? = nil) {
    self.init(availableBytes: availableBytes, mostBytes: mostBytes, present: nil, keys: nil)
  }

  init(availableBytes: UInt64?, mostBytes: UInt64? = nil, present: PresentItems?, keys: TransferKeys?) {
    self.availableBytes = availableBytes
    self.mostBytes = mostBytes
    self.present = present
    self.keys = keys
  }

  /// What is at the destination already, if it was looked at with these keys.
  func present(for keys: TransferKeys) -> PresentItems? { self.keys == keys ? present : nil }
}
