import MigrationWire

/// The beginning of a run, and the connection to the receiver.
extension SenderEngine {
  mutating func begin() {
    guard case .idle = phase else { return }
    phase = .lookingUp
    facts.actions += [.walk, .lookUpUnfinished]
  }

  /// The walk has ended.
  mutating func walked(_ result: Result<[SourceSummary], Failure>) {
    switch result {
    case .success(let summaries):
      facts.summaries = summaries
      converse { (session, facts) throws(Failure) in session.planIfReady(&facts) }
    case .failure(let fault): unwalked(fault)
    }
  }

  /// There is nothing to send. The user learns this without entering a code or waiting for the
  /// other device.
  private mutating func unwalked(_ fault: Failure) {
    switch phase {
    // The result of an earlier run is reported all the same.
    case .lookingUp: abandoned = abandoned ?? fault
    // A receiver that waits for the transfer is told, if it is there.
    case .dialing(let plan) where plan.isReturn:
      abandoned = abandoned ?? fault
      prepareFinish(.failure(fault), stopsDialing: false)
    default: abandon(fault)
    }
  }

  /// The transfers that earlier runs have begun are known, newest first.
  mutating func lookedUp(_ result: Result<[EarlierTransfer], Failure>, _ devices: [KnownDevice]) {
    guard case .lookingUp = phase else { return }
    facts.devices = devices
    switch result {
    case .failure(let fault): prepareFinish(.failure(abandoned ?? fault))
    case .success(let transfers): goOn(with: transfers[...])
    }
  }

  /// Continues the newest of these transfers. A done transfer ends the run, unless the receiver is
  /// a known device: then the run goes on with the next transfer, which sends newer data.
  private mutating func goOn(with transfers: ArraySlice<EarlierTransfer>) {
    guard let newest = transfers.first, newest.isDone else {
      if let abandoned { return prepareFinish(.failure(abandoned)) }
      guard let newest = transfers.first else { return beginPairing() }
      act(.tell(.connecting(address: settings.target ?? newest.address)))
      return dial(DialPlan(.resume(newest, others: Array(transfers.dropFirst())), settings, now: now))
    }
    facts.transfer = OutgoingTransfer(newest)
    for number in newest.parts.indices.map({ UInt16($0) }) {
      facts.actions += facts.transfer[number].takeEarlierNames().map { .tell($0, part: number) }
    }
    guard let outcome = facts.transfer.outcome(of: newest.parts.count) else { return }
    guard abandoned == nil, case .success(let result) = outcome,
      facts.devices.contains(where: { $0.receiver == newest.receiver })
    else { return conclude(outcome) }
    facts.actions += [.tell(.notice(result.earlierClause)), .forget(newest.identifier)]
    facts.transfer = OutgoingTransfer()
    goOn(with: transfers.dropFirst())
  }

  /// There is nothing to continue.
  private mutating func beginPairing() {
    guard settings.looksAround else { return probe(.target) }
    act(.tell(.looking))
    look(nil)
  }

  mutating func probe(_ place: DialTarget) {
    phase = .probing
    act(.probe(place))
  }

  /// The result of the probe is known. A known device is greeted first; for any other the user is
  /// asked for the code, only now.
  mutating func probed(_ result: Result<DeviceAddress, Failure>) {
    guard case .probing = phase else { return }
    switch result {
    case .success(let device):
      let isLikely = { (known: KnownDevice) in known.host == device.host || known.label == device.name }
      let devices = facts.devices.filter(isLikely) + facts.devices.filter { !isLikely($0) }
      guard let first = devices.first else { return askCode(device) }
      dial(DialPlan(.greet(first, others: Array(devices.dropFirst()), device), settings, now: now))
    case .failure(let failure): prepareFinish(.failure(failure))
    }
  }

  private mutating func askCode(_ device: DeviceAddress) {
    phase = .askingCode
    act(.askCode(device))
  }

  mutating func codeEntered(_ result: Result<PairingCode, Failure>) {
    guard case .askingCode = phase else { return }
    switch result {
    case .success(let code):
      phase = .deriving
      act(.deriveSecret(code))
    case .failure(let failure): prepareFinish(.failure(failure))
    }
  }

  /// The code's secret is computed. Only now does the sender dial the receiver: a busy one keeps a
  /// place only for senders that do not hesitate.
  mutating func derived(_ fault: Failure?) {
    guard case .deriving = phase else { return }
    if let fault { return prepareFinish(.failure(fault)) }
    dial(DialPlan(.pair, settings, now: now))
  }

  mutating func dial(_ plan: DialPlan) {
    phase = .dialing(plan)
    act(.dial(plan.purpose, at: plan.place))
  }

  /// The addresses of the target are known.
  mutating func dialing(_ first: String) {
    guard case .dialing(var plan) = phase else { return }
    plan.tellAddress(first, &facts)
    phase = .dialing(plan)
  }

  /// The receiver is connected: a session begins, unless the run is already ending.
  mutating func met(_ meeting: Meeting) {
    let connection = meeting.connection
    act(.converse(connection))
    guard case .dialing(let plan) = phase else {
      if let abandoned { act(.say(connection, .close(abandoned.close))) }
      return act(.close(connection, until: now + EndLimits.lastMessages))
    }
    if case .resume(let transfer, _) = plan.aim { facts.transfer = OutgoingTransfer(transfer) }
    let session = SenderSession(
      nextSession(), meeting, isReturn: plan.isReturn && !plan.isGreeting, isGreeting: plan.isGreeting, now: now)
    phase = .inSession(session, plan)
    act(.say(connection, .greeting(settings.greeting)))
  }

  /// A dial has failed.
  mutating func unmet(_ failure: DialFailure, _ spread: Double) {
    guard case .dialing(var plan) = phase else { return }
    if case .queued(let place) = failure, !settings.waitsInLine || settings.giveUpAfter <= 0 {
      return prepareFinish(.failure(.queued(place: place)))
    }
    let step = plan.failed(failure, spread, &facts)
    follow(step, plan)
  }

  mutating func follow(_ step: DialPlan.Step, _ plan: DialPlan) {
    switch step {
    case .wait(let moment): phase = .waiting(plan, until: moment)
    case .dial: dial(plan)
    case .pair: beginPairing()
    case .askCode(let device): askCode(device)
    case .look:
      var plan = plan
      plan.tellLook(&facts)
      look(plan)
    case .pairNearby(let found): pair(withOneOf: found)
    case .end(let failure): prepareFinish(.failure(failure))
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
}
