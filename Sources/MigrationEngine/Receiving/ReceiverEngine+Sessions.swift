import MigrationWire

/// Sessions: their beginnings, their ends, and the consequences (Protocol §7).
extension ReceiverEngine {
  // MARK: The beginning

  /// A newly paired sender's transfer begins.
  mutating func pair(_ id: ConnectionID, _ client: KeyFingerprint, _ transfer: TransferID) {
    transfers.begin(transfer, pairedWith: client)
    converse(id, about: transfer, orElse: transfer, isResumed: false)
  }

  /// A session begins and acts on the transfer from now on; an older one is fenced off.
  mutating func converse(
    _ id: ConnectionID, about transfer: TransferID, orElse spare: TransferID, isResumed: Bool
  ) {
    guard let remote = door[id]?.remote else { return }
    let isAside = settings.keeps && transfers[of: transfer]?.isDone == true && phase.transfer != transfer
    for older in asides where conversations[older]?.transfer == transfer { endSession(older, by: .superseded) }
    if !isAside, let older = phase.session {
      let isSame = conversations[older]?.transfer == transfer
      endSession(older, by: isSame ? .superseded : .interrupted(.receiver, by: .interrupted))
    }
    lastSession += 1
    let number = SessionNumber(lastSession)
    conversations[number] = Conversation(
      transfer, orElse: spare, on: id, from: remote, isResumed: isResumed, now: now)
    if isAside {
      stepAside(number)
    } else {
      // It has reported how an earlier session ended.
      if settings.keeps { transfers[of: transfer]?.reopen() }
      engage(in: transfer, by: number)
    }
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
    case .weigh(let plan): conversations[number]?.course = .waiting(plan)
    case .judge(let totals): take(totals, number)
    case .noteUnsent(let unsent):
      if let refused = unsent.refused, let transfer = conversations[number]?.transfer {
        transfers[of: transfer]?.part.withheldItems.append(refused)
      }
      tell(unsent.event)
    case .drop(let marks): try drop(marks, number)
    case .conclude(let finish): conclude(finish, number)
    case .giveUp(let close, let answer):
      act(.say(id, answer))
      endPart(number, by: Fault(told: close))
    case .settled: conversations[number]?.dueSince = now
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

  /// Every part has its result, and the user has stopped the run: the sender has a moment to send
  /// RECEIPT.
  mutating func awaitReceipt(_ number: SessionNumber) {
    guard stop != nil, let conversation = conversations[number], transfers[of: conversation.transfer]?.outcome != nil
    else { return }
    conversations[number]?.receiptUntil = min(conversation.receiptUntil ?? .infinity, now + EndLimits.lastMessages)
  }

  /// The sender knows the result of each part.
  private mutating func takeReceipt(_ number: SessionNumber) {
    endSession(number, by: nil)
    guard let transfer = conversations[number].flatMap({ transfers[of: $0.transfer] }),
      // It has none if the sender has given up a part that is still imported.
      let outcome = transfer.outcome
    else { return }
    if transfer.isOver { transfers.forget(transfer.identifier, keeps: settings.keeps) }
    if !settings.keeps { endRun(outcome) }
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
      // A plan of which nothing has arrived has nothing to lose: other senders may connect, even while
      // its workers wait for the disk.
      if fault.senderMayComeBack, conversations[number]?.streams == nil, phase.transfer.map(givesWay) == true {
        moveOn(from: number, fault)
      }
      return
    }
    let end = min(now + Conversation.settling, conversations[number]?.receiptUntil ?? .infinity)
    conversations[number]?.life = .settling(until: end, fault)
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
    switch conversation.course {
    case .waiting(let plan): weigh(plan, number)
    case .due(let totals): take(totals, number)
    case .none, .weighing, .asking, .recording, .staging, .telling, .receiving: break
    }
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
    if transfer.isReceiving, transfer.isRecorded, transfer.keeping == .held { transfers.note(transfer.identifier) }
    moveOn(from: number, fault)
  }

  /// Decides how the run continues when one of its sessions has ended; if there is a newer session,
  /// that one decides.
  private mutating func moveOn(from number: SessionNumber, _ fault: Fault?) {
    guard phase.session == number, let transfer = phase.transfer.flatMap({ transfers[of: $0] }) else { return }
    if transfer.isImporting {
      phase = .engaged(transfer.identifier, nil)
      return
    }
    switch transfer.outcome {
    case .success(let result)?: expect(transfer.identifier, .success(result), for: Self.linger)
    case .failure(let failure)?: endTransfer(.failure(failure))
    case nil:
      // Only a run that is stopped ends a session early without a fault.
      let fault = fault ?? .interrupted(.receiver, by: stop?.kind ?? .interrupted)
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

  /// An import of a part has ended, and its transfer has no session.
  mutating func linger(after transfer: TransferID) {
    guard let outcome = transfers[of: transfer]?.outcome else { return waitForOthers(of: transfer) }
    guard case .success = outcome, !settings.keeps else { return endTransfer(outcome) }
    expect(transfer, outcome, for: Self.linger)
  }

  /// Other parts are missing.
  private mutating func waitForOthers(of transfer: TransferID) {
    if let stop { return endRun(.failure(TransferFailure(stop.kind, "interrupted"))) }
    // It has not begun in this run: its sender may come at any time.
    if settings.keeps, transfers[of: transfer]?.isMet != true {
      phase = .open
      return goOnWithConcluded()
    }
    let failure = TransferFailure(
      .connectionLost, "the other device did not come back",
      hint: "The received data is kept. Start the same command on both devices again.")
    guard settings.giveUpAfter > 0 else { return endTransfer(.failure(failure)) }
    expect(transfer, .failure(failure), for: min(settings.giveUpAfter, 1e9))
  }
}

/// Plans and their parts: from their judgement to the end of the ledger (Protocol §6.2 to §6.4).
extension ReceiverEngine {
  /// Judges a plan, once nothing is written for an older session any more.
  private mutating func weigh(_ plan: Plan, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer],
      // A finished transfer that was released is answered from memory.
      transfer.keeping == .held || conversation.isAside,
      !conversations.contains(where: { $0.key != number && $0.value.transfer == transfer.identifier })
    else { return }
    if !conversation.isResumed, plan.transfer != nil { return endSession(number, by: .unknownTransfer) }
    if let objection = transfer.objection(to: plan) { return endSession(number, by: objection) }
    if plan.transfer == nil, transfer.isRecorded, !transfer.isAgreed(plan) {
      begin(plan, insteadOf: transfer.identifier, number)
      return
    }
    let open = transfer.open(of: plan)
    conversations[number]?.course = .weighing(plan)
    act(.weigh(number, transfer.identifier, plan, open))
  }

  /// A sender that has come back begins another plan: the earlier one, of which nothing has arrived,
  /// gives way.
  private mutating func begin(_ plan: Plan, insteadOf earlier: TransferID, _ number: SessionNumber) {
    guard let transfer = conversations[number]?.beginTransfer() else { return }
    transfers.replace(earlier, by: transfer)
    phase = .engaged(transfer, number)
    weigh(plan, number)
  }

  mutating func weighed(_ number: SessionNumber, _ result: Result<Weighing, Fault>, _ session: SessionID) {
    guard let conversation = conversations[number], conversation.isTalking,
      case .weighing(let plan) = conversation.course, let transfer = transfers[of: conversation.transfer]
    else { return }
    conversations[number]?.session = session
    switch result {
    case .failure(let fault): endSession(number, by: fault)
    case .success where conversation.isAside: say(plan, number)
    case .success(let weighing):
      for part in wanted(of: plan, weighing) {
        tell(.offer(part.offer, availableBytes: part.room.availableBytes))
      }
      let isWanted = weighing.values.contains { if case .success = $0 { true } else { false } }
      if !isWanted, !transfer.isRecorded { return answer(plan, refusing: weighing, number) }
      conversations[number]?.course = .asking(plan, weighing)
      if transfer.isAgreed(plan) || !settings.asksConsent { record(number) }
    }
  }

  /// The parts that could be taken.
  func wanted(of plan: Plan, _ weighing: Weighing) -> [WantedPart] {
    weighing.keys.sorted().compactMap { number in
      let part = plan.parts[Int(number)]
      guard case .success(let room)? = weighing[number], let offer = Offer(estimated: part) else { return nil }
      return WantedPart(name: part.name, offer: offer, room: room)
    }
  }

  /// The user wants the transfer.
  mutating func record(_ number: SessionNumber) {
    guard let conversation = conversations[number], case .asking(let plan, let weighing) = conversation.course,
      let transfer = transfers[of: conversation.transfer]
    else { return }
    transfers[of: transfer.identifier]?.judge(plan, refused: weighing.compactMapValues(\.fault))
    conversations[number]?.course = .recording(plan)
    act(
      .record(
        number,
        PlanRecord(
          transfer: transfer.identifier, client: transfer.client, plan: plan, label: conversation.label,
          address: conversation.remote.address)))
  }

  mutating func recorded(_ number: SessionNumber, _ fault: Fault?) {
    guard let conversation = conversations[number], case .recording(let plan) = conversation.course else { return }
    if let fault { return endSession(number, by: fault) }
    transfers[of: conversation.transfer]?.isRecorded = true
    if conversation.isTalking { say(plan, number) }
  }

  /// The user does not want the transfer.
  mutating func decline(_ number: SessionNumber) {
    guard case .asking(let plan, let weighing)? = conversations[number]?.course else { return }
    answer(plan, refusing: weighing.mapValues { .failure($0.fault ?? .declined) }, number)
  }

  /// No part is taken: nothing is recorded.
  private mutating func answer(_ plan: Plan, refusing weighing: Weighing, _ number: SessionNumber) {
    guard let transfer = conversations[number]?.transfer else { return }
    transfers[of: transfer]?.judge(plan, refused: weighing.compactMapValues(\.fault))
    say(plan, number)
  }

  /// Says the verdict.
  private mutating func say(_ plan: Plan, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer] else { return }
    let parts: [Verdict.Part] = plan.parts.indices.map { index in
      switch transfer.results[UInt16(index)] {
      case nil: .taken()
      case .finished?: .finished
      case .failed(let fault)?: .refused(fault.close.shortened(to: Verdict.room / plan.parts.count))
      }
    }
    let verdict = Verdict(
      transfer: transfer.identifier, session: conversation.session, window: Limits.window, streams: Self.streams,
      parts: parts)
    guard let message = conversations[number]?.machine.judged(verdict) else { return }
    act(.say(conversation.connection, message))
    conversations[number]?.course = .none
    conversations[number]?.dueSince = now
    for (index, part) in transfer.results.sorted(by: { $0.key < $1.key }) {
      if case .failed(let fault) = part { tellFailure(of: index, fault, transfer) }
    }
    // The user has stopped the run meanwhile, and an earlier session's result no longer holds.
    if let stop, transfer.awaitsData { return stopped(stop.kind) }
    endPlan(number)
  }

  /// Tells the user that one of several parts has failed.
  mutating func tellFailure(of part: UInt16, _ fault: Fault, _ transfer: IncomingTransfer) {
    if let name = transfer.name(ofPart: part) { tell(.partFailed(name: name, fault.failure)) }
  }

  /// Takes an offer, once no import and no worker of the part before runs.
  private mutating func take(_ totals: PartTotals, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer],
      let plan = transfer.plan
    else { return }
    if let (done, named, isNews) = transfers[of: transfer.identifier]?.answer(totals.part) {
      return answer(done, naming: named, isNews, number)
    }
    conversations[number]?.course = .due(totals)
    guard !transfer.isImporting, !workers.isBusy(number), let contents = plan.parts[Int(totals.part)].offered else {
      return
    }
    conversations[number]?.beginPart()
    transfers[of: transfer.identifier]?.begin(totals.part)
    conversations[number]?.course = .staging(totals)
    act(
      .stage(
        number,
        StagingOrder(
          transfer: transfer.identifier, part: totals.part, offer: Offer(contents, totals),
          held: transfers[of: transfer.identifier]?.part.held ?? Tally(),
          isCompressible: settings.greeting.features.intersection(conversation.features).contains(.zstd))))
  }

  mutating func staged(_ number: SessionNumber, _ result: Result<Admitted, Fault>) {
    guard let conversation = conversations[number], case .staging(let totals) = conversation.course else { return }
    switch result {
    case .success(let admitted):
      transfers[of: conversation.transfer]?.part.stage(totals, admitted)
      if let total = admitted.concluded {
        // An import that had failed is tried again.
        conversations[number]?.course = .due(totals)
        continueImport(of: conversation.transfer, total)
      } else if conversation.isTalking {
        accept(admitted, number)
      }
    case .failure(let fault): failPart(number, by: fault)
    }
  }

  private mutating func accept(_ admitted: Admitted, _ number: SessionNumber) {
    guard let conversation = conversations[number] else { return }
    conversations[number]?.course = .telling
    let accept = Accept(keys: admitted.keys, traits: admitted.traits)
    if let message = conversations[number]?.machine.accept(accept) { act(.say(conversation.connection, message)) }
    act(.sync(number))
    act(.readLedger(number))
  }

  /// The running part fails here: the session continues with the next one, if the sender hears of
  /// it.
  mutating func failPart(_ number: SessionNumber, by fault: Fault) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.machine.mayFail else {
      return endSession(number, by: fault)
    }
    if let message = conversations[number]?.machine.fail(fault.close) { act(.say(conversation.connection, message)) }
    endPart(number, by: fault, isDataUnderWay: conversation.machine.isReceiving)
  }

  /// The running part has failed, at this end or the other.
  private mutating func endPart(_ number: SessionNumber, by fault: Fault, isDataUnderWay: Bool = false) {
    guard let conversation = conversations[number] else { return }
    // Its import was about to begin.
    if conversation.finish != nil { transfers[of: conversation.transfer]?.part.stage = .receiving }
    guard let transfer = transfers[of: conversation.transfer] else { return }
    conversations[number]?.course = .none
    conversations[number]?.dueSince = now
    conversations[number]?.beginPart()
    act(.discardData(number))
    if workers.contains(.sync(number)) { act(.endSync(number)) }
    // An import that has begun decides by itself.
    if transfer.isImporting { return }
    if transfer.isReceiving { transfers.note(transfer.identifier) }
    transfers[of: transfer.identifier]?.fail(by: fault)
    tellFailure(of: transfer.part.number, fault, transfer)
    if case .success(let result)? = transfers[of: transfer.identifier]?.outcome { tellDone(result) }
    endPlan(number, isDataUnderWay: isDataUnderWay)
  }

  /// Every part has its result: only the sender's RECEIPT is missing, for a limited time, and the
  /// data that was under way before it.
  mutating func endPlan(_ number: SessionNumber, isDataUnderWay: Bool = false) {
    guard let conversation = conversations[number], let outcome = transfers[of: conversation.transfer]?.outcome
    else { return }
    if case .failure = outcome {
      let seconds = isDataUnderWay ? Self.linger : EndLimits.unhurried
      conversations[number]?.receiptUntil = min(conversation.receiptUntil ?? .infinity, now + seconds)
    }
    awaitReceipt(number)
    guard settings.keeps, phase.session == number else { return }
    stepAside(number)
    endTransfer(outcome)
  }

  // MARK: The ledger

  mutating func ledger(_ number: SessionNumber, _ result: Result<LedgerPart, Fault>) {
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
    transfers[of: conversation.transfer]?.part.heldBefore = held
    if conversation.isResumed, conversation.streams == nil { tell(.resumed(heldBytes: held.bytes)) }
    conversations[number]?.course = .receiving
    conversations[number]?.streams = conversation.streams ?? StreamTable(session: conversation.session)
    act(.openGate(number))
    conversations[number]?.nextProgress = now + Conversation.progressPause
    if let message = conversations[number]?.machine.reported(held) { act(.say(conversation.connection, message)) }
    if conversation.isResumed { tellRefusalsAgain(of: conversation.transfer) }
    sayRefusals(number)
  }

  // MARK: Items that the destination cannot hold

  mutating func refused(_ transfer: TransferID, _ refusals: [Refusal]) {
    transfers[of: transfer]?.part.refusals += refusals
    tellRefusals(of: transfer)
    if let number = phase.session { sayRefusals(number) }
  }

  /// Tells the user the refusals that were not told yet.
  private mutating func tellRefusals(of transfer: TransferID) {
    for refusal in transfers[of: transfer]?.part.newRefusals() ?? [] { tell(refusal.event) }
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

  private mutating func say(_ refusal: Refusal, _ number: SessionNumber) {
    guard let id = conversations[number]?.connection, let message = conversations[number]?.machine.refused(refusal)
    else { return }
    act(.say(id, message))
  }

  /// Tells the sender that a part is finished, which it has offered: before that, the items that
  /// are not stored.
  private mutating func answer(_ done: Done, naming named: [Refusal], _ isNews: Bool, _ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.machine.isJudging else {
      return
    }
    conversations[number]?.course = .none
    conversations[number]?.dueSince = now
    if isNews, !conversation.isAside { for refusal in named { tell(refusal.event) } }
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

extension Result where Failure == Fault {
  fileprivate var fault: Fault? { if case .failure(let fault) = self { fault } else { nil } }
}
