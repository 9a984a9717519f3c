import MigrationWire

/// The import of a part, from the sender's FINISH to the result that both ends learn.
extension ReceiverEngine {
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
}
