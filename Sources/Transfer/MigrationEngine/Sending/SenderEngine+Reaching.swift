import MigrationWire

/// The beginning of a run, and the connection to the receiver.
extension SenderEngine {
  mutating func begin(_ actions: inout [Action]) {
    guard case .idle = phase else { return }
    phase = .lookingUp
    actions += [.walk, .lookUpUnfinished]
  }

  /// The walk has ended.
  mutating func walked(_ result: Result<[SourceSummary], Failure>, _ now: Double, _ actions: inout [Action]) {
    switch result {
    case .success(let summaries):
      facts.summaries = summaries
      converse(now, &actions) { (session, facts, actions) throws(Failure) in
        session.planIfReady(&facts, &actions)
      }
    case .failure(let fault): unwalked(fault, now, &actions)
    }
  }

  /// There is nothing to send. The user learns this without entering a code or waiting for the
  /// other device.
  private mutating func unwalked(_ fault: Failure, _ now: Double, _ actions: inout [Action]) {
    switch phase {
    // The result of an earlier run is reported all the same.
    case .lookingUp: abandoned = abandoned ?? fault
    // A receiver that waits for the transfer is told, if it is there.
    case .dialing(let plan) where plan.isReturn:
      abandoned = abandoned ?? fault
      prepareFinish(.failure(fault), stopsDialing: false, now, &actions)
    default: abandon(fault, now, &actions)
    }
  }

  /// The transfers that earlier runs have begun are known, newest first.
  mutating func lookedUp(
    _ result: Result<[EarlierTransfer], Failure>, _ devices: [KnownDevice], _ now: Double, _ actions: inout [Action]
  ) {
    guard case .lookingUp = phase else { return }
    facts.devices = devices
    switch result {
    case .failure(let fault): prepareFinish(.failure(abandoned ?? fault), now, &actions)
    case .success(let transfers): goOn(with: transfers[...], now, &actions)
    }
  }

  /// Continues the newest of these transfers. A done transfer ends the run, unless the receiver is
  /// a known device: then the run goes on with the next transfer, which sends newer data.
  private mutating func goOn(
    with transfers: ArraySlice<EarlierTransfer>, _ now: Double, _ actions: inout [Action]
  ) {
    guard let newest = transfers.first, newest.isDone else {
      if let abandoned { return prepareFinish(.failure(abandoned), now, &actions) }
      return continueOrPair(transfers, now, &actions)
    }
    facts.transfer = OutgoingTransfer(newest)
    for number in newest.parts.indices.map({ UInt16($0) }) {
      actions += facts.transfer[number].takeEarlierNames().map { .tell($0, part: number) }
    }
    guard let outcome = facts.transfer.outcome(of: newest.parts.count) else { return }
    guard abandoned == nil, case .success(let result) = outcome,
      facts.devices.contains(where: { $0.receiver == newest.receiver })
    else { return conclude(outcome, now, &actions) }
    actions += [.tell(.notice(result.earlierClause)), .forget(newest.identifier)]
    facts.transfer = OutgoingTransfer()
    goOn(with: transfers.dropFirst(), now, &actions)
  }

  private mutating func continueOrPair(
    _ transfers: ArraySlice<EarlierTransfer>, _ now: Double, _ actions: inout [Action]
  ) {
    guard let newest = transfers.first else { return beginPairing(&actions) }
    actions.append(.tell(.connecting(address: settings.target ?? newest.address)))
    dial(DialPlan(.resume(newest, others: Array(transfers.dropFirst())), settings, now: now), &actions)
  }

  /// There is nothing to continue.
  private mutating func beginPairing(_ actions: inout [Action]) {
    guard settings.looksAround else { return probe(.target, &actions) }
    actions.append(.tell(.looking))
    look(nil, &actions)
  }

  mutating func probe(_ place: DialTarget, _ actions: inout [Action]) {
    phase = .probing
    actions.append(.probe(place))
  }

  /// The result of the probe is known. A known device is greeted first; for any other the user is
  /// asked for the code, only now.
  mutating func probed(
    _ result: Result<DeviceAddress, ProbeFailure>, _ now: Double, _ actions: inout [Action]
  ) {
    guard case .probing = phase else { return }
    switch result {
    case .success(let device):
      let isLikely = { (known: KnownDevice) in known.host == device.host || known.label == device.name }
      let devices = facts.devices.filter(isLikely) + facts.devices.filter { !isLikely($0) }
      guard let first = devices.first else { return askCode(device, &actions) }
      dial(DialPlan(.greet(first, others: Array(devices.dropFirst()), device), settings, now: now), &actions)
    case .failure(let failure): prepareFinish(.failure(Failure(failure)), now, &actions)
    }
  }

  private mutating func askCode(_ device: DeviceAddress, _ actions: inout [Action]) {
    phase = .askingCode
    actions.append(.askCode(device))
  }

  mutating func codeEntered(
    _ result: Result<PairingCode, Failure>, _ now: Double, _ actions: inout [Action]
  ) {
    guard case .askingCode = phase else { return }
    switch result {
    case .success(let code):
      phase = .deriving
      actions.append(.deriveSecret(code))
    case .failure(let failure): prepareFinish(.failure(failure), now, &actions)
    }
  }

  /// The code's secret is computed. Only now does the sender dial the receiver: a busy one keeps a
  /// place only for senders that do not hesitate.
  mutating func derived(_ fault: Failure?, _ now: Double, _ actions: inout [Action]) {
    guard case .deriving = phase else { return }
    if let fault { return prepareFinish(.failure(fault), now, &actions) }
    dial(DialPlan(.pair, settings, now: now), &actions)
  }

  mutating func dial(_ plan: DialPlan, _ actions: inout [Action]) {
    phase = .dialing(plan)
    actions.append(.dial(plan.purpose, at: plan.place))
  }

  /// The addresses of the target are known.
  mutating func dialing(_ first: String, _ actions: inout [Action]) {
    guard case .dialing(var plan) = phase else { return }
    plan.tellAddress(first, &actions)
    phase = .dialing(plan)
  }

  /// The receiver is connected: a session begins, unless the run is already ending.
  mutating func met(_ meeting: Meeting, _ now: Double, _ actions: inout [Action]) {
    let connection = meeting.connection
    actions.append(.converse(connection))
    guard case .dialing(let plan) = phase else {
      if let abandoned { actions.append(.say(connection, .close(abandoned.close))) }
      return actions.append(.close(connection, until: now + EndLimits.lastMessages))
    }
    if case .resume(let transfer, _) = plan.aim { facts.transfer = OutgoingTransfer(transfer) }
    let session = SenderSession(
      nextSession(), meeting, isReturn: plan.isReturn && !plan.isGreeting, isGreeting: plan.isGreeting, now: now)
    phase = .inSession(session, plan)
    actions.append(.say(connection, .greeting(settings.greeting)))
  }

  /// A dial has failed.
  mutating func unmet(_ failure: DialFailure, _ spread: Double, _ now: Double, _ actions: inout [Action]) {
    guard case .dialing(var plan) = phase else { return }
    if case .queued(let place) = failure, !settings.waitsInLine || settings.giveUpAfter <= 0 {
      return prepareFinish(.failure(.queued(place: place)), now, &actions)
    }
    let step = plan.failed(failure, spread, now: now, &actions)
    follow(step, plan, now, &actions)
  }

  mutating func follow(_ step: DialPlan.Step, _ plan: DialPlan, _ now: Double, _ actions: inout [Action]) {
    switch step {
    case .wait(let moment): phase = .waiting(plan, until: moment)
    case .dial: dial(plan, &actions)
    case .pair: beginPairing(&actions)
    case .askCode(let device): askCode(device, &actions)
    case .look:
      var plan = plan
      plan.tellLook(&actions)
      look(plan, &actions)
    case .pairNearby(let found): pair(withOneOf: found, now, &actions)
    case .end(let failure): prepareFinish(.failure(failure), now, &actions)
    }
  }
}

extension TransferResult {
  /// The notice about an earlier run that did not tell its result, if this run sends newer data.
  fileprivate var earlierClause: String {
    "an earlier run ended before it could tell its result: \(Figures.count(total.items, "item")), "
      + "\(Figures.size(total.bytes)) had arrived; this run sends what has changed since"
  }
}

extension Failure {
  /// The receiver serves others first, and the user does not want to wait.
  fileprivate static func queued(place: UInt16) -> Failure {
    let others = place > 1 ? "\(place) others" : "another one"
    return Failure(
      .busy, "the other device serves \(others) first", hint: "Try again later, or wait, without --no-wait.")
  }

  /// The probe did not reach the receiver; the code was not asked for yet.
  fileprivate init(_ failure: SenderEngine.ProbeFailure) {
    switch failure {
    case .unresolved(let failure), .failed(let failure): self = failure
    case .unreached(let device, let obstacle): self.init(unreached: device, by: obstacle)
    case .stopped: self = Failure.interrupted(by: .interrupted)
    }
  }
}
