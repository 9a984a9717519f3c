import MigrationWire

/// What the sender and this device's user are told of a part: the ledger, the items that the destination
/// cannot hold, and the end of the import (Protocol §6.4 to §6.6).
extension ReceiverEngine {
  // MARK: The ledger

  mutating func ledger(_ number: SessionNumber, _ result: Result<LedgerPart, Failure>) {
    guard let conversation = conversations[number], conversation.isTalking, case .telling = conversation.course else {
      return
    }
    conversations[number]?.dueSince = now
    switch result {
    case .success(let part): tell(part, number, conversation)
    case .failure(let fault): failPart(number, by: fault)
    }
  }

  private mutating func tell(_ part: LedgerPart, _ number: SessionNumber, _ conversation: Conversation) {
    for page in part.pages {
      if page.kind == .staged || page.kind != .taken && conversation.namesAbsent {
        conversations[number]?.droppable += page.marks.count
      }
      act(.say(conversation.connection, conversation.machine.report(page)))
    }
    for partial in part.partials { act(.say(conversation.connection, conversation.machine.report(partial))) }
    if let held = part.end {
      endLedger(held, number, conversation)
    } else if part.pages.isEmpty, part.partials.isEmpty {
      // Nothing was queued, so no `drained` will follow.
      act(.readLedger(number))
    }
  }

  /// Reads the next part once the previous one is sent.
  mutating func drained(_ id: ConnectionID) {
    guard let (number, conversation) = conversations.first(where: { $0.value.connection == id }),
      conversation.isTalking, case .telling = conversation.course, !workers.contains(.readLedger(number))
    else { return }
    act(.readLedger(number))
  }

  /// The ledger is sent: streams may join as soon as the sender reads its end.
  private mutating func endLedger(_ held: Tally, _ number: SessionNumber, _ conversation: Conversation) {
    transfers[of: conversation.transfer]?.part.heldBefore = held
    if conversation.isResumed, conversation.streams == nil {
      tell(.resumed(heldBytes: held.bytes), of: conversation.transfer)
    }
    conversations[number]?.course = .receiving
    conversations[number]?.streams = conversation.streams ?? StreamTable(session: conversation.session)
    act(.openGate(number))
    conversations[number]?.nextProgress = now + Conversation.progressPause
    if let message = conversations[number]?.machine.reported(held) { act(.say(conversation.connection, message)) }
    if conversation.isResumed { tellRefusalsAgain(of: conversation.transfer) }
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
    guard let conversation = conversations[number], conversation.isTalking,
      conversation.machine.isReceiving || conversation.machine.isImporting,
      let refusals = transfers[of: conversation.transfer]?.part.refusals
    else { return }
    conversations[number]?.toldRefusals = refusals.count
    for refusal in refusals[conversation.toldRefusals...] { say(refusal, number) }
  }

  private mutating func say(_ refusal: NotStored, _ number: SessionNumber) {
    guard let id = conversations[number]?.connection, let message = conversations[number]?.machine.name(refusal)
    else { return }
    act(.say(id, message))
  }

  /// Tells the sender that a part is finished, which it has offered: before that, the items that
  /// are not stored.
  mutating func answer(
    _ part: UInt16, _ done: Done, naming named: [NotStored], _ isNews: Bool, _ number: SessionNumber
  ) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.machine.isJudging else {
      return
    }
    conversations[number]?.course = .none
    conversations[number]?.dueSince = now
    if isNews, !conversation.isAside {
      for refusal in named { tell(.notStored(refusal), of: conversation.transfer, part: part) }
      for item in done.renamedItems { tell(item.event, of: conversation.transfer, part: part) }
    }
    for refusal in named { say(refusal, number) }
    guard let message = conversations[number]?.machine.answerAgain(done) else { return }
    act(.say(conversation.connection, message))
    awaitReceipt(number)
  }

  /// The import of the running part has ended: tells the sender, if its session waits for that.
  mutating func sayImported(_ done: Done, _ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.machine.isImporting,
      let message = conversations[number]?.machine.imported(done)
    else { return }
    conversations[number]?.course = .none
    conversations[number]?.dueSince = now
    act(.say(conversation.connection, message))
  }
}
