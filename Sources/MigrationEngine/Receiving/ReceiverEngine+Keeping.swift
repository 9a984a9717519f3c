import MigrationWire

/// A receiver that stays: what lies between one transfer and the next, and what it keeps of those before (Protocol §7.5).
///
/// Its phase is open again as soon as a transfer is done or has failed. A sender that is still to hear that all is done is told so
/// beside the next transfer, in a session that steps aside: such a session changes nothing but its own transfer.
extension ReceiverEngine {
  /// How many transfers that are done stay known to senders that ask again; the store has older ones too, and the next run knows
  /// them.
  package static let rememberedDone = 32

  // MARK: The end of a transfer

  /// What becomes of a transfer here is decided: that ends the run, or a receiver that stays tells it and goes on.
  mutating func endTransfer(_ outcome: ReceiverPhase.Outcome) {
    guard settings.keeps else { return endRun(outcome) }
    if phase.isEnding { return }
    // That it was done is told by then; what a stop breaks off is told as the end of the run.
    if case .failure(let failure) = outcome, stop == nil || failure.kind != .interrupted { tell(.failed(failure)) }
    if let transfer = phase.transfer { endWait(of: transfer) }
    phase = .open
    goOnWithConcluded()
    endStoppedRun()
  }

  /// A transfer that has brought something ends the wait in which its sender has paired. A pairing that came to nothing does not:
  /// its sender could have guesses judged for ever.
  private mutating func endWait(of transfer: TransferID) {
    // By now the code may be another sender's, which is not at READY yet.
    if door.isConfirming { return }
    guard paired == transfer, transfers[of: transfer]?.isEmpty == false else { return codes.reopen() }
    paired = nil
    codes.startNextWait(now: now)
  }

  /// Begins the next import that an earlier run has left.
  mutating func goOnWithConcluded() {
    guard case .open = phase, stop == nil, !concluded.isEmpty else { return }
    goOn(withImportOf: concluded.removeFirst())
  }

  /// The run of a receiver that stays ends when it is stopped and has no last words to hear.
  mutating func endStoppedRun() {
    guard let stop, case .open = phase, !hasAsides else { return }
    endRun(.failure(TransferFailure(stop.kind, "interrupted")))
  }

  // MARK: Sessions that step aside

  /// The sessions that talk about a transfer that is done, beside what else goes on.
  var asides: [SessionNumber] { conversations.keys.sorted().filter { conversations[$0]?.isTalkingAside == true } }

  var hasAsides: Bool { conversations.values.contains(where: \.isTalkingAside) }

  /// All that is left of a session is the sender's receipt, which it has a while for; nothing makes that longer.
  mutating func stepAside(_ number: SessionNumber) {
    let until = now + (stop == nil ? Self.linger : Curfew.forWords)
    let earlier = conversations[number]?.receiptUntil ?? until
    conversations[number]?.isAside = true
    conversations[number]?.receiptUntil = min(earlier, until)
  }

  /// The user has stopped the run: senders have a moment to say that they know.
  mutating func hurryAsides() { for number in asides { stepAside(number) } }

  // MARK: Senders that come back

  /// A session acts on a transfer from here on.
  mutating func engage(in transfer: TransferID, by number: SessionNumber) {
    phase = .engaged(transfer, number)
    guard settings.keeps else { return }
    codes.noteInterlude()
    guard transfers[of: transfer]?.keeping == .released else { return }
    transfers[of: transfer]?.keeping = .retaking
    storeTasks.append(.retake(transfer))
  }

  /// Refuses a known sender while another one is served, or has just proved the code. One whose transfer is done disturbs nothing
  /// but a run that is to end.
  func admitReturn(to transfer: TransferID) throws(AbortReason) {
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

  /// What is there of a transfer that its sender goes on with.
  mutating func retook(_ identifier: TransferID, _ result: Result<KnownTransfer?, Fault>) {
    guard let before = transfers[of: identifier], before.keeping == .retaking else { return }
    switch result {
    case .success(let known?):
      transfers[of: identifier] = IncomingTransfer(known)
      if phase.transfer == identifier { goOn(with: known) }
    case .success(nil):
      // Nothing was remembered of one that never got so far; any other was given up by the user.
      var anew = IncomingTransfer(identifier, pairedWith: before.client)
      anew.fault = before.isStaged ? .unknownTransfer : nil
      transfers[of: identifier] = anew
      if before.isStaged { endSession(of: identifier, by: .unknownTransfer) }
    case .failure(let fault):
      transfers[of: identifier]?.keeping = .released
      // Another process has it, and not for long: its sender connects again.
      let isBusy = fault.code == .inUse
      endSession(of: identifier, by: isBusy ? Fault(.connection, fault.message, hint: fault.hint) : fault)
    }
  }

  /// It has begun: what its sender has asked for meanwhile is answered as far as it can be.
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

  // MARK: What is let go

  /// Lets go of what no session needs, so that a run that goes on for months holds no more than one that has just begun.
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

  /// An import has failed, and its sender is back before it was let go: it goes on from the disk, as one that was.
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

  /// What a receiver that stays has broken; nil if all is well.
  var brokenKeeping: String? {
    guard settings.keeps else {
      return conversations.values.contains(where: \.isAside) ? "a session steps aside of nothing" : nil
    }
    if phase.isEnding { return nil }
    if transfers.count(where: \.isDone) > Self.rememberedDone + conversations.count { return "too much is remembered" }
    for conversation in conversations.values where conversation.isAside && !conversation.isEnding {
      if let transfer = transfers[of: conversation.transfer], !transfer.isDone {
        return "one steps aside that is not done"
      }
    }
    if let transfer = phase.transfer.flatMap({ transfers[of: $0] }) {
      if transfer.isDone { return "it is engaged in what is done" }
      if transfer.keeping == .released { return "it is engaged in what it has let go" }
    }
    if transfers.contains(where: isResting) { return "it holds what it does not need" }
    return nil
  }
}

extension Conversation {
  /// Whether it steps aside, and has not ended.
  fileprivate var isTalkingAside: Bool { isAside && !isEnding }
}

extension IncomingTransfer {
  /// It is on the disk alone from now on, and what has failed may go well the next time. Of what is done the names of what is not
  /// stored are remembered, for a sender that asks again.
  fileprivate mutating func letGo() {
    keeping = .released
    if fault?.code != .unknownTransfer { fault = nil }
    (refusals, toldRefusals, withheldItems) = ([], 0, [])
  }
}

// MARK: The given code

extension ReceiverEngine {
  /// The one code that this run had is over. A sender that has paired by it may still come back.
  mutating func endGivenCode() {
    guard case .open = phase else { return }
    let hint = "Make a new code for both devices, with 'peer code new'."
    let message = codes.hasExpired ? "the code that was given has expired" : "the code that was given is spent"
    endRun(.failure(TransferFailure(.pairing, message, hint: hint)))
  }
}
