import MigrationWire

/// What the store is to be told of a transfer.
enum StoreTask: Equatable, Sendable {
  case note(TransferID)
  case forget(TransferID)
  case discard(TransferID)
  case release(TransferID)
  case retake(TransferID)
}

/// Data streams, and what becomes of what they bring.
extension ReceiverEngine {
  // MARK: Streams

  /// Serves the streams that wait for nothing more.
  mutating func tendStreams(_ number: SessionNumber) {
    while let (id, join, isServed) = conversations[number]?.streams?.next() {
      if isServed { act(.serve(id, number, join)) } else { leave(id) }
    }
  }

  mutating func streamEnded(_ id: ConnectionID, _ end: StreamEnd, _ held: Tally) {
    door.forget(id)
    for number in conversations.keys.sorted() where conversations[number]?.streams?.end(id) == true {
      if let transfer = conversations[number]?.transfer { transfers[of: transfer]?.note(held: held) }
      if case .failed(let fault) = end { endSession(number, by: fault) }
    }
  }

  /// What a session has brought may be lost, or not be what its FINISH covers: nothing of the transfer is imported, and whichever of
  /// its sessions acts now ends by that, and the run with it.
  mutating func failTransfer(of number: SessionNumber, by fault: Fault) {
    guard let transfer = conversations[number]?.transfer else { return }
    withdrawFinish(of: transfer)
    transfers[of: transfer]?.fault = fault
    for number in conversations.keys.sorted() where conversations[number]?.transfer == transfer {
      endSession(number, by: fault)
      // That a sender was lost, which might come back, counts no more.
      if case .ending(let earlier?) = conversations[number]?.life, earlier.senderMayComeBack {
        conversations[number]?.life = .ending(fault)
      }
    }
    // The session that acted had gone when the import was about to begin: no other one decides.
    if case .engaged(transfer, nil) = phase, transfers[of: transfer]?.isImporting == false {
      endTransfer(.failure(fault.failure))
    }
  }

  /// The import that was about to begin does not begin.
  mutating func withdrawFinish(of transfer: TransferID) {
    for (number, conversation) in conversations where conversation.transfer == transfer && conversation.finish != nil {
      conversations[number]?.finish = nil
      transfers[of: transfer]?.stage = .receiving
    }
  }

  // MARK: What the source no longer has

  mutating func drop(_ marks: [Mark], _ number: SessionNumber) throws(Violation) {
    // What the sender never heard of cannot be dropped, and nothing else bounds what waits for a slow disk.
    guard marks.count <= conversations[number]?.droppable ?? 0 else {
      throw Violation(.limit, "a list of dropped items")
    }
    conversations[number]?.droppable -= marks.count
    conversations[number]?.drops.append(marks)
    dropNext(number)
  }

  private mutating func dropNext(_ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking || conversation.finish != nil,
      !conversation.drops.isEmpty, !workers.contains(.dropItems(number)),
      let marks = conversations[number]?.drops.removeFirst()
    else { return }
    act(.dropItems(number, marks))
  }

  mutating func dropped(_ number: SessionNumber, _ fault: Fault?) {
    if let fault { failTransfer(of: number, by: fault) }
    dropNext(number)
  }

  // MARK: The import

  /// The sender has said everything: from here on no session decides about the transfer.
  mutating func conclude(_ finish: Finish, _ number: SessionNumber) {
    guard let transfer = conversations[number]?.transfer else { return }
    transfers[of: transfer]?.conclude(finish)
    transfers[of: transfer]?.movedAt = now
    conversations[number]?.finish = finish
    act(.shutGate(number))
    if workers.contains(.sync(number)) { act(.endSync(number)) }
  }

  /// The import begins when what was to be dropped is, and when nothing is written or made durable beside it.
  mutating func tendFinish(_ number: SessionNumber) {
    guard let conversation = conversations[number], let finish = conversation.finish, !workers.isBusy(number) else {
      return
    }
    conversations[number]?.finish = nil
    beginImport(of: conversation.transfer, finish: (number, finish))
  }

  mutating func beginImport(of transfer: TransferID, finish: (SessionNumber, Finish)?) {
    transfers[of: transfer]?.movedAt = now
    act(.importItems(transfer, finish: finish, withheld: transfers[of: transfer]?.withheldItems ?? []))
    if stop != nil { act(.interruptImport(transfer)) }
  }

  mutating func importing(_ transfer: TransferID, _ progress: ImportProgress) {
    transfers[of: transfer]?.movedAt = now
    tellProgress(progress.phase == .importing ? .importing : .verifying, of: transfer, fraction: progress.fraction)
    guard let number = phase.session, conversations[number]?.tells(progress, now: now) == true,
      let conversation = conversations[number]
    else { return }
    act(.say(conversation.connection, conversation.machine.progress(progress)))
  }

  mutating func tellProgress(_ phase: TransferPhase, of transfer: TransferID, fraction: Double?) {
    act(.tellProgress(transfer, phase, total: transfers[of: transfer]?.total ?? ExpectedTotal(), fraction: fraction))
  }

  /// The import is over: the session that is current hears of it, and else the user alone.
  mutating func imported(
    _ identifier: TransferID, _ result: Result<Done, Fault>, _ traffic: Traffic, differing: UInt64,
    refused: [Refusal]
  ) {
    transfers[of: identifier]?.traffic = traffic
    transfers[of: identifier]?.leftOut.add(differing: differing)
    switch result {
    case .success(let done):
      transfers[of: identifier]?.imported(done, refused)
      guard let transfer = transfers[of: identifier] else { return }
      if case .finishing(let outcome, let deadline) = phase {
        // What a stop has left to the next run is not left to it any more.
        guard case .failure(let failure) = outcome, failure.kind == stop?.kind else { return }
        if !settings.keeps { phase = .finishing(.success(transfer.result(done)), until: deadline) }
        return tell(.done(transfer.result(done)))
      }
      tell(.done(transfer.result(done)))
      guard let number = phase.session else { return linger(after: transfer, done) }
      answer(done, number)
      guard settings.keeps else { return awaitReceipt(number) }
      stepAside(number)
      endTransfer(.success(transfer.result(done)))
    case .failure(let fault):
      if let number = phase.session { endSession(number, by: fault) }
      if settings.keeps { transfers[of: identifier]?.stage = .concluded }
      endTransfer(.failure(fault.failure))
    }
  }

  // MARK: The store

  /// Tells the store what it is to be told, in turn; a transfer is discarded when none of its sessions works any more.
  mutating func tendStoreTasks() {
    guard !workers.isStoreBusy, let index = storeTasks.firstIndex(where: isDue) else { return }
    switch storeTasks.remove(at: index) {
    case .note(let transfer): act(.note(transfer))
    case .forget(let transfer): act(.forget(transfer))
    case .discard(let transfer): act(.discard(transfer))
    case .release(let transfer): act(.release(transfer))
    case .retake(let transfer): act(.retake(transfer))
    }
  }

  private func isDue(_ task: StoreTask) -> Bool {
    guard case .discard(let transfer) = task else { return true }
    return conversations.values.allSatisfy { $0.transfer != transfer }
  }
}

extension IncomingTransfer {
  /// A session's offer is taken.
  mutating func stage(_ offer: Offer, held: Tally) {
    contents = contents ?? offer.contents
    isStaged = true
    self.held = held
    // The sender says it again.
    withheldItems = []
    total = ExpectedTotal(
      Tally(items: offer.items, bytes: offer.bytes), isEstimate: offer.flags.contains(.estimated))
  }

  /// The sender has said what the archive consists of. What was announced may have been an estimate.
  mutating func conclude(_ finish: Finish) {
    stage = .importing
    unsent = finish.unsent
    leftOut = finish.leftOut
    leftBehind = finish.leftBehind
    total = ExpectedTotal(finish.total)
  }
}
