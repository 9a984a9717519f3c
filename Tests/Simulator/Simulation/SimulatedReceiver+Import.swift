import MigrationArchive
import MigrationEngine
import MigrationTransfer
import MigrationWire
import TestSupport

/// The receiver's work for a transfer outside of its sessions.
extension SimulatedReceiver {
  func performForTransfer(_ action: Engine.Action) {
    switch action {
    case .importItems(let identifier, let part, let finish, let unsent):
      importItems(identifier, part, finish, unsent.withheld)
    // An import into a folder cannot be undone.
    case .interruptImport(let identifier): transfers[identifier]?.isBrokenOff = scene.canUndoImports
    case .note(let identifier): note("note", identifier) {}
    case .release(let identifier):
      note("release", identifier) {}
      transfers[identifier] = nil
    case .retake(let identifier): retake(identifier)
    case .forget(let identifier), .discard(let identifier):
      note("discard", identifier) { [self] in
        for name in scene.names(ofPartsOf: identifier) where disk.area(of: name) != nil {
          scene.discards(name)
          disk.removeArea(of: name)
        }
        scene.forgetAtReceiver(identifier)
      }
    default: break
    }
  }

  private func note(_ name: StaticString, _ identifier: TransferID, _ body: @escaping () -> Void) {
    let worker = begin(name)
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      body()
      end(worker) { [self] in feed(.noted(identifier)) }
    }
  }

  // MARK: Starting

  func takeBack() {
    let worker = begin("take back")
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      do {
        let known = try scene.storesAtReceiver.map { try takeBack($0) }
        end(worker) { [self] in feed(.tookBack(.success(known))) }
      } catch {
        guard isAlive else { return }
        if (error as? ArchiveError)?.code == .journal {
          world.fail("an intact journal was refused: \(error)")
        }
        end(worker) { [self] in feed(.tookBack(.failure(Fault(error)))) }
      }
    }
  }

  /// Takes back one transfer that this process has released.
  private func retake(_ identifier: TransferID) {
    world.check(transfers[identifier] == nil, "a transfer is taken back that was not released")
    let worker = begin("retake")
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      do {
        let store = scene.storesAtReceiver.first { $0.transfer == identifier }
        let known = try store.map { try takeBack($0) }
        // As for a new process, data that could not be made durable is compared with its tags.
        unsynced.remove(identifier)
        end(worker) { [self] in feed(.retook(identifier, .success(known))) }
      } catch {
        guard isAlive else { return }
        transfers[identifier] = nil
        end(worker) { [self] in feed(.retook(identifier, .failure(Fault(error)))) }
      }
    }
  }

  private func takeBack(_ store: ReceiverStore) throws -> Engine.KnownTransfer {
    let transfer = transfer(store.transfer)
    var finished: [UInt16: Engine.KnownTransfer.Finished] = [:]
    for (number, part) in store.parts.enumerated() {
      guard let done = part.done else { continue }
      disk.removeArea(of: store.transfer.ofPart(UInt16(number)))
      finished[UInt16(number)] = .init(done: done, unsent: part.unsent, notStored: part.notStored)
    }
    let newest = store.parts[Int(store.newest)]
    var (refusals, concluded): ([NotStored], Tally?) = ([], nil)
    let staging = newest.done == nil ? try recover(store.transfer, store.newest) : nil
    if let staging {
      transfer.keep(staging, ofPart: store.newest)
      switch staging.stage {
      case .receiving: refusals = Array(staging.refusals(from: 0))
      // The continued import reports them.
      case .concluded(let total), .imported(let total): concluded = total
      }
    }
    transfer.told = refusals.count
    return Engine.KnownTransfer(
      identifier: store.transfer, client: store.client, host: "10.0.0.2", plan: store.plan, finished: finished,
      part: store.newest, held: staging?.held ?? Tally(), unsent: newest.unsent, refusals: refusals,
      withheld: newest.notStored, concluded: concluded)
  }

  /// What an earlier session, or run, has staged of a part.
  func recover(_ transfer: TransferID, _ part: UInt16) throws -> Staging? {
    let name = transfer.ofPart(part)
    guard let begun = scene.store(of: transfer)?.parts[Int(part)].begun, let area = disk.area(of: name) else {
      return nil
    }
    if scene.hasLostPower(name), scene.mutation == .trustWholeJournal { scene.vouchForJournal(of: area, begun.keys) }
    scene.noteJournal(of: area, begun.keys)
    let staging = try Staging.recover(
      from: area, for: begun.offer, transfer: name, keys: begun.keys, existing: scene.existingItems.existing)
    world.note("recovered \(staging.held) \(staging.stage)")
    scene.recovered(staging, ofPart: part)
    return staging
  }

  // MARK: The import

  private func importItems(
    _ identifier: TransferID, _ part: UInt16, _ finish: (SessionNumber, Finish)?, _ withheld: [NotStored]
  ) {
    let transfer = transfer(identifier)
    world.check(transfers.values.count(where: \.isImporting) < scene.atOnce, "too many imports are running")
    transfer.isImporting = true
    importMovedAt = world.now
    let worker = begin("import")
    run(after: world.dice.roll(0...500)) { [self] in
      if lacksThread { return imported(transfer, worker, .failure(Fault(.device, "no thread"))) }
      guard let staging = transfer.staging(ofPart: part) else { return world.fail("an import of nothing") }
      complete(transfer, worker, staging, finish?.1, withheld)
    }
  }

  private func complete(
    _ transfer: Transfer, _ worker: Worker, _ staging: Staging, _ finish: Finish?, _ withheld: [NotStored]
  ) {
    onDisk(after: world.dice.roll(1...2_000)) { [self] in
      // The workers of the session end first.
      guard !isSyncing, !isWriting else { return complete(transfer, worker, staging, finish, withheld) }
      do {
        if let finish {
          scene.riskImport()
          if scene.mutation == .forgetRefused, let refused = staging.refusals(from: 0).first?.mark(staging.keys) {
            staging.drop([refused])
          }
          scene.concludes(transfer.part, finish, staging, without: transfer.dropped, withheld: withheld)
          try staging.complete(finish) { feed(.importing(transfer.identifier, $0)) }
          scene.hasConcluded(staging.transfer)
        }
        feed(.noticed(.staged))
      } catch {
        return isAlive ? imported(transfer, worker, .failure(Fault(error))) : ()
      }
      move(transfer, worker, staging, withheld)
    }
  }

  private func move(_ transfer: Transfer, _ worker: Worker, _ staging: Staging, _ withheld: [NotStored]) {
    let isLong = world.dice.one(in: 8)
    onDisk(after: isLong ? world.dice.roll(1...30_000_000) : world.dice.roll(1...2_000)) { [self] in
      guard !isSyncing, !isWriting else { return move(transfer, worker, staging, withheld) }
      if transfer.isBrokenOff {
        return imported(transfer, worker, .failure(Fault(.importCancelled, "the import was broken off")))
      }
      let isForever = scene.strikes(.unfit)
      if isForever || scene.strikes(.importing) {
        return imported(transfer, worker, .failure(Fault(isForever ? .unfit : .importFailed, "the import fails")))
      }
      feed(.noticed(.importing))
      guard isAlive else { return }
      scene.riskImport()
      do {
        let total: Tally
        switch staging.stage {
        case .concluded(let tally), .imported(let tally): total = tally
        case .receiving: return world.fail("an import of an incomplete transfer")
        }
        var moves = FolderImport(staging, to: try area(of: staging.transfer))
        try moves.run { feed(.importing(transfer.identifier, $0)) }
        try staging.finishImport()
        try disk.operate(mayFail: false)
        tellRefusals(of: staging, transfer)
        let done = Done(total: total, notStored: staging.notStored)
        let refused = staging.lastingRefusals
        scene.refused(staging, ofPart: transfer.part)
        scene.imported(transfer.identifier, transfer.part, done, staging, notStored: withheld + refused)
        try disk.operate(mayFail: false)
        disk.removeArea(of: staging.transfer)
        imported(transfer, worker, .success(done), refused)
      } catch {
        if isAlive { imported(transfer, worker, .failure(Fault(error))) }
      }
    }
  }

  private func area(of transfer: TransferID) throws -> SimulatedArea {
    guard let area = disk.area(of: transfer) else { throw Fault(.device, "nothing is staged") }
    return area
  }

  private func imported(
    _ transfer: Transfer, _ worker: Worker, _ result: Result<Done, Fault>, _ refused: [NotStored] = []
  ) {
    // Another attempt continues from the disk.
    if case .failure = result { transfer.releaseStaging() }
    end(worker) { [self] in
      transfer.isImporting = false
      feed(.imported(transfer.identifier, result, Traffic(), refused: refused))
    }
  }
}
