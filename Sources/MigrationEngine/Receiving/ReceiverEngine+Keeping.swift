import MigrationWire

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
    guard paired == transfer, transfers[of: transfer]?.isEmpty == false else { return codes.reopen() }
    paired = nil
    codes.startNextWait(now: now)
  }

  /// Begins the next import of an earlier run.
  mutating func goOnWithConcluded() {
    guard case .open = phase, stop == nil, !concluded.isEmpty else { return }
    goOn(withImportOf: concluded.removeFirst())
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
    let until = now + (stop == nil ? Self.linger : Curfew.forWords)
    let earlier = conversations[number]?.receiptUntil ?? until
    conversations[number]?.isAside = true
    conversations[number]?.receiptUntil = min(earlier, until)
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
    if conversation.joinable != nil { act(.lookForData(number)) } else { giveWay(number) }
  }

  mutating func lookedForData(_ number: SessionNumber, lastAt moment: Double?) {
    guard settings.keeps, phase.session == number, let moment, now >= moment + Self.turn,
      let conversation = conversations[number], isDue(conversation)
    else { return }
    giveWay(number)
  }

  /// Whether it is the sender's part to do something, and has been for long.
  private func isDue(_ conversation: Conversation) -> Bool {
    guard conversation.isTalking, conversation.finish == nil, transfers[of: conversation.transfer]?.isReceiving == true,
      now >= conversation.dueSince + Self.turn
    else { return false }
    switch conversation.course {
    case .none, .receiving: return true
    case .telling: return phase.session.map { !workers.contains(.readLedger($0)) } == true
    case .waiting, .examining, .asking, .staging: return false
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
    guard settings.keeps else { return }
    codes.noteInterlude()
    guard transfers[of: transfer]?.keeping == .released else { return }
    transfers[of: transfer]?.keeping = .retaking
    storeTasks.append(.retake(transfer))
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
      transfers[of: identifier] = IncomingTransfer(known)
      if phase.transfer == identifier { goOn(with: known) }
    case .success(nil):
      // A transfer that was never staged has no record on the disk; any other was discarded by the
      // user.
      var anew = IncomingTransfer(identifier, pairedWith: before.client)
      anew.fault = before.isStaged ? .unknownTransfer : nil
      transfers[of: identifier] = anew
      if before.isStaged { endSession(of: identifier, by: .unknownTransfer) }
    case .failure(let fault):
      transfers[of: identifier]?.keeping = .released
      // Another process holds it, for a short time: its sender reconnects.
      let isBusy = fault.code == .inUse
      endSession(of: identifier, by: isBusy ? Fault(.connection, fault.message, hint: fault.hint) : fault)
    }
  }

  /// The transfer has begun: answers as much as possible of the sender's requests so far.
  private mutating func goOn(with known: KnownTransfer) {
    let session = phase.session
    switch known.standing {
    case .receiving: return
    case .concluded:
      goOn(withImportOf: known.identifier)
      phase = .engaged(known.identifier, session)
      if let number = session, case .waiting(let offer) = conversations[number]?.course {
        conversations[number]?.course = .none
        tell(.offer(offer, availableBytes: nil))
      }
    case .done(let done):
      if let number = session {
        answer(done, number)
        stepAside(number)
      }
      guard let transfer = transfers[of: known.identifier] else { return }
      endTransfer(.success(transfer.result(done)))
    }
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
    let resting = transfers.indices.filter { isResting(transfers[$0]) }
    for index in resting {
      transfers[index].letGo()
      storeTasks.append(.release(transfers[index].identifier))
    }
    transfers.removeAll { $0.keeping == .released && $0.fault?.code == .unknownTransfer }
    let done = transfers.filter { $0.isDone && $0.keeping == .released }.map(\.identifier)
    let old = done.prefix(max(0, done.count - Self.rememberedDone)).filter { !isTalkedAbout($0) }
    if !old.isEmpty { transfers.removeAll { old.contains($0.identifier) } }
  }

  /// An import has failed, and its sender is back before the transfer was released: it continues
  /// from the disk, like a released transfer.
  mutating func takeAnew(_ transfer: TransferID) {
    transfers[of: transfer]?.letGo()
    transfers[of: transfer]?.keeping = .retaking
    storeTasks += [.release(transfer), .retake(transfer)]
  }

  private func isResting(_ transfer: IncomingTransfer) -> Bool {
    transfer.keeping == .held && phase.transfer != transfer.identifier && !concluded.contains(transfer.identifier)
      && !transfer.isImporting && !isTalkedAbout(transfer.identifier)
  }

  private func isTalkedAbout(_ transfer: TransferID) -> Bool {
    conversations.values.contains { $0.transfer == transfer }
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
      if let transfer = transfers[of: conversation.transfer], !transfer.isDone {
        return "a session steps aside too early"
      }
    }
    if let transfer = phase.transfer.flatMap({ transfers[of: $0] }) {
      if transfer.isDone { return "it is engaged in a finished transfer" }
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

extension IncomingTransfer {
  /// From now on, the transfer exists only on the disk, and an attempt that failed may succeed the
  /// next time. The names of a finished transfer's items that are not stored are remembered,
  /// for a sender that asks again.
  fileprivate mutating func letGo() {
    keeping = .released
    if fault?.code != .unknownTransfer { fault = nil }
    (refusals, toldRefusals, withheldItems) = ([], 0, [])
  }
}

// MARK: The given code

extension ReceiverEngine {
  /// The only code of this run has ended. A sender that has paired with it may still come back.
  mutating func endGivenCode() {
    guard case .open = phase else { return }
    let hint = "Make a new code for both devices, with 'peer code new'."
    let message = codes.hasExpired ? "the code that was given has expired" : "the code that was given is spent"
    endRun(.failure(TransferFailure(.pairing, message, hint: hint)))
  }
}
