import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// Verifies the received items, and puts them in place.
struct ImportWorker: Sendable {
  let setup: ReceiverSetup
  let transfer: IncomingTransferContext
  let part: UInt16
  /// The sender's FINISH, and the session's part and streams; nil for an import that resumes.
  let conclusion: (part: IncomingPartContext, streams: StreamCounts, finish: Finish)?
  /// The items that the sender named and left out.
  let unsent: LeftOutItems

  func run() -> ReceiverPerformer.WorkerReport {
    transfer.traffic.begin()
    setup.reservedRoom.release(transfer.identifier)
    let result: Result<Done, Failure>
    var refused: [NotStored] = []
    do {
      result = .success(try importItems(&refused))
      conclusion?.streams.settle()
    } catch {
      result = .failure(Failure(error))
      // Another attempt continues from the disk.
      transfer.releaseStaging()
    }
    transfer.traffic.end()
    return Report(.imported(transfer.identifier, result, transfer.traffic.amount, refused: refused))
  }

  private func importItems(_ refused: inout [NotStored]) throws -> Done {
    let progress = ImportTelling(setup: setup, transfer: transfer.identifier)
    guard let importer = transfer.staged(ofPart: part)?.importer else {
      throw Failure(.storage, "the staging directory is missing")
    }
    let (staging, total) = try complete(progress)
    if staging.lacksOwners {
      notice("--owners was given here and not to 'peer send': this program's user owns all received items")
    }
    tell(.staged)
    let losses = try setup.imports.run {
      tell(.importing)
      return try importer.importItems(of: staging) { progress.tell($0) }
    }
    if let arrivals = staging.arrivals {
      notice("moved or removed here since an earlier migration, and left away", arrivals.away)
      notice("replaced as a whole by a newer version, and kept under another name", arrivals.aside)
      notice("removed on the other device since an earlier migration, and kept here", arrivals.stayed)
      if let trouble = arrivals.trouble {
        notice("a later migration may take items of this one for changed here, since no record was written: \(trouble)")
      }
    }
    let renamed = staging.renamed
    for item in renamed { tell(item.event) }
    transfer.tellRefusals(of: staging) { setup.post(.refused(transfer.identifier, $0)) }
    let done = Done(
      total: total, losses: losses, notStored: staging.notStored, renamed: renamed,
      count: staging.renamedCount, removed: staging.arrivals?.removed ?? Done.Removed())
    refused = staging.lastingRefusals
    leaveTombstone(done, refused, staging)
    transfer.finish(part, total)
    importer.letGo()
    return done
  }

  private func tell(_ event: TransferEvent) { setup.post(.noticed(event, of: transfer.identifier)) }

  private func notice(_ text: String) { setup.notice(text, about: transfer.identifier) }

  /// Names items about which a clause says something.
  private func notice(_ clause: String, _ items: ArrivedItems.Named) {
    guard items.count > 0 else { return }
    let names = items.paths.map { VisibleText.quoted($0) }.joined(separator: ", ")
    let others = UInt64(items.count - items.paths.count)
    notice("\(clause): \(names)" + (others > 0 ? ", and \(Figures.count(others)) more" : ""))
  }

  /// Verifies that everything has arrived, and makes it durable. Returns the staging directory, and
  /// the total.
  private func complete(_ progress: ImportTelling) throws -> (Staging, total: Tally) {
    guard let conclusion else {
      guard let staging = transfer.staged(ofPart: part)?.staging else {
        throw Failure(.storage, "the staging directory is missing")
      }
      switch staging.stage {
      case .concluded(let total), .imported(let total):
        if setup.options.verifies {
          notice("everything had arrived before this run, and --verify does not read it again")
        }
        return (staging, total)
      case .receiving: throw Failure(.storage, "the staging directory is incomplete")
      }
    }
    let (staging, finish) = (conclusion.part.staging, conclusion.finish)
    let (number, refusedRoots) = (Int(part), UInt64(transfer.refusedRoots(ofPart: part)))
    try transfer.entry?.update { remembered in
      remembered.parts[number].unsent = finish.unsent
      remembered.parts[number].refusedRoots = refusedRoots
      remembered.parts[number].isConcluded = true
    }
    let kept = UnreadableSource(unsent.unreadable, isAll: finish.unsent > unsent.named)
    do {
      try staging.complete(finish, keeping: kept, verifying: setup.options.verifies) { progress.tell($0) }
    } catch {
      // The next session judges the part again.
      try transfer.entry?.update { $0.parts[number].isConcluded = false }
      throw error
    }
    return (staging, finish.total)
  }

  /// Remembers the end of the transfer and the names of the items that are not stored, since a
  /// sender that missed the answer may ask again. Removes the staging directory.
  ///
  /// In this order: one durable record says that all is imported, before the sender hears it. The next
  /// run completes a step that failed: the journal says it too.
  private func leaveTombstone(_ done: Done, _ refused: [NotStored], _ staging: Staging) {
    do {
      do throws(Failure) {
        try transfer.entry?.finish(part, done, notStored: refused.nameable)
      } catch {
        try staging.makeImportDurable()
        throw error
      }
      if transfer.entry == nil { try staging.makeImportDurable() }
      try staging.remove()
    } catch {
      notice("\(error)")
    }
  }

  /// Reports the progress of an import to the loop: each phase at once, and otherwise no more often
  /// than people can see.
  private final class ImportTelling {
    /// The pause in seconds between two reports of a phase.
    private static let pause = 0.05

    private let setup: ReceiverSetup
    private let transfer: TransferID
    private var told: (phase: ImportProgress.Phase, at: BootInstant)?

    init(setup: ReceiverSetup, transfer: TransferID) {
      self.setup = setup
      self.transfer = transfer
    }

    func tell(_ progress: ImportProgress) {
      let now = BootInstant.now()
      let isLast = progress.done == progress.total
      if let told, told.phase == progress.phase, !isLast, now.seconds(since: told.at) < Self.pause { return }
      told = (progress.phase, now)
      setup.post(.importing(transfer, progress))
    }
  }
}
