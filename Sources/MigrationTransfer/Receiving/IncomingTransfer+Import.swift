import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// The import of a transfer: how it begins, and how everyone hears of its end.
extension IncomingTransfer {
  /// Takes back what an earlier run staged, and goes on with an import that had begun; whether there is one.
  func recover() throws -> Bool {
    let (entry, keys) = state.withLock { ($0.entry, $0.keys) }
    guard let entry, let keys, let destination = entry.remembered.destination else { return false }
    if isDone {
      // What is left of the staging directory was being removed.
      try host.importer.area.clear(identifier)
      return false
    }
    guard let staging = try recoverOrSetAside(destination.offer, keys) else { return false }
    state.withLock { state in
      state.staging = staging
      state.heldBefore = staging.held
    }
    if let former = staging.formerExisting {
      host.observe(
        .notice(
          "the transfer began with --existing \(former.name) and goes on with --existing \(staging.existing.name)"))
    }
    switch staging.stage {
    case .receiving: return false
    case .concluded(let total), .imported(let total):
      step { $0.course.recover() }
      tellWithheld()
      try startImport(total) { staging }
      return true
    }
  }

  /// What was staged; nil if nothing is there, or nothing that can be believed.
  private func recoverOrSetAside(_ offer: Offer, _ keys: TransferKeys) throws -> Staging? {
    do {
      return try host.importer.recover(offer, transfer: identifier, keys: keys, sealer: try ChunkSealer(keys))
    } catch let error as ArchiveError where error.code == .journal {
      let aside = try host.importer.area.setAside(identifier)
      host.observe(
        .notice("\(error); it is kept as \(VisibleText.quoted(aside)) and everything is sent again"))
      return nil
    }
  }

  /// The sender has said everything; what arrived is verified and imported, whatever becomes of the session.
  func conclude(_ finish: Finish, as part: TransferPart) throws {
    let (reception, staging, withheldItems) = try step { state in
      var course = state.course
      guard case .goOn = course.conclude(part.number), let reception = state.reception, let staging = state.staging
      else { throw Fault.superseded }
      // In the same step: nothing is written between the last word of the session and the import.
      try reception.gate.shut()
      state.course = course
      state.unsent = finish.unsent
      state.leftOut = finish.leftOut
      state.withheld = finish.withheld
      state.leftBehind = finish.leftBehind
      // What was announced may have been an estimate.
      state.total = finish.total
      return (reception, staging, state.withheldItems)
    }
    try startImport(finish.total) { [self] in
      try state.withLock { $0.entry }?.update { remembered in
        remembered.unsent = finish.unsent
        remembered.withheld = finish.withheld
        remembered.notStored = withheldItems
      }
      reception.rest()
      try staging.complete(finish) { tell($0) }
      return staging
    }
  }

  /// Does what the course has decided.
  private func startImport(_ total: Tally, _ complete: @escaping @Sendable () throws -> Staging) throws {
    traffic.begin()
    do {
      try host.start("import") { [self] in
        do {
          let staging = try complete()
          host.observe(.staged)
          host.observe(.importing)
          let losses = try host.importer.importItems(of: staging) { tell($0) }
          tell(staging.nameConflicts)
          nameAll()
          let withheld = state.withLock { $0.withheld }
          let done = Done(
            total: total, losses: losses, notStored: staging.notStored.addingClamped(withheld))
          leaveTombstone(done)
          end(.success(done))
        } catch {
          end(.failure(Fault(error)))
        }
      }
    } catch {
      end(.failure(Fault(error)))
      throw error
    }
  }

  /// The import is over: the session that is current in that step hears of it, and else the host alone.
  private func end(_ result: Result<Done, Fault>) {
    traffic.end()
    let mailbox = step { state -> Mailbox<ReceiverNews>? in
      let isHeard =
        switch result {
        case .success(let done): state.course.imported(done)
        case .failure(let failure): state.course.importFailed(failure)
        }
      return isHeard ? state.mailbox : nil
    }
    switch result {
    case .success(let done): mailbox?.post(.imported(done))
    case .failure(let failure): mailbox?.post(.failed(failure))
    }
    host.ended(self, result, isHeard: mailbox != nil)
  }

  private func tell(_ conflicts: NameConflicts) {
    for renaming in conflicts.renamed {
      host.observe(.renamed(path: renaming.path.bytes, target: renaming.target.bytes))
    }
    for path in conflicts.left { host.observe(.unsent(Unsent(path: path.bytes, reason: .differing))) }
    state.withLock { $0.leftOut.add(differing: conflicts.leftCount) }
  }

  private func tell(_ progress: ImportProgress) {
    state.withLock { $0.mailbox }?.post(.progress(progress))
    host.observe(
      .progress(overall(progress.phase == .importing ? .importing : .verifying, fraction: progress.fraction)))
  }
}
