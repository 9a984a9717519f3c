import MigrationSystem
package import MigrationWire

/// Folders and files arriving in a directory. What exists there is overwritten only where the user wants that.
package final class FolderImporter: Importer {
  package let area: StagingArea
  package let existing: Existing?

  /// Imports into the directory that the area stages in.
  package init(_ area: StagingArea, existing: Existing? = nil) {
    self.area = area
    self.existing = existing
  }

  package var request: AppRequest? { nil }

  package func judge(
    _ offer: Offer, held: Tally, on terms: TransferTerms
  ) throws(ArchiveError) -> Judgement {
    guard case .folders(let roots) = offer.contents else {
      throw ArchiveError(.destination, "the other device offers an app's data, and folders are expected here")
    }
    if terms.existing == .refuse, let name = try area.destination.taken(of: roots.map(\.name)) {
      throw ArchiveError(.exists, "\(VisibleText.quoted(name)) already exists in the destination", name: name)
    }
    try area.checkSize(of: offer)
    let space = try area.destination.space()
    return try judge(
      offer, held: held, on: terms, availableBytes: space.availableBytes, availableItems: space.availableItems)
  }

  /// Looks at what is there only where there is too little room without it: so much of an offer of the same need not come.
  ///
  /// It may be something else: then too little room is found out later, and what has arrived by then is kept.
  func judge(
    _ offer: Offer, held: Tally, on terms: TransferTerms, availableBytes: UInt64, availableItems: UInt64?
  ) throws(ArchiveError) -> Judgement {
    func shortage(_ held: Tally) -> SpaceShortage? {
      SpaceShortage(of: offer, held: held, availableBytes: availableBytes, availableItems: availableItems)
    }
    guard let first = shortage(held) else { return Judgement(availableBytes: availableBytes) }
    guard terms.existing == .skip, let present = try look(for: offer, terms.keys, timeGranularity: 1) else {
      throw ArchiveError(first)
    }
    if let second = shortage(held.adding(present.tally)) { throw ArchiveError(second) }
    return Judgement(availableBytes: availableBytes, present: present, keys: terms.keys)
  }

  package func present(
    _ offer: Offer, for staging: Staging, after judgement: Judgement
  ) throws(ArchiveError) -> PresentItems {
    guard staging.existing == .skip else { return PresentItems() }
    let granularity = staging.abilities.timeGranularity
    if let present = judgement.present(for: staging.keys), present.isExact(timeGranularity: granularity) {
      return present
    }
    return try look(for: offer, staging.keys, timeGranularity: granularity) ?? PresentItems()
  }

  /// Goes over what is beneath the roots; nil where the directory is not there.
  private func look(
    for offer: Offer, _ keys: TransferKeys, timeGranularity: UInt32
  ) throws(ArchiveError) -> PresentItems? {
    guard case .folders(let roots) = offer.contents, let directory = try area.destination.openIfThere() else {
      return nil
    }
    do {
      return try PresentItems(
        beneath: roots.map(\.name), of: directory.directory, keys: keys, timeGranularity: timeGranularity)
    } catch {
      throw ArchiveError(.destination, "what is in the destination cannot be read", cause: error)
    }
  }

  package func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss] {
    if let disk = try area.disk(of: staging.transfer) {
      var moves = FolderImport(staging, to: disk)
      try moves.run(progress: progress)
    }
    return staging.losses
  }

  /// Does nothing: what has begun to move is moved, as long as the disk does its part.
  package func interrupt() {}
}
