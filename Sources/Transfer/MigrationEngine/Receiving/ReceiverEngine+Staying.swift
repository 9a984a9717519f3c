import MigrationWire

/// A receiver that stays: its state between one transfer and the next, and its memory of earlier
/// transfers (Protocol §A.2).
///
/// Its phase is open again as soon as a transfer is done or has failed. A sender that missed the DONE
/// of its transfer gets it in a session beside the next transfer, which changes only its own transfer.
extension ReceiverEngine {
  /// How many finished transfers stay known to senders that ask again. The store has older ones
  /// too, and the next run knows them.
  package static let rememberedDone = 32

  // MARK: The end of a transfer

  /// The outcome of a transfer is decided: it ends the run, or a receiver that stays reports it and
  /// continues.
  mutating func endTransfer(_ transfer: TransferID, _ outcome: TransferOutcome) {
    guard settings.keeps else { return endRun(outcome) }
    if phase.isEnding { return }
    // A success has been reported by now. If the user's stop interrupts a transfer, the end of the
    // run reports it.
    if case .failure(let failure) = outcome, stop == nil || failure.kind != .interrupted {
      tell(.failed(failure), of: transfer)
    }
    endWait(of: transfer)
    phase.leave { $0.transfer == transfer }
    goOnWithConcluded()
    endStoppedRun()
  }

  /// Another sender is served instead of one that is away, whose transfer waits on the disk.
  mutating func leaveAway(for transfer: TransferID) {
    guard phase.served.count >= settings.atOnce, phase[transfer] == nil else { return }
    let away = phase.served.filter { !$0.isEngaged }
    // Of a transfer that is empty nothing is left.
    if let empty = away.first(where: { transfers[of: $0.transfer]?.isEmpty != false }) {
      return phase.leave { $0.transfer == empty.transfer }
    }
    guard settings.keeps, case .away(let other, _, let outcome)? = away.first else { return }
    if case .failure(let failure) = outcome { tell(.failed(failure), of: other) }
    endWait(of: other)
    phase.leave { $0.transfer == other }
  }

  /// A transfer that has brought data ends the wait in which its sender has paired. A failed
  /// pairing does not: its sender could have guesses judged without limit.
  private mutating func endWait(of transfer: TransferID) {
    // By now another sender may have spent the code and not be at READY yet.
    if connections.isConfirming { return }
    if transfers.endWait(of: transfer) { codes.startNextWait(now: now) } else { codes.reopen() }
  }

  /// Begins the next imports of an earlier run.
  mutating func goOnWithConcluded() {
    while !phase.isEnding, phase.served.count < settings.atOnce, stop == nil, let next = transfers.takeConcluded() {
      goOn(withImportOf: next)
    }
  }

  /// The run of a receiver that stays ends when it is stopped and waits for no last messages.
  mutating func endStoppedRun() {
    guard let stop, case .serving(let served) = phase, served.isEmpty, !hasAsides else { return }
    endRun(.failure(.interrupted(by: stop.kind)))
  }

  // MARK: Sessions that step aside

  /// The sessions about finished transfers, which run beside other work.
  var asides: [SessionNumber] { sessions.keys.sorted().filter { sessions[$0]?.isTalkingAside == true } }

  var hasAsides: Bool { sessions.values.contains(where: \.isTalkingAside) }

  /// The session only waits for the sender's receipt, for a limited time that nothing extends.
  mutating func stepAside(_ number: SessionNumber) {
    let until = now + (stop == nil ? EndLimits.receipt : EndLimits.lastMessages)
    let earlier = sessions[number]?.receiptUntil ?? until
    sessions[number]?.isAside = true
    sessions[number]?.receiptUntil = min(earlier, until)
    if case .settling(let end, let fault) = sessions[number]?.life {
      sessions[number]?.life = .settling(until: min(end, until), fault)
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
    guard settings.keeps, stop == nil else { return }
    for number in phase.sessions {
      let isAwaited = phase[number].map { isReservationAwaited(of: $0.transfer) } ?? false
      let isDue = isDue(number)
      if isAwaited || isDue && !isInviting, sessions[number]?.conversation.isStreaming == true {
        act(.lookForData(number))
      } else if isDue && (isAwaited || !isInviting) || isTooSlow(number) {
        giveWay(number)
      }
    }
  }

  mutating func lookedForData(_ number: SessionNumber, lastAt moment: Double?, _ held: Tally) {
    guard settings.keeps, let transfer = phase[number]?.transfer, let moment else { return }
    if sessions[number]?.conversation.isStreaming == true { transfers[of: transfer]?.note(held: held) }
    if now >= moment + Self.turn && isDue(number) || isTooSlow(number) { giveWay(number) }
  }

  /// Whether it is the sender's part to do something, and has been for long.
  private func isDue(_ number: SessionNumber) -> Bool {
    isToAct(number) && now >= (sessions[number]?.dueSince ?? now) + Self.turn
  }

  /// Whether it is the sender's part to do something.
  func isToAct(_ number: SessionNumber) -> Bool {
    guard let session = sessions[number], session.isTalking, session.finish == nil,
      transfers[of: session.transfer]?.awaitsData == true
    else { return false }
    switch session.stage {
    case .none: return !session.conversation.isComparing || !workers.contains(.readLedger(number))
    case .waiting, .judgingPlan, .asking, .recording, .due, .staging: return false
    }
  }

  private mutating func giveWay(_ number: SessionNumber) {
    // One at a time is enough for the sender that waits.
    guard let transfer = sessions[number]?.transfer,
      phase.sessions.allSatisfy({ sessions[$0]?.isEnding != true })
    else { return }
    yielding = yielding.filter { now < $0.value }
    yielding[transfer] = now + Self.turn
    reservationPaces[transfer] = nil
    endSession(number, by: .idle)
  }

  // MARK: Senders that come back

  /// From now on, a session acts on a transfer.
  mutating func engage(in transfer: TransferID, by number: SessionNumber) {
    phase.serve(.engaged(transfer, number), atMost: settings.atOnce)
    reservationWaits[transfer] = nil
    transfers[of: transfer]?.isMet = true
    guard settings.keeps else { return }
    if !isInviting { codes.noteInterlude() }
    transfers.retake(transfer)
  }

  /// Refuses a known sender while as many others are served as may be, or one has just proved the
  /// code. A sender whose transfer is done disturbs only a run that is about to end.
  func admitReturn(to transfer: TransferID) throws(AbortReason) {
    let hasPlace = phase.served.count < settings.atOnce
    if let end = yielding[transfer], now < end { throw .busy }
    if reservationsBefore(transfer) > 0 { throw .busy }
    if let place = phase[transfer], place.isEngaged || !connections.isConfirming || hasPlace { return }
    guard stop == nil else { throw .busy }
    if transfers[of: transfer]?.isDone == true { return }
    guard isInviting, !connections.isConfirming, isTurn(of: transfers[of: transfer]?.client) else { throw .busy }
  }

  /// The store has read the state of a transfer that its sender continues.
  mutating func retook(_ identifier: TransferID, _ result: Result<EarlierTransfer?, Failure>) {
    guard let before = transfers[of: identifier], before.holding == .retaking else { return }
    switch result {
    case .success(let known?):
      var anew = IncomingTransfer(known)
      (anew.isMet, anew.brought) = (before.isMet, before.brought)
      transfers[of: identifier] = anew
      if phase[identifier] != nil { goOn(with: known) }
    case .success(nil):
      // A plan that was never agreed to has no record on the disk; any other was discarded by the
      // user.
      var anew = IncomingTransfer(identifier, pairedWith: before.client)
      anew.fault = before.isRecorded ? .unknownTransfer : nil
      transfers[of: identifier] = anew
      if before.isRecorded { endSession(of: identifier, by: .unknownTransfer) }
    case .failure(let fault):
      transfers[of: identifier]?.holding = .released
      // Another process holds it, for a short time: its sender reconnects.
      let isBusy = fault.code == .inUse
      endSession(of: identifier, by: isBusy ? Failure(.connection, fault.message, hint: fault.hint) : fault)
    }
  }

  /// The transfer has begun: continues as far as is possible without its sender.
  private mutating func goOn(with known: EarlierTransfer) {
    guard known.concluded != nil else { return }
    let session = phase[known.identifier]?.session
    goOn(withImportOf: known.identifier)
    phase.serve(.engaged(known.identifier, session), atMost: settings.atOnce)
  }

  private mutating func endSession(of transfer: TransferID, by fault: Failure) {
    guard let place = phase[transfer] else { return }
    if let number = place.session { return endSession(number, by: fault) }
    endTransfer(transfer, .failure(fault))
  }

  // MARK: Releasing transfers

  /// Releases the transfers that no session needs, so that a run of months holds no more than one
  /// that has just begun.
  mutating func tendHolding() {
    guard settings.keeps, !phase.isEnding else { return }
    transfers.release(transfers.filter(isResting).map(\.identifier), busy: transfersOfSessions)
  }

  /// The transfers that sessions are about.
  var transfersOfSessions: Set<TransferID> { Set(sessions.values.map(\.transfer)) }

  func isResting(_ transfer: IncomingTransfer) -> Bool {
    transfer.holding == .held && phase[transfer.identifier] == nil && !transfer.isImporting
      && !transfers.isToBeContinued(transfer.identifier) && !transfersOfSessions.contains(transfer.identifier)
  }
}

extension ReceiverSession {
  /// Whether it steps aside, and has not ended.
  fileprivate var isTalkingAside: Bool { isAside && !isEnding }
}
