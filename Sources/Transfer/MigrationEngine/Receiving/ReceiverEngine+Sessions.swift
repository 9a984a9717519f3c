import MigrationWire

/// Sessions: their beginnings, their ends, and the consequences (Protocol §7).
extension ReceiverEngine {
  // MARK: The beginning

  /// A newly paired sender's transfer begins.
  mutating func pair(_ id: ConnectionID, _ client: KeyFingerprint, _ transfer: TransferID) {
    leaveAway(for: transfer)
    transfers.begin(transfer, pairedWith: client, besides: served.union(reservationWaits.keys))
    converse(id, about: transfer, orElse: transfer, isResumed: false)
    // Another sender may pair at the same time.
    if isInviting { codes.reopen() }
  }

  /// A known device begins a transfer, without a code.
  mutating func welcomeDevice(_ id: ConnectionID, _ client: KeyFingerprint, _ transfer: TransferID) {
    leaveAway(for: transfer)
    transfers.begin(transfer, from: client)
    converse(id, about: transfer, orElse: transfer, isResumed: false)
  }

  /// A session begins and acts on the transfer from now on; an older one is fenced off.
  mutating func converse(
    _ id: ConnectionID, about transfer: TransferID, orElse spare: TransferID, isResumed: Bool
  ) {
    guard let visitor = connections[id] else { return }
    if let key = visitor.key { line.leave(key) }
    let remote = visitor.remote
    let isAside = settings.keeps && transfers[of: transfer]?.isDone == true && phase[transfer] == nil
    for older in asides where sessions[older]?.transfer == transfer { endSession(older, by: .superseded) }
    if let older = phase[transfer]?.session {
      endSession(older, by: .superseded)
    } else if !isAside, phase[transfer] == nil, phase.engaged >= settings.atOnce, let older = phase.sessions.first {
      endSession(older, by: .interrupted(by: .interrupted))
    }
    lastSession += 1
    let number = SessionNumber(lastSession)
    sessions[number] = ReceiverSession(
      transfer, orElse: spare, on: id, from: remote, isOfDevice: visitor.isOfDevice, isResumed: isResumed, now: now)
    if isAside {
      stepAside(number)
    } else {
      leaveAway(for: transfer)
      // It has reported how an earlier session ended.
      if settings.keeps { transfers[of: transfer]?.reopen() }
      engage(in: transfer, by: number)
    }
    connections.enter(id)
    connections.noteHost(remote.host)
    act(.converse(id))
    act(.say(id, .greeting(settings.greeting)))
    awaitReceipt(number)
    if let fault = transfers[of: transfer]?.fault { endSession(number, by: fault) }
  }

  // MARK: The conversation

  private func talking(on id: ConnectionID) -> SessionNumber? {
    sessions.first { $0.value.connection == id && $0.value.isTalking }?.key
  }

  mutating func received(_ message: ControlMessage, on id: ConnectionID) {
    guard let number = talking(on: id) else { return }
    let isSettling = sessions[number]?.conversation.isSettling == true
    do throws(Violation) {
      guard try sessions[number]?.conversation.received(message) == true else { return }
      try take(message, number, on: id, isSettling: isSettling)
    } catch {
      endSession(number, by: Failure(error))
    }
  }

  private mutating func take(
    _ message: ControlMessage, _ number: SessionNumber, on id: ConnectionID, isSettling: Bool
  ) throws(Violation) {
    switch message {
    case .ping(let token): act(.say(id, .pong(token)))
    case .greeting(let greeting): meet(greeting, number)
    case .plan(let plan): sessions[number]?.stage = .waiting(plan)
    case .offer(let totals): take(totals, number)
    case .notStored(let item):
      if let transfer = sessions[number]?.transfer { transfers[of: transfer]?.part.leftOutItems.note(item) }
      tell(.notStored(item), of: sessions[number]?.transfer)
    case .drop(let marks): try drop(marks, number)
    case .finish(let finish): conclude(finish, number)
    // It answers what this end has said.
    case .failed where isSettling: sessions[number]?.dueSince = now
    case .failed(let failed):
      act(.say(id, .failed(failed.answer)))
      endPart(number, by: Failure(told: failed.close))
    case .addresses(let addresses): reach(addresses, number)
    case .receipt: takeReceipt(number)
    case .close(let close): lose(number, Failure(told: close))
    case .verdict, .accept, .held, .partial, .heldEnd, .progress, .done, .pong: break
    }
  }

  /// Says a message in the conversation of a session.
  mutating func say(_ message: ControlMessage, _ number: SessionNumber) {
    guard let id = sessions[number]?.connection, let message = sessions[number]?.conversation.say(message) else {
      return
    }
    act(.say(id, message))
  }

  private mutating func meet(_ greeting: Greeting, _ number: SessionNumber) {
    guard let session = sessions[number] else { return }
    sessions[number]?.label = greeting.label
    sessions[number]?.features = greeting.features
    if !session.isResumed {
      tell(
        .paired(label: greeting.label, address: session.remote.host, isKnown: session.isOfDevice),
        of: session.transfer)
    }
  }

  /// Every part has its result, and the user has stopped the run: the sender has a moment to send
  /// RECEIPT.
  mutating func awaitReceipt(_ number: SessionNumber) {
    guard stop != nil, let session = sessions[number], transfers[of: session.transfer]?.outcome != nil
    else { return }
    sessions[number]?.receiptUntil = min(session.receiptUntil ?? .infinity, now + EndLimits.lastMessages)
  }

  /// The sender knows the result of each part.
  private mutating func takeReceipt(_ number: SessionNumber) {
    endSession(number, by: nil)
    guard let transfer = sessions[number].flatMap({ transfers[of: $0.transfer] }),
      // It has none if the sender has given up a part that is still imported.
      let outcome = transfer.outcome
    else { return }
    if transfer.isOver { transfers.forget(transfer.identifier, keeps: settings.keeps) }
    if !settings.keeps { endRun(outcome) }
  }

  // MARK: The end

  mutating func broke(_ id: ConnectionID, _ fault: Failure) {
    if let number = talking(on: id) { lose(number, fault) }
  }

  /// The connection to the sender has ended. The streams have a moment to judge the data that had
  /// arrived on them, so that no sender hides a violation by ending the control connection.
  private mutating func lose(_ number: SessionNumber, _ fault: Failure) {
    guard fault.isTold || fault.isReconnectable, sessions[number]?.streams?.served.isEmpty == false else {
      endSession(number, by: fault)
      // A plan without arrived data has nothing to lose: other senders may connect, even while its
      // workers wait for the disk.
      if fault.senderMayComeBack, sessions[number]?.streams == nil, let place = phase[number],
        givesWay(place.transfer)
      {
        moveOn(from: number, fault)
      }
      return
    }
    let end = min(now + ReceiverSession.settling, sessions[number]?.receiptUntil ?? .infinity)
    sessions[number]?.life = .settling(until: end, fault)
  }

  /// A session sends its last message, and its workers end; its consequences wait for them.
  mutating func endSession(_ number: SessionNumber, by fault: Failure?) {
    guard let session = sessions[number], !session.isEnding else { return }
    sessions[number]?.life = .ending(fault)
    if let fault, !fault.isTold { say(.close(fault.close), number) }
    if session.streams != nil { act(.closeGate(number)) }
    for id in sessions[number]?.streams?.turnAway() ?? [] { leave(id) }
    for id in session.streams?.served ?? [] { act(.endStream(id)) }
    if workers.contains(.sync(number)) { act(.endSync(number)) }
    if workers.contains(.dial(number)) { act(.endDial(number)) }
    act(.close(session.connection, until: now + (stop == nil ? EndLimits.unhurried : EndLimits.lastMessages)))
  }

  /// Does the work of a session that is due.
  mutating func tendSession(_ number: SessionNumber) {
    guard let session = sessions[number] else { return }
    switch session.life {
    case .talking: tendTalk(number, session)
    case .settling(let deadline, let fault):
      if now >= deadline || session.streams?.served.isEmpty != false { endSession(number, by: fault) }
    case .ending: break
    }
    tendFinish(number)
    // In the same step: a session without workers has ended.
    if case .ending(let fault) = sessions[number]?.life, !isWorking(number) { sessionEnded(number, fault) }
  }

  private mutating func tendTalk(_ number: SessionNumber, _ session: ReceiverSession) {
    if let receiptUntil = session.receiptUntil, now >= receiptUntil { return endSession(number, by: nil) }
    switch session.stage {
    case .waiting(let plan): judgePlan(plan, number)
    case .due(let totals): take(totals, number)
    case .none, .judgingPlan, .asking, .recording, .staging: break
    }
    tendStreams(number)
    if session.conversation.isStreaming, now >= session.nextProgress {
      sessions[number]?.nextProgress = now + ReceiverSession.progressPause
      tellProgress(.receiving, of: session.transfer, fraction: nil)
    }
  }

  /// Whether a worker acts for a session, or is about to.
  private func isWorking(_ number: SessionNumber) -> Bool {
    workers.isBusy(number) || sessions[number]?.finish != nil
      || sessions[number]?.streams?.served.isEmpty == false
  }

  /// Nothing more is written for a session: only now the staged amount is certain.
  private mutating func sessionEnded(_ number: SessionNumber, _ fault: Failure?) {
    guard let session = sessions.removeValue(forKey: number),
      let transfer = transfers[of: session.transfer]
    else { return }
    if transfer.isReceiving, transfer.isRecorded, transfer.holding == .held { transfers.note(transfer.identifier) }
    if session.isOfDevice, fault == .unknownTransfer, transfer.isEmpty, awaitAnew(number, transfer) { return }
    moveOn(from: number, fault)
  }

  /// A known device wanted to continue a transfer that this device's user has given up: it comes back, and
  /// begins anew. Returns whether this run waits for that.
  private mutating func awaitAnew(_ number: SessionNumber, _ transfer: IncomingTransfer) -> Bool {
    guard !settings.keeps, settings.giveUpAfter > 0, phase[number] != nil else { return false }
    tell(.notice("the earlier transfer is not here any more; the other device sends everything again"))
    let failure = Failure(
      .connection, "the other device did not come back", hint: DataHint.runAgain.text)
    expect(transfer.identifier, .failure(failure), for: awayTime)
    return true
  }

  /// Decides how the run continues when one of its sessions has ended; if there is a newer session,
  /// that one decides.
  private mutating func moveOn(from number: SessionNumber, _ fault: Failure?) {
    guard let transfer = phase[number].flatMap({ transfers[of: $0.transfer] }) else { return }
    if transfer.isImporting {
      return phase.serve(.engaged(transfer.identifier, nil), atMost: settings.atOnce)
    }
    switch transfer.outcome {
    // A transfer that no session of this run may continue ends it, so that its user starts it again.
    case .success(let result)? where transfer.fault != nil: endTransfer(transfer.identifier, .success(result))
    case .success(let result)?: expect(transfer.identifier, .success(result), for: EndLimits.receipt)
    case .failure(let failure)?: endTransfer(transfer.identifier, .failure(failure))
    case nil:
      // Only a run that is stopped ends a session early without a fault.
      let fault = fault ?? .interrupted(by: stop?.kind ?? .interrupted)
      // A transfer that another process holds is taken back when its sender comes, at any time.
      guard fault.senderMayComeBack, settings.giveUpAfter > 0, transfer.holding != .released else {
        return endTransfer(transfer.identifier, .failure(fault))
      }
      tell(.interrupted(reason: fault.message), of: transfer.identifier)
      let failure = Failure(
        .connection, "the other device did not come back: \(fault.message)",
        hint: DataHint.runAgainKept.text)
      expect(transfer.identifier, .failure(failure), for: awayTime)
    }
  }

  /// How many seconds a sender may be away.
  var awayTime: Double { min(settings.giveUpAfter, 1e9) }

  /// The sender is away; it has `seconds` to come back.
  private mutating func expect(_ transfer: TransferID, _ outcome: TransferOutcome, for seconds: Double) {
    if stop != nil { return leave(transfer, outcome) }
    // A code is made only where another sender may pair.
    if !connections.isConfirming { codes.reopen() }
    phase.serve(.away(transfer, until: now + seconds, outcome), atMost: settings.atOnce)
  }

  /// An import of a part has ended, and its transfer has no session.
  mutating func linger(after transfer: TransferID) {
    guard let outcome = transfers[of: transfer]?.outcome else { return waitForOthers(of: transfer) }
    guard case .success = outcome, !settings.keeps else { return endTransfer(transfer, outcome) }
    expect(transfer, outcome, for: EndLimits.receipt)
  }

  /// Other parts are missing.
  private mutating func waitForOthers(of transfer: TransferID) {
    if let stop { return leave(transfer, .failure(.interrupted(by: stop.kind))) }
    // It has not begun in this run: its sender may come at any time.
    if settings.keeps, transfers[of: transfer]?.isMet != true {
      phase.leave { $0.transfer == transfer }
      return goOnWithConcluded()
    }
    let failure = Failure(
      .connection, "the other device did not come back",
      hint: DataHint.runAgainKept.text)
    guard settings.giveUpAfter > 0 else { return endTransfer(transfer, .failure(failure)) }
    expect(transfer, .failure(failure), for: awayTime)
  }
}

/// Streams past the relay of a session (Protocol §6.9).
extension ReceiverEngine {
  /// Tells the sender this device's addresses, if the session leads through a relay.
  mutating func sayAddresses(_ number: SessionNumber) {
    guard let session = sessions[number], let own = own(of: session) else { return }
    act(.say(session.connection, .addresses(own.addresses)))
  }

  /// This device's addresses for the sender; nil if the sender cannot use them.
  private func own(of session: ReceiverSession) -> OwnAddresses? {
    let isUnderstood = settings.greeting.features.intersection(session.features).contains(.addresses)
    return isUnderstood && !session.isAside ? session.remote.own : nil
  }

  /// The sender has told its addresses: both ends dial now.
  mutating func reach(_ addresses: Addresses, _ number: SessionNumber) {
    guard let session = sessions[number], session.isTalking, session.streams != nil,
      !workers.contains(.dial(number)), let own = own(of: session),
      let client = transfers[of: session.transfer]?.client
    else { return }
    var budget = addressBudgets[client] ?? AddressBudget()
    let round = sessions[number]?.rounds.join(addresses, within: &budget, now: now)
    addressBudgets = addressBudgets.filter { !$0.value.isWhole(now: now) }
    addressBudgets[client] = budget
    guard let round else { return }
    act(.dial(number, round, from: own.port))
  }

  /// A stream is served: tells the user if it is the first that does not pass the relay, or the
  /// first that does again.
  mutating func noteDataConnection(of id: ConnectionID, _ number: SessionNumber) {
    guard let session = sessions[number], let relay = session.remote.relay,
      let remote = connections[id]?.remote
    else { return }
    let isDirect = remote.relay == nil
    if isDirect { sessions[number]?.direct.insert(id) }
    guard isDirect != session.isDirectTold, isDirect || session.direct.isEmpty else { return }
    sessions[number]?.isDirectTold = isDirect
    tell(.dataConnection(isDirect ? .direct(isIPv6: remote.isIPv6) : .relay(relay)), of: session.transfer)
  }
}
