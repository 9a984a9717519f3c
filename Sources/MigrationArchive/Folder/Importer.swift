package import MigrationWire

/// The target of a transfer's items after the staging area: a folder, or an app's importer.
///
/// A worker of a session calls `judge` before the user is asked, and `present` when the transfer is
/// staged. A worker of a transfer calls `recover` at the start of a run, and `importItems` at the
/// end. Any thread may call `interrupt`.
package protocol Importer: Importers, PartJudge {
  /// The existing items of a judged offer that the destination keeps unchanged. Slow: it examines
  /// every name, once a session.
  func present(
    _ offer: Offer, for staging: Staging, after judgement: OfferCheck
  ) throws(ArchiveError) -> PresentItems
  /// The state of a transfer's import that is known apart from the journal.
  func fate(of transfer: TransferID) -> Staging.ImportFate
  /// Moves the verified contents of the staging directory to the destination, durably.
  func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss]
  /// Everything is imported, and the result recorded: releases what only the import needed.
  func letGo()
  /// Stops at the user's request: cancels a running import if it can be undone.
  func interrupt()
}

extension Importer {
  package var graceAtTheEnd: Double { 0 }
  package func fate(of transfer: TransferID) -> Staging.ImportFate { .told }
  package func letGo() {}

  /// Recovers the data staged by an earlier run; nil if there is none.
  ///
  /// Throws an `ArchiveError`, with the code `journal` if the data cannot be trusted.
  package func recover(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws -> Staging? {
    try area.recover(offer, transfer: transfer, keys: keys, existing: existing, import: fate(of: transfer))
  }
}

/// The terms that the receiver fixes when a transfer begins; they hold for all its sessions.
package struct TransferTerms: Equatable, Sendable {
  package let transfer: TransferID
  package let keys: TransferKeys
  /// How items are treated whose names are taken at the destination.
  package let existing: Existing
}

/// The acceptance of an offer, with the facts found during the check.
package struct OfferCheck: Sendable {
  /// The free space, for people.
  package let availableBytes: UInt64?
  /// The most bytes accepted of a transfer that may exceed its offer; nil for other transfers.
  package let mostBytes: UInt64?
  /// The items at the destination, if they were examined, as marks of these keys.
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

  /// The items at the destination, if they were examined with these keys.
  func present(for keys: TransferKeys) -> PresentItems? { self.keys == keys ? present : nil }
}
