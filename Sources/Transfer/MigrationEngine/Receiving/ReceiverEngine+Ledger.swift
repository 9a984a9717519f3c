import MigrationWire

/// The reports about a part to the sender and to this device's user: the ledger, the items that the
/// destination cannot hold, and the end of the import (Protocol §6.4 to §6.6).
extension ReceiverEngine {
  // MARK: The ledger

  mutating func ledger(_ number: SessionNumber, _ result: Result<LedgerPage, Failure>) {
    guard let session = sessions[number], session.isTalking, session.conversation.isComparing else { return }
    sessions[number]?.dueSince = now
    switch result {
    case .success(let part): tell(part, number, session)
    case .failure(let fault): failPart(number, by: fault)
    }
  }

  private mutating func tell(_ part: LedgerPage, _ number: SessionNumber, _ session: ReceiverSession) {
    for page in part.pages {
      if page.kind == .staged || page.kind != .taken && session.namesAbsent {
        sessions[number]?.droppable += page.marks.count
      }
      say(.held(page), number)
    }
    for partial in part.partials { say(.partial(partial), number) }
    if let held = part.end {
      endLedger(held, number, session)
    } else if part.pages.isEmpty, part.partials.isEmpty {
      // Nothing was queued, so no `drained` will follow.
      act(.readLedger(number))
    }
  }

  /// Reads the next part once the previous one is sent.
  mutating func drained(_ id: ConnectionID) {
    guard let (number, session) = sessions.first(where: { $0.value.connection == id }),
      session.isTalking, session.conversation.isComparing, !workers.contains(.readLedger(number))
    else { return }
    act(.readLedger(number))
  }

  /// The ledger is sent: streams may join as soon as the sender reads its end.
  private mutating func endLedger(_ held: Tally, _ number: SessionNumber, _ session: ReceiverSession) {
    transfers[of: session.transfer]?.part.heldBefore = held
    if session.isResumed, session.streams == nil {
      tell(.resumed(heldBytes: held.bytes), of: session.transfer)
    }
    sessions[number]?.streams = session.streams ?? StreamTable(session: session.identifier)
    act(.openGate(number))
    sessions[number]?.nextProgress = now + ReceiverSession.progressPause
    say(.heldEnd(HeldEnd(held: held)), number)
    if session.isResumed { tellRefusalsAgain(of: session.transfer) }
    sayRefusals(number)
  }

  // MARK: Items that the destination cannot hold

  mutating func refused(_ transfer: TransferID, _ refusals: [NotStored]) {
    transfers[of: transfer]?.part.refusals += refusals
    tellRefusals(of: transfer)
    if let number = phase[transfer]?.session { sayRefusals(number) }
  }

  /// Tells the user the refusals that were not told yet.
  private mutating func tellRefusals(of transfer: TransferID) {
    for refusal in transfers[of: transfer]?.part.newRefusals() ?? [] { tell(.notStored(refusal), of: transfer) }
  }

  /// Tells the user all refusals again.
  private mutating func tellRefusalsAgain(of transfer: TransferID) {
    transfers[of: transfer]?.part.toldRefusals = 0
    tellRefusals(of: transfer)
  }

  /// Tells the sender the refusals that it was not told yet, including those of earlier sessions,
  /// once the ledger is sent.
  private mutating func sayRefusals(_ number: SessionNumber) {
    guard let session = sessions[number], session.isTalking,
      session.conversation.isStreaming || session.conversation.isFinishing,
      let refusals = transfers[of: session.transfer]?.part.refusals
    else { return }
    sessions[number]?.toldRefusals = refusals.count
    for refusal in refusals[session.toldRefusals...] { say(refusal, number) }
  }

  private mutating func say(_ refusal: NotStored, _ number: SessionNumber) {
    guard let id = sessions[number]?.connection, let message = sessions[number]?.conversation.name(refusal)
    else { return }
    act(.say(id, message))
  }

  /// Tells the sender that a part is finished, which it has offered: before that, the items that
  /// are not stored.
  mutating func answer(
    _ part: UInt16, _ done: Done, naming named: [NotStored], _ isNews: Bool, _ number: SessionNumber
  ) {
    guard let session = sessions[number], session.isTalking, session.conversation.isOffered else { return }
    sessions[number]?.stage = .none
    sessions[number]?.dueSince = now
    if isNews, !session.isAside {
      for refusal in named { tell(.notStored(refusal), of: session.transfer, part: part) }
      for item in done.renamedItems { tell(item.event, of: session.transfer, part: part) }
    }
    for refusal in named { say(refusal, number) }
    say(.done(done), number)
    awaitReceipt(number)
  }

  /// The import of the running part has ended: tells the sender, if its session waits for that.
  mutating func sayImported(_ done: Done, _ number: SessionNumber) {
    guard let session = sessions[number], session.isTalking, session.conversation.isFinishing else { return }
    sessions[number]?.stage = .none
    sessions[number]?.dueSince = now
    say(.done(done), number)
  }
}
