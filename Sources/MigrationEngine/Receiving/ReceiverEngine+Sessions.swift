import MigrationWire

/// Sessions: their beginnings, their ends, and the consequences (Protocol §7).
extension ReceiverEngine {
  // MARK: The beginning

  /// A newly paired sender's transfer begins.
  mutating func pair(_ id: ConnectionID, _ client: KeyFingerprint, _ transfer: TransferID) {
    transfers.begin(transfer, pairedWith: client)
    converse(id, about: transfer, isResumed: false)
  }

  /// A session begins and acts on the transfer from now on; an older one is fenced off.
  mutating func converse(_ id: ConnectionID, about transfer: TransferID, isResumed: Bool) {
    guard let remote = door[id]?.remote else { return }
    let isAside = settings.keeps && transfers[of: transfer]?.isDone == true && phase.transfer != transfer
    if isAside {
      for older in asides where conversations[older]?.transfer == transfer { endSession(older, by: .superseded) }
    } else if let older = phase.session {
      let isSame = conversations[older]?.transfer == transfer
      endSession(older, by: isSame ? .superseded : .interrupted(.receiver, by: .interrupted))
    }
    lastSession += 1
    let number = SessionNumber(lastSession)
    conversations[number] = Conversation(
      transfer, on: id, from: remote, isResumed: isResumed, now: now)
    if isAside { stepAside(number) } else { engage(in: transfer, by: number) }
    door.enter(id)
    door.noteHost(remote.host)
    act(.converse(id))
    act(.say(id, .greeting(settings.greeting)))
    awaitReceipt(number)
    if let fault = transfers[of: transfer]?.fault { endSession(number, by: fault) }
  }

  // MARK: The conversation

  /// The session on a connection, while it is in conversation.
  private func talking(on id: ConnectionID) -> SessionNumber? {
    conversations.first { $0.value.connection == id && $0.value.isTalking }?.key
  }

  mutating func received(_ message: ControlMessage, on id: ConnectionID) {
    guard let number = talking(on: id) else { return }
    do throws(Violation) {
      guard let action = try conversations[number]?.machine.received(message) else { return }
      try perform(action, number, on: id)
    } catch {
      endSession(number, by: Fault(error))
    }
  }

  private mutating func perform(
    _ action: ReceiverSession.Action, _ number: SessionNumber, on id: ConnectionID
  ) throws(Violation) {
    switch action {
    case .nothing: break
    case .say(let message): act(.say(id, message))
    case .meet(let greeting): meet(greeting, number)
    case .judge(let offer): judge(offer, number)
    case .noteUnsent(let unsent):
      if let refused = unsent.refused, let transfer = conversations[number]?.transfer {
        transfers[of: transfer]?.withheldItems.append(refused)
      }
      tell(unsent.event)
    case .drop(let marks): try drop(marks, number)
    case .conclude(let finish): conclude(finish, number)
    case .finish: takeReceipt(number)
    case .stop(let close): lose(number, Fault(told: close))
    }
  }

  private mutating func meet(_ greeting: Greeting, _ number: SessionNumber) {
    guard let conversation = conversations[number] else { return }
    conversations[number]?.label = greeting.label
    conversations[number]?.features = greeting.features
    if !conversation.isResumed { tell(.paired(label: greeting.label, address: conversation.remote.host)) }
  }

  /// The transfer is done, and the user has stopped the run: the sender has a moment to send
  /// RECEIPT.
  mutating func awaitReceipt(_ number: SessionNumber) {
    guard stop != nil, let conversation = conversations[number],
      case .done = transfers[of: conversation.transfer]?.stage
    else { return }
    conversations[number]?.receiptUntil = conversation.receiptUntil ?? now + EndLimits.lastMessages
  }

  /// The sender has confirmed that the transfer is done.
  private mutating func takeReceipt(_ number: SessionNumber) {
    guard let transfer = conversations[number].flatMap({ transfers[of: $0.transfer] }),
      case .done(let done) = transfer.stage
    else { return }
    endSession(number, by: nil)
    transfers.forget(transfer.identifier, keeps: settings.keeps)
    if !settings.keeps { endRun(.success(transfer.result(done))) }
  }

  // MARK: The end

  mutating func broke(_ id: ConnectionID, _ fault: Fault) {
    if let number = talking(on: id) { lose(number, fault) }
  }

  /// The connection to the sender has ended. The streams have a moment to judge the data that had
  /// arrived on them, so that no sender hides a violation by ending the control connection.
  private mutating func lose(_ number: SessionNumber, _ fault: Fault) {
    guard fault.isTold || fault.isReconnectable, conversations[number]?.streams?.served.isEmpty == false else {
      endSession(number, by: fault)
      // An offer that was not accepted has nothing to lose: other senders may connect, even while
      // its workers wait for the disk.
      if fault.senderMayComeBack, conversations[number]?.streams == nil, phase.transfer.map(givesWay) == true {
        moveOn(from: number, fault)
      }
      return
    }
    conversations[number]?.life = .settling(until: now + Conversation.settling, fault)
  }

  /// A session sends its last message, and its workers end; its consequences wait for them.
  mutating func endSession(_ number: SessionNumber, by fault: Fault?) {
    guard let conversation = conversations[number], !conversation.isEnding else { return }
    conversations[number]?.life = .ending(fault)
    if let fault, !fault.isTold, let close = conversations[number]?.machine.close(fault.close) {
      act(.say(conversation.connection, close))
    }
    if conversation.streams != nil { act(.closeGate(number)) }
    for id in conversations[number]?.streams?.turnAway() ?? [] { leave(id) }
    for id in conversation.streams?.served ?? [] { act(.endStream(id)) }
    if workers.contains(.sync(number)) { act(.endSync(number)) }
    act(.close(conversation.connection, until: now + (stop == nil ? EndLimits.unhurried : EndLimits.lastMessages)))
  }

  /// Does the work of a session that is due.
  mutating func tendConversation(_ number: SessionNumber) {
    guard let conversation = conversations[number] else { return }
    switch conversation.life {
    case .talking: tendTalk(number, conversation)
    case .settling(let deadline, let fault):
      if now >= deadline || conversation.streams?.served.isEmpty != false { endSession(number, by: fault) }
    case .ending: break
    }
    tendFinish(number)
    // In the same step: a session without workers has ended.
    if case .ending(let fault) = conversations[number]?.life, !isWorking(number) { sessionEnded(number, fault) }
  }

  private mutating func tendTalk(_ number: SessionNumber, _ conversation: Conversation) {
    if let receiptUntil = conversation.receiptUntil, now >= receiptUntil { return endSession(number, by: nil) }
    if case .waiting(let offer) = conversation.course { examine(offer, number) }
    tendStreams(number)
    if conversation.machine.isReceiving, now >= conversation.nextProgress {
      conversations[number]?.nextProgress = now + Conversation.progressPause
      tellProgress(.receiving, of: conversation.transfer, fraction: nil)
    }
  }

  /// Whether a worker acts for a session, or is about to.
  private func isWorking(_ number: SessionNumber) -> Bool {
    workers.isBusy(number) || conversations[number]?.finish != nil
      || conversations[number]?.streams?.served.isEmpty == false
  }

  /// Nothing more is written for a session: only now the staged amount is certain.
  private mutating func sessionEnded(_ number: SessionNumber, _ fault: Fault?) {
    guard let conversation = conversations.removeValue(forKey: number),
      let transfer = transfers[of: conversation.transfer]
    else { return }
    if transfer.isReceiving, transfer.isStaged, transfer.keeping == .held { transfers.note(transfer.identifier) }
    moveOn(from: number, fault)
  }

  /// Decides how the run continues when one of its sessions has ended; if there is a newer session,
  /// that one decides.
  private mutating func moveOn(from number: SessionNumber, _ fault: Fault?) {
    guard phase.session == number, let transfer = phase.transfer.flatMap({ transfers[of: $0] }) else { return }
    switch transfer.stage {
    case .importing: phase = .engaged(transfer.identifier, nil)
    case .done(let done): expect(transfer.identifier, .success(transfer.result(done)), for: Self.linger)
    case .receiving, .concluded:
      guard let fault else { return }
      // A transfer that another process holds is taken back when its sender comes, at any time.
      guard fault.senderMayComeBack, settings.giveUpAfter > 0, transfer.keeping != .released else {
        return endTransfer(.failure(fault.failure))
      }
      tell(.interrupted(reason: fault.message))
      let failure = TransferFailure(
        .connectionLost, "the other device did not come back: \(fault.message)",
        hint: "The received data is kept. Start the same command on both devices again.")
      expect(transfer.identifier, .failure(failure), for: min(settings.giveUpAfter, 1e9))
    }
  }

  /// How many seconds a finished receiver waits for a sender that has not learned the result.
  static var linger: Double { 60 }

  /// The sender is away; it has `seconds` to come back.
  private mutating func expect(_ transfer: TransferID, _ outcome: ReceiverPhase.Outcome, for seconds: Double) {
    if stop != nil { return endRun(outcome) }
    // A code is made only where another sender may pair.
    codes.reopen()
    phase = .away(transfer, until: now + seconds, outcome)
  }

  /// An import has ended, and its transfer has no session.
  mutating func linger(after transfer: IncomingTransfer, _ done: Done) {
    if settings.keeps { return endTransfer(.success(transfer.result(done))) }
    expect(transfer.identifier, .success(transfer.result(done)), for: Self.linger)
  }
}

/// Offers: from their examination to the end of the ledger (Protocol §6.2 to §6.4).
extension ReceiverEngine {
  mutating func judge(_ offer: Offer, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer] else { return }
    if !conversation.isResumed, offer.transfer != nil { return endSession(number, by: .unknownTransfer) }
    switch transfer.stage {
    case .receiving, .concluded: conversations[number]?.course = .waiting(offer)
    case .importing: tell(.offer(offer, availableBytes: nil))
    case .done(let done):
      if !conversation.isAside { tell(.offer(offer, availableBytes: nil)) }
      answer(done, number)
    }
  }

  /// Examines an offer, once nothing is written for an older session any more.
  mutating func examine(_ offer: Offer, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer],
      transfer.keeping == .held,
      !conversations.contains(where: { $0.key != number && $0.value.transfer == transfer.identifier })
    else { return }
    if settings.keeps, case .concluded = transfer.stage { return transfers.takeAnew(transfer.identifier) }
    if let objection = transfer.objection(to: offer) {
      tell(.offer(offer, availableBytes: nil))
      return endSession(number, by: objection)
    }
    conversations[number]?.course = .examining(offer)
    act(.examine(number, transfer.identifier, offer, held: transfer.held))
  }

  mutating func examined(_ number: SessionNumber, _ result: Result<Examination, Fault>) {
    guard let conversation = conversations[number], conversation.isTalking,
      case .examining(let offer) = conversation.course, let transfer = transfers[of: conversation.transfer]
    else { return }
    switch result {
    case .success(let examination):
      tell(.offer(offer, availableBytes: examination.availableBytes))
      conversations[number]?.course = .asking(offer, room: examination)
      if transfer.isStaged || !settings.asksConsent { stage(number) }
    case .failure(let fault):
      tell(.offer(offer, availableBytes: nil))
      endSession(number, by: fault)
    }
  }

  /// The user wants the transfer.
  mutating func stage(_ number: SessionNumber) {
    guard let conversation = conversations[number], case .asking(let offer, _) = conversation.course,
      let transfer = transfers[of: conversation.transfer]
    else { return }
    // The exporter may not want compression.
    let features =
      offer.flags.contains(.compressible) ? settings.greeting.features.intersection(conversation.features) : []
    conversations[number]?.usable = features
    conversations[number]?.course = .staging(offer)
    act(
      .stage(
        number,
        StagingOrder(
          transfer: transfer.identifier, client: transfer.client, offer: offer, label: conversation.label,
          address: conversation.remote.address, features: features)))
  }

  mutating func staged(_ number: SessionNumber, _ result: Result<Admitted, Fault>) {
    guard let conversation = conversations[number], case .staging(let offer) = conversation.course else { return }
    switch result {
    case .success(let admitted):
      transfers[of: conversation.transfer]?.stage(offer, held: admitted.held)
      if conversation.isTalking { accept(offer, admitted, number) }
    case .failure(let fault): endSession(number, by: fault)
    }
  }

  private mutating func accept(_ offer: Offer, _ admitted: Admitted, _ number: SessionNumber) {
    guard let conversation = conversations[number] else { return }
    conversations[number]?.course = .telling(StreamTable(session: admitted.session))
    let accept = Accept(
      transfer: conversation.transfer, session: admitted.session, keys: admitted.keys, window: Limits.window,
      streams: Self.streams, features: conversation.usable,
      traits: offer.mayBeRefused ? admitted.traits : nil)
    if let message = conversations[number]?.machine.accept(accept) { act(.say(conversation.connection, message)) }
    act(.sync(number))
    act(.readLedger(number))
  }

  // MARK: The ledger

  mutating func ledger(_ number: SessionNumber, _ result: Result<LedgerPart, Fault>) {
    guard let conversation = conversations[number], conversation.isTalking else { return }
    conversations[number]?.dueSince = now
    switch result {
    case .success(let part): tell(part, number, conversation)
    case .failure(let fault): endSession(number, by: fault)
    }
  }

  private mutating func tell(_ part: LedgerPart, _ number: SessionNumber, _ conversation: Conversation) {
    for page in part.pages {
      if page.kind == .staged { conversations[number]?.droppable += page.marks.count }
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
    guard let streams = conversation.streams else { return }
    transfers[of: conversation.transfer]?.heldBefore = held
    if conversation.isResumed { tell(.resumed(heldBytes: held.bytes)) }
    conversations[number]?.course = .receiving(streams)
    conversations[number]?.nextProgress = now + Conversation.progressPause
    if let message = conversations[number]?.machine.reported(held) { act(.say(conversation.connection, message)) }
    if conversation.isResumed { tellRefusalsAgain(of: conversation.transfer) }
    sayRefusals(number)
  }

  // MARK: Items that the destination cannot hold

  mutating func refused(_ transfer: TransferID, _ refusals: [Refusal]) {
    transfers[of: transfer]?.refusals += refusals
    tellRefusals(of: transfer)
    if let number = phase.session { sayRefusals(number) }
  }

  /// Tells the user the refusals that were not told yet.
  private mutating func tellRefusals(of transfer: TransferID) {
    for refusal in transfers[of: transfer]?.newRefusals() ?? [] { tell(refusal.event) }
  }

  /// Tells the user all refusals again.
  private mutating func tellRefusalsAgain(of transfer: TransferID) {
    transfers[of: transfer]?.toldRefusals = 0
    tellRefusals(of: transfer)
  }

  /// Tells the sender the refusals that it was not told yet, including those of earlier sessions,
  /// once the ledger is sent.
  private mutating func sayRefusals(_ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.joinable != nil,
      let refusals = transfers[of: conversation.transfer]?.refusals
    else { return }
    conversations[number]?.toldRefusals = refusals.count
    for refusal in refusals[conversation.toldRefusals...] { say(refusal, number) }
  }

  private mutating func say(_ refusal: Refusal, _ number: SessionNumber) {
    guard let id = conversations[number]?.connection, let message = conversations[number]?.machine.refused(refusal)
    else { return }
    act(.say(id, message))
  }

  /// Names the items that are not stored, before a DONE that answers an offer.
  private mutating func nameAgain(_ number: SessionNumber, of transfer: TransferID) {
    guard let (named, isNews) = transfers[of: transfer]?.nameAgain() else { return }
    if isNews, conversations[number]?.isAside == false { for refusal in named { tell(refusal.event) } }
    for refusal in named { say(refusal, number) }
  }

  /// Tells the sender that the transfer is done: this answers its offer, or its FINISH.
  mutating func answer(_ done: Done, _ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking else { return }
    if conversation.machine.isJudging {
      nameAgain(number, of: conversation.transfer)
      guard let message = conversations[number]?.machine.answerAgain(done) else { return }
      act(.say(conversation.connection, message))
    } else if conversation.machine.isImporting {
      guard let message = conversations[number]?.machine.imported(done) else { return }
      act(.say(conversation.connection, message))
    }
  }
}
