import MigrationWire

/// Plans and their parts: from their judgement to the end of the ledger (Protocol §6.2 to §6.4).
extension ReceiverEngine {
  /// Judges a plan, once nothing is written for an older session any more.
  mutating func weigh(_ plan: Plan, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer],
      !conversations.contains(where: { $0.key != number && $0.value.transfer == transfer.identifier })
    else { return }
    if let other = conversation.meant(by: plan, insteadOf: transfer) { return turn(number, to: other, plan) }
    // A finished transfer that was released is answered from memory.
    guard transfer.keeping == .held || conversation.isAside else { return }
    if !conversation.isResumed, plan.transfer != nil { return endSession(number, by: .unknownTransfer) }
    if let objection = transfer.objection(to: plan) { return endSession(number, by: objection) }
    if plan.transfer == nil, transfer.isRecorded, !transfer.isAgreed(plan) {
      begin(plan, insteadOf: transfer.identifier, number)
      return
    }
    let open = transfer.open(of: plan)
    conversations[number]?.course = .weighing(plan)
    act(.weigh(number, transfer.identifier, plan, open, transfer.client))
  }

  /// A sender that has come back begins another plan: the earlier one, of which nothing has arrived,
  /// gives way.
  private mutating func begin(_ plan: Plan, insteadOf earlier: TransferID, _ number: SessionNumber) {
    guard let transfer = conversations[number]?.beginTransfer() else { return }
    transfers.replace(earlier, by: transfer)
    phase.serve(.engaged(transfer, number), atMost: settings.atOnce)
    weigh(plan, number)
  }

  /// A known device has begun as many transfers as it may.
  private static let tooManyTransfers = Failure(
    .declined, "the other device has \(transfersOfDevice) unfinished transfers here, and begins another",
    for: .tooManyTransfers)

  /// A known device has one key for all of its transfers: it begins another one, or continues
  /// another one than the newest.
  private mutating func turn(_ number: SessionNumber, to other: TransferID, _ plan: Plan) {
    guard let conversation = conversations[number], let current = transfers[of: conversation.transfer] else { return }
    if plan.transfer != nil {
      guard transfers[of: other]?.client == current.client else { return endSession(number, by: .unknownTransfer) }
    } else if transfers.count(where: { $0.client == current.client && !$0.isEmpty && !$0.isDone })
      >= Self.transfersOfDevice
    {
      return endSession(number, by: Self.tooManyTransfers)
    }
    guard mayTurn(number, from: current) else { return endSession(number, by: .elsewhere) }
    for (older, conversation) in conversations where conversation.transfer == other {
      endSession(older, by: .superseded)
    }
    conversations[number]?.turn(to: other)
    if settings.keeps, transfers[of: other]?.isDone == true {
      phase.leave { $0.session == number }
      stepAside(number)
    } else {
      if transfers[of: other] == nil { transfers.begin(other, from: current.client) }
      if settings.keeps { transfers[of: other]?.reopen() }
      engage(in: other, by: number)
    }
    if let fault = transfers[of: other]?.fault { return endSession(number, by: fault) }
    weigh(plan, number)
  }

  /// Whether another transfer of a session's sender may be served now.
  private func mayTurn(_ number: SessionNumber, from current: IncomingTransfer) -> Bool {
    if phase[number] != nil { return !current.isImporting }
    guard stop == nil, !door.isConfirming, case .serving(let places) = phase else { return false }
    return places.count < settings.atOnce || places.first { !$0.isEngaged }.map { givesWay($0.transfer) } ?? false
  }

  mutating func weighed(
    _ number: SessionNumber, _ result: Result<Weighing, Failure>, _ session: SessionID, _ consent: Consent
  ) {
    guard let conversation = conversations[number], conversation.isTalking,
      case .weighing(let plan) = conversation.course, let transfer = transfers[of: conversation.transfer]
    else { return }
    conversations[number]?.session = session
    switch result {
    case .failure(let fault): endSession(number, by: fault)
    case .success where conversation.isAside: say(plan, number)
    case .success(let weighing):
      if let relay = conversation.remote.relay, relay != toldRelay {
        tell(.relayed(through: relay, bytes: plan.estimate.bytes), of: transfer.identifier)
      }
      toldRelay = conversation.remote.relay
      tellPlan(plan, wanted(of: plan, weighing), transfer.identifier)
      if !weighing.isWanted, !transfer.isRecorded { return answer(plan, refusing: weighing, number) }
      conversations[number]?.course = .asking(plan, weighing, consent)
      let isAsked =
        settings.asksConsent
        && (!transfer.isAgreed(plan) || isOpen(weighing, of: plan, consent, allowing: permissions(of: transfer)))
      if !isAsked { record(number) }
    }
  }

  /// Tells the user what the sender offers.
  private mutating func tellPlan(_ plan: Plan, _ wanted: [WantedPart], _ transfer: TransferID) {
    guard plan.parts.count > 1 else {
      for wanted in wanted {
        tell(.offer(wanted.offer, availableBytes: wanted.room.availableBytes, of: wanted.part), of: transfer)
      }
      return
    }
    tell(.plan(plan.parts, availableBytes: wanted.compactMap(\.room.availableBytes).min()), of: transfer)
  }

  /// The parts that could be taken.
  func wanted(of plan: Plan, _ weighing: Weighing) -> [WantedPart] {
    weighing.keys.sorted().compactMap { number in
      let part = plan.parts[Int(number)]
      guard case .success(let room)? = weighing[number], let offer = Offer(estimated: part) else { return nil }
      return WantedPart(number, part, offer: offer, room: room)
    }
  }

  /// The user wants the transfer. `answer` has what a person takes of each part.
  mutating func record(
    _ number: SessionNumber, taking answer: [UInt16: ArrivalClasses]? = nil, _ removals: Removals = [:]
  ) {
    guard let conversation = conversations[number],
      case .asking(let plan, let weighing, var consent) = conversation.course,
      var transfer = transfers[of: conversation.transfer]
    else { return }
    if let answer {
      consent.note(
        weighing.compactMap { part, result in
          guard case .success(let room) = result, let arrival = room.arrival else { return nil }
          return (answer[part] ?? [], plan.parts[Int(part)], arrival)
        })
      transfer.isAnswered = true
      transfers[of: transfer.identifier]?.isAnswered = true
    }
    for (part, roots) in removals where plan.parts.indices.contains(Int(part)) {
      for (root, isAgain) in roots { consent.note(again: isAgain, root, of: plan.parts[Int(part)]) }
    }
    let (judged, taken) = apply(consent, to: weighing, of: plan, allowing: permissions(of: transfer))
    guard transfer.isRecorded || judged.isWanted else { return self.answer(plan, refusing: judged, number) }
    transfers[of: transfer.identifier]?.judge(plan, judged, taking: taken)
    conversations[number]?.course = .recording(plan)
    act(
      .record(
        number,
        PlanRecord(
          transfer: transfer.identifier, client: transfer.client, plan: plan, consent: consent,
          label: conversation.label, address: conversation.remote.address,
          keepsPairing: settings.keepsPairings && plan.flags.contains(.keepPairing),
          isOfDevice: conversation.isOfDevice)))
  }

  mutating func recorded(_ number: SessionNumber, _ fault: Failure?, _ isKept: Bool) {
    guard let conversation = conversations[number], case .recording(let plan) = conversation.course else { return }
    if fault == .forgotten { return forgotten(conversation.transfer) }
    if let fault { return endSession(number, by: fault) }
    conversations[number]?.keepsPairing = isKept
    transfers[of: conversation.transfer]?.isRecorded = true
    if conversation.isTalking { say(plan, number) }
  }

  /// The user does not want the transfer.
  mutating func decline(_ number: SessionNumber) {
    guard case .asking(let plan, let weighing, _)? = conversations[number]?.course else { return }
    answer(plan, refusing: weighing.mapValues { .failure($0.failure ?? .notTaken) }, number)
  }

  /// No part is taken: nothing is recorded.
  private mutating func answer(_ plan: Plan, refusing weighing: Weighing, _ number: SessionNumber) {
    guard let transfer = conversations[number]?.transfer else { return }
    transfers[of: transfer]?.judge(plan, weighing)
    say(plan, number)
  }

  private mutating func say(_ plan: Plan, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer] else { return }
    let parts: [Verdict.Part] = plan.parts.indices.map { index in
      switch transfer.results[UInt16(index)] {
      case nil:
        .taken(
          without: (transfer.unplaced[UInt16(index)] ?? []).map { .init(root: $0.root, code: $0.fault.close.code) })
      case .finished?: .finished
      case .failed(let fault)?: .refused(fault.close.shortened(to: Verdict.room / plan.parts.count))
      }
    }
    let verdict = Verdict(
      transfer: transfer.identifier, session: conversation.session, window: Limits.window, streams: Self.streams,
      parts: parts, flags: conversation.keepsPairing ? .keepPairing : [])
    guard let message = conversations[number]?.machine.judged(verdict) else { return }
    act(.say(conversation.connection, message))
    conversations[number]?.course = .none
    conversations[number]?.dueSince = now
    sayWays(number)
    for index in plan.parts.indices.map({ UInt16($0) }) {
      switch transfer.results[index] {
      case .failed(let fault)?: tellFailure(of: index, fault, transfer)
      case .finished(_, let result, _, _)?:
        guard result.concludedAt != nil else { continue }
        if plan.parts.count > 1 { tellEarlierNames(of: index, transfer.identifier) }
        tellEnd(of: index, result, transfer)
      case nil:
        let part = plan.parts[Int(index)]
        for unplaced in transfer.unplaced[index] ?? [] {
          let root = part.roots[Int(unplaced.root)].name
          tell(.partEnded(PartEnd(index, part.name, root: root, unplaced.fault)), of: transfer.identifier, part: index)
        }
      }
    }
    // The user has stopped the run meanwhile, and an earlier session's result no longer holds.
    if let stop, transfer.awaitsData { return stopped(stop.kind) }
    endPlan(number)
  }

  /// Tells the user what an earlier run has named of a part that it has finished, once.
  private mutating func tellEarlierNames(of part: UInt16, _ transfer: TransferID) {
    guard let (done, named, isNews) = transfers[of: transfer]?.answer(part), isNews else { return }
    for item in named { tell(.notStored(item), of: transfer, part: part) }
    for item in done.renamedItems { tell(item.event, of: transfer, part: part) }
  }

  /// Tells the user that one of several parts has failed.
  mutating func tellFailure(of part: UInt16, _ fault: Failure, _ transfer: IncomingTransfer) {
    if let name = transfer.name(ofPart: part) { tell(.partEnded(PartEnd(part, name, fault)), of: transfer.identifier) }
  }

  /// Tells the user that one of several parts has arrived.
  mutating func tellEnd(of part: UInt16, _ result: TransferResult, _ transfer: IncomingTransfer) {
    if let name = transfer.name(ofPart: part) { tell(.partEnded(PartEnd(part, name, result)), of: transfer.identifier) }
  }

  /// Takes an offer, once no import and no worker of the part before runs.
  mutating func take(_ totals: PartTotals, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer] else { return }
    if let (done, named, isNews) = transfers[of: transfer.identifier]?.answer(totals.part) {
      return answer(totals.part, done, naming: named, isNews, number)
    }
    conversations[number]?.course = .due(totals)
    guard !transfer.isImporting, !workers.isBusy(number), let contents = transfer.contents(ofPart: totals.part) else {
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
          held: transfers[of: transfer.identifier]?.part.held ?? Tally(), taken: transfer.taken[totals.part],
          isCompressible: settings.greeting.features.intersection(conversation.features).contains(.zstd))))
  }

  mutating func staged(_ number: SessionNumber, _ result: Result<Admitted, Failure>) {
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
    case .failure(let fault) where fault.code == .claimed: waitForClaims(number, by: fault)
    case .failure(let fault): failPart(number, by: fault)
    }
  }

  private mutating func accept(_ admitted: Admitted, _ number: SessionNumber) {
    guard let conversation = conversations[number] else { return }
    conversations[number]?.course = .telling
    conversations[number]?.namesAbsent = admitted.namesAbsent
    let accept = Accept(
      keys: admitted.keys, traits: admitted.traits, flags: admitted.namesAbsent ? .namesAbsent : [])
    if let message = conversations[number]?.machine.accept(accept) { act(.say(conversation.connection, message)) }
    act(.sync(number))
    act(.readLedger(number))
  }

  /// The running part fails here: the session continues with the next one, if the sender hears of
  /// it.
  mutating func failPart(_ number: SessionNumber, by fault: Failure) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.machine.mayFail else {
      return endSession(number, by: fault)
    }
    if let message = conversations[number]?.machine.fail(fault.close) { act(.say(conversation.connection, message)) }
    endPart(number, by: fault, isDataUnderWay: conversation.machine.isReceiving)
  }

  /// The running part has failed, at this end or the other.
  mutating func endPart(_ number: SessionNumber, by fault: Failure, isDataUnderWay: Bool = false) {
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
    if case .success(let result)? = transfers[of: transfer.identifier]?.outcome {
      tellDone(result, of: transfer.identifier)
    }
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
    guard settings.keeps, let place = phase[number] else { return }
    stepAside(number)
    endTransfer(place.transfer, outcome)
  }
}

extension ReceiverEngine.Weighing {
  /// Whether any part could be taken.
  fileprivate var isWanted: Bool { values.contains { $0.failure == nil } }
}
