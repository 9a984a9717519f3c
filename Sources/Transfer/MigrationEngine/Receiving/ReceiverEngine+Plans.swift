import MigrationWire

/// Plans: how one is judged, kept, answered and over (Protocol §6.2).
extension ReceiverEngine {
  /// Judges a plan, once nothing is written for an older session any more.
  mutating func judgePlan(_ plan: Plan, _ number: SessionNumber) {
    guard let session = sessions[number], let transfer = transfers[of: session.transfer],
      !sessions.contains(where: { $0.key != number && $0.value.transfer == transfer.identifier })
    else { return }
    if let other = session.meant(by: plan, insteadOf: transfer) { return turn(number, to: other, plan) }
    // A finished transfer that was released is answered from memory.
    guard transfer.holding == .held || session.isAside else { return }
    if !session.isResumed, plan.transfer != nil { return endSession(number, by: .unknownTransfer) }
    if let objection = transfer.objection(to: plan) { return endSession(number, by: objection) }
    if plan.transfer == nil, transfer.isRecorded, !transfer.isAgreed(plan) {
      begin(plan, insteadOf: transfer.identifier, number)
      return
    }
    let open = transfer.open(of: plan)
    sessions[number]?.stage = .judgingPlan(plan)
    act(.judgePlan(number, transfer.identifier, plan, open, transfer.client))
  }

  /// A sender that has come back begins another plan. The earlier plan is dropped: nothing of it
  /// has arrived.
  private mutating func begin(_ plan: Plan, insteadOf earlier: TransferID, _ number: SessionNumber) {
    guard let transfer = sessions[number]?.beginTransfer() else { return }
    transfers.replace(earlier, by: transfer)
    phase.serve(.engaged(transfer, number), atMost: settings.atOnce)
    judgePlan(plan, number)
  }

  /// A known device has begun as many transfers as it may.
  private static let tooManyTransfers = Failure(
    .declined, "the other device has \(transfersOfDevice) unfinished transfers here, and begins another",
    for: .tooManyTransfers)

  /// A known device has one key for all of its transfers: it begins another one, or continues
  /// another one than the newest.
  private mutating func turn(_ number: SessionNumber, to other: TransferID, _ plan: Plan) {
    guard let session = sessions[number], let current = transfers[of: session.transfer] else { return }
    if plan.transfer != nil {
      guard transfers[of: other]?.client == current.client else { return endSession(number, by: .unknownTransfer) }
    } else if transfers.count(where: { $0.client == current.client && !$0.isEmpty && !$0.isDone })
      >= Self.transfersOfDevice
    {
      return endSession(number, by: Self.tooManyTransfers)
    }
    guard mayTurn(number, from: current) else { return endSession(number, by: .elsewhere) }
    for (older, session) in sessions where session.transfer == other {
      endSession(older, by: .superseded)
    }
    sessions[number]?.turn(to: other)
    if settings.keeps, transfers[of: other]?.isDone == true {
      phase.leave { $0.session == number }
      stepAside(number)
    } else {
      if transfers[of: other] == nil { transfers.begin(other, from: current.client) }
      if settings.keeps { transfers[of: other]?.reopen() }
      engage(in: other, by: number)
    }
    if let fault = transfers[of: other]?.fault { return endSession(number, by: fault) }
    judgePlan(plan, number)
  }

  /// Whether another transfer of a session's sender may be served now.
  private func mayTurn(_ number: SessionNumber, from current: IncomingTransfer) -> Bool {
    if phase[number] != nil { return !current.isImporting }
    guard stop == nil, !connections.isConfirming, case .serving(let served) = phase else { return false }
    return served.count < settings.atOnce || served.first { !$0.isEngaged }.map { givesWay($0.transfer) } ?? false
  }

  mutating func planJudged(
    _ number: SessionNumber, _ result: Result<PlanJudgement, Failure>, _ identifier: SessionID, _ consent: Consent
  ) {
    guard let session = sessions[number], session.isTalking,
      case .judgingPlan(let plan) = session.stage, let transfer = transfers[of: session.transfer]
    else { return }
    sessions[number]?.identifier = identifier
    switch result {
    case .failure(let fault): endSession(number, by: fault)
    case .success where session.isAside: say(plan, number)
    case .success(let judgement):
      if let relay = session.remote.relay, relay != toldRelay {
        tell(.relayed(through: relay, bytes: plan.estimate.bytes), of: transfer.identifier)
      }
      toldRelay = session.remote.relay
      tellPlan(plan, wanted(of: plan, judgement), transfer.identifier)
      if !judgement.isWanted, !transfer.isRecorded { return answer(plan, refusing: judgement, number) }
      sessions[number]?.stage = .asking(plan, judgement, consent)
      let isAsked =
        settings.asksConsent
        && (!transfer.isAgreed(plan) || isOpen(judgement, of: plan, consent, allowing: permissions(of: transfer)))
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
  func wanted(of plan: Plan, _ judgement: PlanJudgement) -> [WantedPart] {
    judgement.keys.sorted().compactMap { number in
      let part = plan.parts[Int(number)]
      guard case .success(let room)? = judgement[number], let offer = Offer(estimated: part) else { return nil }
      return WantedPart(number: number, part: part, offer: offer, room: room)
    }
  }

  /// The user wants the transfer. `answer` has what a person takes of each part.
  mutating func record(
    _ number: SessionNumber, taking answer: [UInt16: ArrivalClasses]? = nil, _ removals: Removals = [:]
  ) {
    guard let session = sessions[number],
      case .asking(let plan, let judgement, var consent) = session.stage,
      var transfer = transfers[of: session.transfer]
    else { return }
    if let answer {
      consent.note(
        judgement.compactMap { part, result in
          guard case .success(let room) = result, let arrival = room.arrival else { return nil }
          return (answer[part] ?? [], plan.parts[Int(part)], arrival)
        })
      transfer.isAnswered = true
      transfers[of: transfer.identifier]?.isAnswered = true
    }
    for (part, roots) in removals where plan.parts.indices.contains(Int(part)) {
      for (root, isAgain) in roots { consent.note(again: isAgain, root, of: plan.parts[Int(part)]) }
    }
    let (judged, taken) = apply(consent, to: judgement, of: plan, allowing: permissions(of: transfer))
    guard transfer.isRecorded || judged.isWanted else { return self.answer(plan, refusing: judged, number) }
    transfers[of: transfer.identifier]?.judge(plan, judged, taking: taken)
    sessions[number]?.stage = .recording(plan)
    act(
      .record(
        number,
        PlanRecord(
          transfer: transfer.identifier, client: transfer.client, plan: plan, consent: consent,
          label: session.label, address: session.remote.address,
          keepsPairing: settings.keepsPairings && plan.flags.contains(.keepPairing),
          isOfDevice: session.isOfDevice)))
  }

  mutating func recorded(_ number: SessionNumber, _ fault: Failure?, _ isKept: Bool) {
    guard let session = sessions[number], case .recording(let plan) = session.stage else { return }
    if fault == .forgotten { return forgotten(session.transfer) }
    if let fault { return endSession(number, by: fault) }
    sessions[number]?.keepsPairing = isKept
    transfers[of: session.transfer]?.isRecorded = true
    if session.isTalking { say(plan, number) }
  }

  /// The user does not want the transfer.
  mutating func decline(_ number: SessionNumber) {
    guard case .asking(let plan, let judgement, _)? = sessions[number]?.stage else { return }
    answer(plan, refusing: judgement.mapValues { .failure($0.failure ?? .notTaken) }, number)
  }

  /// No part is taken: nothing is recorded.
  private mutating func answer(_ plan: Plan, refusing judgement: PlanJudgement, _ number: SessionNumber) {
    guard let transfer = sessions[number]?.transfer else { return }
    transfers[of: transfer]?.judge(plan, judgement)
    say(plan, number)
  }

  private mutating func say(_ plan: Plan, _ number: SessionNumber) {
    guard let session = sessions[number], let transfer = transfers[of: session.transfer] else { return }
    let parts: [Verdict.Judgement] = plan.parts.indices.map { index in
      switch transfer.results[UInt16(index)] {
      case nil:
        .taken(
          without: (transfer.refusedRoots[UInt16(index)] ?? []).map { .init(root: $0.root, code: $0.fault.close.code) })
      case .finished?: .finished
      case .failed(let fault)?: .refused(fault.close.shortened(to: Verdict.room / plan.parts.count))
      }
    }
    let verdict = Verdict(
      transfer: transfer.identifier, session: session.identifier, window: Limits.window, streams: Self.streams,
      parts: parts, flags: session.keepsPairing ? .keepPairing : [])
    say(.verdict(verdict), number)
    sessions[number]?.stage = .none
    sessions[number]?.dueSince = now
    sayAddresses(number)
    for index in plan.parts.indices.map({ UInt16($0) }) {
      switch transfer.results[index] {
      case .failed(let fault)?: tellFailure(of: index, fault, transfer)
      case .finished(_, let result, _, _)?:
        guard result.concludedAt != nil else { continue }
        if plan.parts.count > 1 { tellEarlierNames(of: index, transfer.identifier) }
        tellEnd(of: index, result, transfer)
      case nil:
        let part = plan.parts[Int(index)]
        for refused in transfer.refusedRoots[index] ?? [] {
          let root = part.roots[Int(refused.root)].name
          tell(.partEnded(PartEnd(index, part.name, root: root, refused.fault)), of: transfer.identifier, part: index)
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

  /// Every part has its result: only the sender's RECEIPT is missing, for a limited time, and the
  /// data that was under way before it.
  mutating func endPlan(_ number: SessionNumber, isDataUnderWay: Bool = false) {
    guard let session = sessions[number], let outcome = transfers[of: session.transfer]?.outcome
    else { return }
    if case .failure = outcome {
      let seconds = isDataUnderWay ? EndLimits.receipt : EndLimits.unhurried
      sessions[number]?.receiptUntil = min(session.receiptUntil ?? .infinity, now + seconds)
    }
    awaitReceipt(number)
    guard settings.keeps, let place = phase[number] else { return }
    stepAside(number)
    endTransfer(place.transfer, outcome)
  }
}

extension ReceiverEngine.PlanJudgement {
  /// Whether any part could be taken.
  fileprivate var isWanted: Bool { values.contains { $0.failure == nil } }
}
