import MigrationWire

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
      // While a part is judged, this is about the one before.
      if let conversation = conversations[number], !conversation.machine.isJudging {
        transfers[of: conversation.transfer]?.note(held: held)
      }
      guard case .failed(let fault) = end else { continue }
      // The rest of the part is lost, and the session is not, unless the sender is at fault. Several
      // streams may meet the same fault, and an import that runs does not need them.
      if !fault.isOfPart { endSession(number, by: fault) } else if needsData(number) { failPart(number, by: fault) }
    }
  }

  /// Whether the newest part of a session is neither settled nor being imported.
  private func needsData(_ number: SessionNumber) -> Bool {
    guard let conversation = conversations[number], conversation.isTalking else { return true }
    return conversation.machine.mayFail && (!conversation.machine.isImporting || conversation.finish != nil)
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
      transfers[of: transfer]?.part.stage = .receiving
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
    transfers[of: transfer]?.part.conclude(finish)
    transfers[of: transfer]?.part.movedAt = now
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

  /// Continues the import of the newest part, of which everything had arrived.
  mutating func continueImport(of transfer: TransferID, _ total: Tally? = nil) {
    transfers[of: transfer]?.part.stage = .importing
    if let total { transfers[of: transfer]?.part.total = ExpectedTotal(total) }
    beginImport(of: transfer, finish: nil)
  }

  private mutating func beginImport(of transfer: TransferID, finish: (SessionNumber, Finish)?) {
    guard let part = transfers[of: transfer]?.part else { return }
    transfers[of: transfer]?.part.movedAt = now
    act(.importItems(transfer, part.number, finish: finish, withheld: part.withheldItems))
    if stop != nil { act(.interruptImport(transfer)) }
  }

  mutating func importing(_ transfer: TransferID, _ progress: ImportProgress) {
    transfers[of: transfer]?.part.movedAt = now
    tellProgress(progress.phase == .importing ? .importing : .verifying, of: transfer, fraction: progress.fraction)
    guard let number = phase.session, conversations[number]?.tells(progress, now: now) == true,
      let conversation = conversations[number]
    else { return }
    act(.say(conversation.connection, conversation.machine.progress(progress)))
  }

  mutating func tellProgress(_ phase: TransferPhase, of transfer: TransferID, fraction: Double?) {
    act(
      .tellProgress(
        transfer, phase, total: transfers[of: transfer]?.part.total ?? ExpectedTotal(), fraction: fraction))
  }

  /// The import of a part has ended. The current session learns the result, if there is one;
  /// otherwise only the user does.
  mutating func imported(
    _ identifier: TransferID, _ result: Result<Done, Fault>, _ traffic: Traffic, refused: [Refusal]
  ) {
    transfers[of: identifier]?.traffic = traffic
    switch result {
    case .success(let done): imported(done, refused, identifier)
    case .failure(let fault): notImported(fault, identifier)
    }
  }

  /// The import of a part has failed. A session whose sender still has to offer it tries it again.
  private mutating func notImported(_ fault: Fault, _ identifier: TransferID) {
    transfers[of: identifier]?.part.stage = .concluded
    guard let part = transfers[of: identifier]?.part.number else { return }
    if stop != nil {
      if let number = phase.session { endSession(number, by: fault) }
      return endTransfer(.failure(fault.failure))
    }
    guard let number = phase.session, let conversation = conversations[number], conversation.isTalking else {
      transfers[of: identifier]?.fail(by: fault)
      if let transfer = transfers[of: identifier] { tellFailure(of: part, fault, transfer) }
      // The end of a session that still has workers decides.
      if phase.session == nil { linger(after: identifier) }
      return
    }
    if conversation.waitsForImport(of: part) { return failPart(number, by: fault) }
    guard conversation.machine.hasEnded(part) else { return }
    transfers[of: identifier]?.fail(by: fault)
    if let transfer = transfers[of: identifier] { tellFailure(of: part, fault, transfer) }
    endPlan(number)
  }

  private mutating func imported(_ done: Done, _ refused: [Refusal], _ identifier: TransferID) {
    transfers[of: identifier]?.imported(done, refused)
    guard let transfer = transfers[of: identifier] else { return }
    if case .finishing(let outcome, let deadline) = phase {
      // The import has ended in time, so a stop leaves nothing of it to the next run.
      guard case .failure(let failure) = outcome, failure.kind == stop?.kind,
        case .success(let result)? = transfer.outcome
      else { return }
      if !settings.keeps { phase = .finishing(.success(result), until: deadline) }
      return tellDone(result)
    }
    // First the result, which a later message may overtake.
    if case .success(let result)? = transfer.outcome { tellDone(result) }
    guard let number = phase.session else { return linger(after: identifier) }
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
    withheldItems = []
    total = ExpectedTotal(
      Tally(items: totals.items, bytes: totals.bytes), isEstimate: totals.flags.contains(.estimated))
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

/// A receiver that stays: its state between one transfer and the next, and its memory of earlier
/// transfers (Protocol §7.5).
///
/// Its phase is open again as soon as a transfer is done or has failed. A sender that still has to
/// learn that its transfer is done learns it beside the next transfer, in a session that steps
/// aside: such a session changes only its own transfer.
extension ReceiverEngine {
  /// How many finished transfers stay known to senders that ask again. The store has older ones
  /// too, and the next run knows them.
  package static let rememberedDone = 32

  // MARK: The end of a transfer

  /// The outcome of a transfer is decided: it ends the run, or a receiver that stays reports it and
  /// continues.
  mutating func endTransfer(_ outcome: ReceiverPhase.Outcome) {
    guard settings.keeps else { return endRun(outcome) }
    if phase.isEnding { return }
    // A success has been reported by now. A transfer that the stop breaks off is reported as the
    // end of the run.
    if case .failure(let failure) = outcome, stop == nil || failure.kind != .interrupted { tell(.failed(failure)) }
    if let transfer = phase.transfer { endWait(of: transfer) }
    phase = .open
    goOnWithConcluded()
    endStoppedRun()
  }

  /// A transfer that has brought data ends the wait in which its sender has paired. A failed
  /// pairing does not: its sender could have guesses judged without limit.
  private mutating func endWait(of transfer: TransferID) {
    // By now another sender may have spent the code and not be at READY yet.
    if door.isConfirming { return }
    if transfers.endWait(of: transfer) { codes.startNextWait(now: now) } else { codes.reopen() }
  }

  /// Begins the next import of an earlier run.
  mutating func goOnWithConcluded() {
    guard case .open = phase, stop == nil, let next = transfers.takeConcluded() else { return }
    goOn(withImportOf: next)
  }

  /// The run of a receiver that stays ends when it is stopped and waits for no last messages.
  mutating func endStoppedRun() {
    guard let stop, case .open = phase, !hasAsides else { return }
    endRun(.failure(TransferFailure(stop.kind, "interrupted")))
  }

  // MARK: Sessions that step aside

  /// The sessions about finished transfers, which run beside other work.
  var asides: [SessionNumber] { conversations.keys.sorted().filter { conversations[$0]?.isTalkingAside == true } }

  var hasAsides: Bool { conversations.values.contains(where: \.isTalkingAside) }

  /// The session only waits for the sender's receipt, for a limited time that nothing extends.
  mutating func stepAside(_ number: SessionNumber) {
    let until = now + (stop == nil ? Self.linger : EndLimits.lastMessages)
    let earlier = conversations[number]?.receiptUntil ?? until
    conversations[number]?.isAside = true
    conversations[number]?.receiptUntil = min(earlier, until)
    if case .settling(let end, let fault) = conversations[number]?.life {
      conversations[number]?.life = .settling(until: min(end, until), fault)
    }
  }

  /// The user has stopped the run: senders have a moment to send RECEIPT.
  mutating func hurryAsides() { for number in asides { stepAside(number) } }

  // MARK: Senders that send nothing

  /// After how many seconds without data a session gives way, and for how many seconds its sender
  /// then leaves others their turn: a person has to read and type a code.
  package static let turn = 120.0

  /// Another sender wants to be served: a session whose sender does nothing gives way to it. Work
  /// of this device, however slow, does not count.
  mutating func askForTurn() {
    guard settings.keeps, stop == nil, let number = phase.session, let conversation = conversations[number],
      isDue(conversation)
    else { return }
    if conversation.machine.isReceiving { act(.lookForData(number)) } else { giveWay(number) }
  }

  mutating func lookedForData(_ number: SessionNumber, lastAt moment: Double?) {
    guard settings.keeps, phase.session == number, let moment, now >= moment + Self.turn,
      let conversation = conversations[number], isDue(conversation)
    else { return }
    giveWay(number)
  }

  /// Whether it is the sender's part to do something, and has been for long.
  private func isDue(_ conversation: Conversation) -> Bool {
    guard conversation.isTalking, conversation.finish == nil, transfers[of: conversation.transfer]?.awaitsData == true,
      now >= conversation.dueSince + Self.turn
    else { return false }
    switch conversation.course {
    case .none, .receiving: return true
    case .telling: return phase.session.map { !workers.contains(.readLedger($0)) } == true
    case .waiting, .weighing, .asking, .recording, .due, .staging: return false
    }
  }

  private mutating func giveWay(_ number: SessionNumber) {
    guard let transfer = conversations[number]?.transfer else { return }
    yielding = (transfer, now + Self.turn)
    endSession(number, by: .idle)
  }

  // MARK: Senders that come back

  /// From now on, a session acts on a transfer.
  mutating func engage(in transfer: TransferID, by number: SessionNumber) {
    phase = .engaged(transfer, number)
    transfers[of: transfer]?.isMet = true
    guard settings.keeps else { return }
    codes.noteInterlude()
    transfers.retake(transfer)
  }

  /// Refuses a known sender while another one is served, or has just proved the code. A sender
  /// whose transfer is done disturbs only a run that is about to end.
  func admitReturn(to transfer: TransferID) throws(AbortReason) {
    if let yielding, yielding.transfer == transfer, now < yielding.until { throw .busy }
    let isConfirming = door.isConfirming && isInviting
    if phase.transfer == transfer, !isConfirming { return }
    guard stop == nil else { throw .busy }
    if transfers[of: transfer]?.isDone == true { return }
    guard !door.isConfirming else { throw .busy }
    switch phase {
    case .open: return
    case .away(let other, _, _): if givesWay(other) { return }
    case .starting, .engaged, .finishing, .over: break
    }
    throw .busy
  }

  /// The store has read the state of a transfer that its sender continues.
  mutating func retook(_ identifier: TransferID, _ result: Result<KnownTransfer?, Fault>) {
    guard let before = transfers[of: identifier], before.keeping == .retaking else { return }
    switch result {
    case .success(let known?):
      var anew = IncomingTransfer(known)
      anew.isMet = before.isMet
      transfers[of: identifier] = anew
      if phase.transfer == identifier { goOn(with: known) }
    case .success(nil):
      // A plan that was never agreed to has no record on the disk; any other was discarded by the
      // user.
      var anew = IncomingTransfer(identifier, pairedWith: before.client)
      anew.fault = before.isRecorded ? .unknownTransfer : nil
      transfers[of: identifier] = anew
      if before.isRecorded { endSession(of: identifier, by: .unknownTransfer) }
    case .failure(let fault):
      transfers[of: identifier]?.keeping = .released
      // Another process holds it, for a short time: its sender reconnects.
      let isBusy = fault.code == .inUse
      endSession(of: identifier, by: isBusy ? Fault(.connection, fault.message, hint: fault.hint) : fault)
    }
  }

  /// The transfer has begun: continues as far as is possible without its sender.
  private mutating func goOn(with known: KnownTransfer) {
    guard known.concluded != nil else { return }
    let session = phase.session
    goOn(withImportOf: known.identifier)
    phase = .engaged(known.identifier, session)
  }

  private mutating func endSession(of transfer: TransferID, by fault: Fault) {
    if phase.transfer == transfer, let number = phase.session { return endSession(number, by: fault) }
    if phase.transfer == transfer { endTransfer(.failure(fault.failure)) }
  }

  // MARK: Releasing transfers

  /// Releases the transfers that no session needs, so that a run of months holds no more than one
  /// that has just begun.
  mutating func tendKeeping() {
    guard settings.keeps, !phase.isEnding else { return }
    transfers.release(transfers.filter(isResting).map(\.identifier), busy: transfersOfSessions)
  }

  /// The transfers that sessions are about.
  var transfersOfSessions: Set<TransferID> { Set(conversations.values.map(\.transfer)) }

  private func isResting(_ transfer: IncomingTransfer) -> Bool {
    transfer.keeping == .held && phase.transfer != transfer.identifier && !transfer.isImporting
      && !transfers.isToBeContinued(transfer.identifier) && !transfersOfSessions.contains(transfer.identifier)
  }

  // MARK: Invariants

  /// The invariant of a receiver that stays that does not hold; nil if all hold.
  var brokenKeeping: String? {
    guard settings.keeps else {
      return conversations.values.contains(where: \.isAside) ? "a session steps aside in a run that does not stay" : nil
    }
    if phase.isEnding { return nil }
    if transfers.count(where: \.isDone) > Self.rememberedDone + conversations.count { return "too many are remembered" }
    for conversation in conversations.values where conversation.isAside && !conversation.isEnding {
      if let transfer = transfers[of: conversation.transfer], transfer.outcome == nil {
        return "a session steps aside too early"
      }
    }
    if let transfer = phase.transfer.flatMap({ transfers[of: $0] }) {
      if transfer.isDone, conversations.values.allSatisfy({ !$0.machine.isOver }) {
        return "it is engaged in a finished transfer"
      }
      if transfer.keeping == .released { return "it is engaged in a released transfer" }
    }
    if transfers.contains(where: isResting) { return "it holds a transfer that it does not need" }
    return nil
  }
}

extension Conversation {
  /// Whether it steps aside, and has not ended.
  fileprivate var isTalkingAside: Bool { isAside && !isEnding }
}
