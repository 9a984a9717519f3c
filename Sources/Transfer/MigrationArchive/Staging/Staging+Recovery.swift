import MigrationSystem
package import MigrationWire

extension Staging {
  /// The state of an import that is known apart from the journal.
  package enum ImportFate: Sendable {
    /// Unknown: the journal shows the progress, and an import that had begun continues.
    case told
    /// The import is complete.
    case succeeded
    /// The import is not complete, and begins only when the sender has confirmed that all data has
    /// arrived.
    case mustBeAsked
  }

  /// Recovers the data that an earlier process left on a disk.
  ///
  /// Records before the last sync mark are trusted; later claims are compared with their checks.
  /// Unclaimed items are removed. `existing` sets how taken names are treated, if that may differ
  /// from the setting at the beginning; it also applies to later runs. Throws a `Failure`
  /// with the code `journal` if the journal cannot be trusted at all.
  ///
  /// With `hadNoTree` the tree is new: it was missing. A sync mark says that it was durable, so it
  /// may be missing only without one.
  package static func recover(
    from disk: any StagingDisk, for offer: Offer, transfer: TransferID, keys: TransferKeys,
    preserving preserved: Preserved = Preserved(), existing: Existing? = nil,
    import fate: ImportFate = .told, hadNoTree: Bool = false
  ) throws -> Staging {
    do {
      var survey = try JournalSurvey(of: disk.journal, keys: keys, transfer: transfer)
      survey.apply(fate)
      // The journal's first record is durable before any data is staged: without this record there
      // may be no data.
      if survey.end == 0, survey.trusted == 0, try disk.places().entries(of: nil).isEmpty {
        try disk.journal.truncate(to: 0)
        return try Staging(
          on: disk, for: offer, transfer: transfer, keys: keys, preserving: preserved, existing: existing ?? .refuse)
      }
      guard survey.isSound, !hadNoTree || survey.trusted == 0 else {
        throw Failure(.journal, "the journal of the staged data is damaged")
      }
      let journal = JournalFile(disk.journal, key: keys.journalKey, position: survey.end)
      let staging = Staging(
        on: disk, roots: roots(of: offer), transfer: transfer, keys: keys, journal: journal,
        umask: try CurrentProcess.umask(), preserving: preserved, existing: existing ?? survey.existing,
        formerExisting: existing == nil || existing == survey.existing ? nil : survey.existing,
        shared: Shared(
          ledger: Ledger(keys: keys, bound: offer.bound), stage: survey.stage, moving: survey.moving,
          asides: survey.asides, importBegan: survey.importBegan, earlierPlacing: survey.placing,
          keptCount: survey.keptCount))
      // A mark vouches for what was synced.
      staging.syncedEach.withLock { $0 = survey.trusted }
      // The rest of a record that was cut short may follow the end.
      if survey.stage == .receiving { try disk.journal.truncate(to: survey.end) }
      var replay = StagingReplay(staging, survey)
      try replay.run()
      if survey.stage == .receiving {
        let kept = try ReplacedFiles(staging, survey).claims(besides: replay.claimed)
        var sweep = StagingSweep(staging, claimed: replay.claimed.merging(kept) { claim, _ in claim })
        try sweep.run()
        try staging.clearDirectories()
        try staging.openIncomplete()
        // False claims must be marked durably before the next sync mark vouches for the records
        // before it.
        try staging.synchronize()
      }
      // An app's data may have been changed before it moves.
      if case .concluded = survey.stage, survey.existing != .setAside {
        try StagingSweep(staging, claimed: replay.claimed).checkSizes()
      }
      // The earlier process may have died before this record was durable, and the moves of an
      // import may outlive it.
      if case .concluded(let total) = survey.stage { try journal.appendDurably([.concluded(total)]) }
      if staging.formerExisting != nil { try staging.noteExisting() }
      staging.shared.withFigures { $0.uncounted = $0.held.bytes }
      return staging
    } catch let error as SystemError {
      throw Failure(.storage, "the staged data cannot be read", cause: error)
    } catch let error as Violation {
      throw Failure(.journal, "the journal of the staged data contradicts itself (\(error))")
    }
  }

  /// Removes the metadata that a failed completion has set on directories: items that are still to
  /// come must not inherit their access lists, and the directories may have been replaced
  /// meanwhile.
  private func clearDirectories() throws(Failure) {
    let places = disk.places()
    for position in shared.withLock({ $0.ledger.extendedDirectoryPositions }) {
      let path = try record(at: position).path
      // Metadata that cannot be removed could not be set either.
      try? places.clearExtendedMetadata(path)
    }
  }

  /// Records a changed setting for taken names, for later runs.
  private func noteExisting() throws(Failure) {
    try Failure.wrapping(.storage, "the journal cannot be written", journal.appendDurably([.existing(existing)]))
  }

  /// Removes the metadata that a completion without a journal record has set on a file, or that
  /// remained from an earlier file after a power loss.
  private func clear(_ file: any StagedFile) {
    // The record sets its permissions again; without write permission, attributes cannot be
    // removed.
    try? file.setMode(0o600)
    try? file.clearExtendedMetadata()
  }

  /// Opens the files of which parts exist; if there are too many, the surplus files start afresh.
  private func openIncomplete() throws {
    let places = disk.places()
    let files = shared.withLock { $0.ledger.incompleteFiles }
    for (index, file) in files.enumerated() {
      guard index < Limits.incompleteFiles - Limits.streams else {
        shared.withLock { _ = $0.ledger.discard(file.path) }
        try journal.append([.discarded(file.path)])
        try places.remove(file.path)
        continue
      }
      let open = OpenFile(file: try places.openFile(file.path), isRecovered: true)
      clear(open.file)
      shared.withLock { $0.open[file.number] = open }
    }
  }
}
