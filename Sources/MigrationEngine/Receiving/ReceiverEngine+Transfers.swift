import MigrationWire

/// A task for the store, about a transfer.
enum StoreTask: Equatable, Sendable {
  case note(TransferID)
  case forget(TransferID)
  case discard(TransferID)
  case release(TransferID)
  case retake(TransferID)
}

/// Data streams and the data that arrives on them.
extension ReceiverEngine {
  // MARK: Streams

  /// Serves the streams that have nothing left to wait for.
  mutating func tendStreams(_ number: SessionNumber) {
    while let (id, join, refusal) = conversations[number]?.streams?.next() {
      if let refusal { refuse(id, refusal) } else { act(.serve(id, number, join)) }
    }
  }

  mutating func streamEnded(_ id: ConnectionID, _ end: StreamEnd, _ held: Tally) {
    door.forget(id)
    for number in conversations.keys.sorted() where conversations[number]?.streams?.end(id) == true {
      if let transfer = conversations[number]?.transfer { transfers[of: transfer]?.note(held: held) }
      if case .failed(let fault) = end { endSession(number, by: fault) }
    }
  }

  /// The data of a session may be lost, or differ from its FINISH. Nothing of the transfer is
  /// imported; the transfer's current session ends with this fault, and so does the run.
  mutating func failTransfer(of number: SessionNumber, by fault: Fault) {
    guard let transfer = conversations[number]?.transfer else { return }
    withdrawFinish(of: transfer)
    transfers[of: transfer]?.fault = fault
    for number in conversations.keys.sorted() where conversations[number]?.transfer == transfer {
      endSession(number, by: fault)
      // The fault replaces an earlier lost connection, after which the sender might have come back.
      if case .ending(let earlier?) = conversations[number]?.life, earlier.senderMayComeBack {
        conversations[number]?.life = .ending(fault)
      }
    }
    // The session had ended when the import was about to begin: no other session decides.
    if case .engaged(transfer, nil) = phase, transfers[of: transfer]?.isImporting == false {
      endTransfer(.failure(fault.failure))
    }
  }

  /// Cancels the import that was about to begin.
  mutating func withdrawFinish(of transfer: TransferID) {
    for (number, conversation) in conversations where conversation.transfer == transfer && conversation.finish != nil {
      conversations[number]?.finish = nil
      transfers[of: transfer]?.stage = .receiving
    }
  }

  // MARK: Items that the source no longer has

  mutating func drop(_ marks: [Mark], _ number: SessionNumber) throws(Violation) {
    // A sender cannot drop items that it was never sent, and only this bounds the queue for a slow
    // disk.
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

  /// The sender has sent everything: from now on no session decides about the transfer.
  mutating func conclude(_ finish: Finish, _ number: SessionNumber) {
    guard let transfer = conversations[number]?.transfer else { return }
    transfers[of: transfer]?.conclude(finish)
    transfers[of: transfer]?.movedAt = now
    conversations[number]?.finish = finish
    act(.shutGate(number))
    if workers.contains(.sync(number)) { act(.endSync(number)) }
  }

  /// Begins the import once all drops are done, and nothing is being written or made durable.
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

  /// The import has ended. The current session learns the result, if there is one; otherwise only
  /// the user does.
  mutating func imported(
    _ identifier: TransferID, _ result: Result<Done, Fault>, _ traffic: Traffic, refused: [Refusal]
  ) {
    transfers[of: identifier]?.traffic = traffic
    switch result {
    case .success(let done):
      transfers[of: identifier]?.imported(done, refused)
      guard let transfer = transfers[of: identifier] else { return }
      if case .finishing(let outcome, let deadline) = phase {
        // The import has ended in time, so a stop leaves nothing of it to the next run.
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

  /// Gives the store its tasks one after the other; a transfer is discarded once none of its
  /// sessions works any more.
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
  /// A session's offer is accepted.
  mutating func stage(_ offer: Offer, held: Tally) {
    contents = contents ?? offer.contents
    isStaged = true
    self.held = held
    // The sender repeats these.
    withheldItems = []
    total = ExpectedTotal(
      Tally(items: offer.items, bytes: offer.bytes), isEstimate: offer.flags.contains(.estimated))
  }

  /// The sender has sent the totals of the archive. The announced total may have been an estimate.
  mutating func conclude(_ finish: Finish) {
    stage = .importing
    unsent = finish.unsent
    leftOut = finish.leftOut
    leftBehind = finish.leftBehind
    total = ExpectedTotal(finish.total)
  }
}
