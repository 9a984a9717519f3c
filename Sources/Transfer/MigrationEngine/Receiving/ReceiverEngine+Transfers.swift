import MigrationWire

/// Data streams and the data that arrives on them.
extension ReceiverEngine {
  // MARK: Streams

  /// Serves the streams that no longer wait for the streams that they replace.
  mutating func tendStreams(_ number: SessionNumber) {
    while let (id, join, refusal) = sessions[number]?.streams?.next() {
      if let refusal {
        refuse(id, refusal)
      } else {
        act(.serve(id, number, join))
        noteDataConnection(of: id, number)
      }
    }
  }

  mutating func streamEnded(_ id: ConnectionID, _ end: StreamEnd, _ held: Tally) {
    connections.forget(id)
    for number in sessions.keys.sorted() where sessions[number]?.streams?.end(id) == true {
      sessions[number]?.direct.remove(id)
      // While a part is judged, the count is that of the part before.
      if let session = sessions[number], !session.conversation.isOffered {
        transfers[of: session.transfer]?.note(held: held)
      }
      guard case .failed(let fault) = end else { continue }
      // Only the part fails, unless the fault is the sender's: then the session ends. Several
      // streams may have the same fault, and a running import needs no streams.
      if !fault.isOfPart { endSession(number, by: fault) } else if needsData(number) { failPart(number, by: fault) }
    }
  }

  /// Whether the newest part of a session is neither settled nor being imported.
  private func needsData(_ number: SessionNumber) -> Bool {
    guard let session = sessions[number], session.isTalking else { return true }
    return session.conversation.isRunning && (!session.conversation.isFinishing || session.finish != nil)
  }

  /// The data of a session may be lost, or differ from its FINISH. Nothing of the transfer is
  /// imported; the transfer's current session ends with this fault, and so does the run.
  mutating func failTransfer(of number: SessionNumber, by fault: Failure) {
    guard let transfer = sessions[number]?.transfer else { return }
    withdrawFinish(of: transfer)
    transfers[of: transfer]?.fault = fault
    for number in sessions.keys.sorted() where sessions[number]?.transfer == transfer {
      endSession(number, by: fault)
      // The fault replaces an earlier lost connection, after which the sender might have come back.
      if case .ending(let earlier?) = sessions[number]?.life, earlier.senderMayComeBack {
        sessions[number]?.life = .ending(fault)
      }
    }
    // The session had ended when the import was about to begin: no other session decides.
    if case .engaged(_, nil)? = phase[transfer], transfers[of: transfer]?.isImporting == false {
      endTransfer(transfer, .failure(fault))
    }
  }

  /// Cancels the import that was about to begin.
  mutating func withdrawFinish(of transfer: TransferID) {
    for (number, session) in sessions where session.transfer == transfer && session.finish != nil {
      sessions[number]?.finish = nil
      transfers[of: transfer]?.part.stage = .receiving
    }
  }

  // MARK: Items that the source no longer has

  mutating func drop(_ marks: [Mark], _ number: SessionNumber) throws(Violation) {
    // A sender cannot drop items that it was never sent, and only this bounds the queue for a slow
    // disk.
    guard marks.count <= sessions[number]?.droppable ?? 0 else {
      throw Violation(.limit, "a list of dropped items")
    }
    sessions[number]?.droppable -= marks.count
    sessions[number]?.drops.append(marks)
    dropNext(number)
  }

  private mutating func dropNext(_ number: SessionNumber) {
    guard let session = sessions[number], session.isTalking || session.finish != nil,
      !session.drops.isEmpty, !workers.contains(.dropItems(number)),
      let marks = sessions[number]?.drops.removeFirst()
    else { return }
    act(.dropItems(number, marks))
  }

  mutating func dropped(_ number: SessionNumber, _ fault: Failure?) {
    if let fault { failTransfer(of: number, by: fault) }
    dropNext(number)
  }

  // MARK: The import

  /// The sender has sent everything: from now on no session decides about the transfer.
  mutating func conclude(_ finish: Finish, _ number: SessionNumber) {
    guard let transfer = sessions[number]?.transfer else { return }
    transfers[of: transfer]?.part.conclude(finish)
    transfers[of: transfer]?.part.movedAt = now
    sessions[number]?.finish = finish
    act(.shutGate(number))
    if workers.contains(.sync(number)) { act(.endSync(number)) }
  }

  /// Begins the import once all drops are done, and nothing is being written or made durable.
  mutating func tendFinish(_ number: SessionNumber) {
    guard let session = sessions[number], let finish = session.finish, !workers.isBusy(number) else {
      return
    }
    sessions[number]?.finish = nil
    beginImport(of: session.transfer, finish: (number, finish))
  }

  /// Continues the import of the newest part, which had arrived completely.
  mutating func continueImport(of transfer: TransferID, _ total: Tally? = nil) {
    transfers[of: transfer]?.part.stage = .importing
    if let total { transfers[of: transfer]?.part.total = ExpectedTotal(total) }
    beginImport(of: transfer, finish: nil)
  }

  private mutating func beginImport(of transfer: TransferID, finish: (SessionNumber, Finish)?) {
    guard let part = transfers[of: transfer]?.part else { return }
    transfers[of: transfer]?.part.movedAt = now
    act(.importItems(transfer, part.number, finish: finish, unsent: part.leftOutItems))
    if stop != nil { act(.interruptImport(transfer)) }
  }

  mutating func importing(_ transfer: TransferID, _ progress: ImportProgress) {
    transfers[of: transfer]?.part.movedAt = now
    tellProgress(progress.phase == .importing ? .importing : .verifying, of: transfer, fraction: progress.fraction)
    guard let number = phase[transfer]?.session, sessions[number]?.tells(progress, now: now) == true else { return }
    say(.progress(progress), number)
  }

  mutating func tellProgress(_ phase: TransferProgress.Phase, of transfer: TransferID, fraction: Double?) {
    act(
      .tellProgress(
        transfer, phase, total: transfers[of: transfer]?.expected ?? ExpectedTotal(), fraction: fraction))
  }

  /// The import of a part has ended. The current session learns the result, if there is one;
  /// otherwise only the user does.
  mutating func imported(
    _ identifier: TransferID, _ result: Result<Done, Failure>, _ traffic: Traffic, refused: [NotStored]
  ) {
    transfers[of: identifier]?.traffic = traffic
    switch result {
    case .success(let done): imported(done, refused, identifier)
    case .failure(let fault): notImported(fault, identifier)
    }
  }

  /// The import of a part has failed. A session whose sender still has to offer it tries it again.
  private mutating func notImported(_ fault: Failure, _ identifier: TransferID) {
    transfers[of: identifier]?.part.stage = .concluded
    guard let part = transfers[of: identifier]?.part.number else { return }
    if stop != nil {
      if let number = phase[identifier]?.session { endSession(number, by: fault) }
      return endTransfer(identifier, .failure(fault))
    }
    guard let number = phase[identifier]?.session, let session = sessions[number], session.isTalking
    else {
      transfers[of: identifier]?.fail(by: fault)
      if let transfer = transfers[of: identifier] { tellFailure(of: part, fault, transfer) }
      // The end of a session that still has workers decides.
      if phase[identifier]?.session == nil { linger(after: identifier) }
      return
    }
    if session.waitsForImport(of: part) { return failPart(number, by: fault) }
    guard session.conversation.hasEnded(part) else { return }
    transfers[of: identifier]?.fail(by: fault)
    if let transfer = transfers[of: identifier] { tellFailure(of: part, fault, transfer) }
    endPlan(number)
  }

  private mutating func imported(_ done: Done, _ refused: [NotStored], _ identifier: TransferID) {
    transfers[of: identifier]?.imported(done, refused)
    guard let transfer = transfers[of: identifier] else { return }
    if case .finished(_, let result, _, _)? = transfer.results[transfer.part.number] {
      tellEnd(of: transfer.part.number, result, transfer)
    }
    if case .finishing(let outcome, let deadline) = phase {
      // The import has ended in time, so a stop leaves nothing of it to the next run.
      guard case .failure(let failure) = outcome, failure.kind == stop?.kind,
        case .success(let result)? = transfer.outcome
      else { return }
      if !settings.keeps { phase = .finishing(.success(result), until: deadline) }
      return tellDone(result, of: identifier)
    }
    // First the result, which a later message may overtake.
    if case .success(let result)? = transfer.outcome { tellDone(result, of: identifier) }
    guard let number = phase[identifier]?.session else { return linger(after: identifier) }
    sayImported(done, number)
    if transfer.outcome == nil, let stop { return stopped(stop.kind) }
    endPlan(number)
  }

  // MARK: The store

  /// Gives the store its tasks one after the other.
  mutating func tendStoreTasks() {
    if !workers.isStoreBusy, let task = transfers.takeTask(busy: transfersOfSessions) { act(task) }
  }
}

extension IncomingPart {
  /// A session's offer is accepted.
  mutating func stage(_ totals: PartTotals, _ admitted: ReceiverEngine.Admitted) {
    stage = .receiving
    held = admitted.held
    if let known = admitted.refusals { (refusals, toldRefusals) = (known, min(toldRefusals, known.count)) }
    // The sender repeats these.
    leftOutItems = LeftOutItems()
    total = ExpectedTotal(
      Tally(items: totals.items, bytes: totals.bytes), allocated: totals.allocated,
      isEstimate: totals.flags.contains(.estimated))
  }

  /// The sender has sent the totals of the archive. The announced total may have been an estimate.
  mutating func conclude(_ finish: Finish) {
    stage = .importing
    unsent = finish.unsent
    leftOut = finish.leftOut
    lostAttributes = finish.lostAttributes
    total = total.with(finish.total)
  }
}
