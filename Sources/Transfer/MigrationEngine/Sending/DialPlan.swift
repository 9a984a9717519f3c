import MigrationWire

/// The purpose of a sender's dial attempts, the step after a failed attempt, and the time to give
/// up.
struct DialPlan: Sendable {
  typealias Facts = SenderEngine.Facts

  enum Aim: Sendable {
    /// To pair with the code.
    case pair
    /// To continue a transfer that an earlier run began; the receiver may have one of the others
    /// instead.
    case resume(SenderEngine.EarlierTransfer, others: [SenderEngine.EarlierTransfer])
    /// To begin a transfer with a device that was found, if it is a known one or one of the others.
    case greet(SenderEngine.KnownDevice, others: [SenderEngine.KnownDevice], DeviceAddress)
    /// To come back to the transfer of this run.
    case comeBack(TransferID?)
  }

  /// Where the sender looks for the receiver.
  enum Route: Sendable {
    /// At the target that the user has given.
    case target
    case nearby(SeekRound)
  }

  /// The step after a dial attempt that failed.
  enum Step: Sendable {
    case wait(until: Double)
    /// The plan continues with another transfer.
    case dial
    /// The device at that address has nothing to continue.
    case pair
    /// That device needs a code.
    case askCode(DeviceAddress)
    /// The sender is to look for devices.
    case look
    /// None of the devices that were found has anything to continue.
    case pairNearby([DeviceAddress])
    case end(Failure)
  }

  /// For how many seconds the sender tries a receiver that turns it away before the devices have
  /// paired, and known devices that do not wait at the relay: the user may mean a device that is not known yet.
  private static let (patienceBeforeReady, patienceAtRelay) = (30.0, 10.0)

  private(set) var aim: Aim
  private(set) var route: Route
  /// Whether the user knows that the sender looks for devices.
  private var isLookTold = false
  private var backoff: Backoff
  private var isAddressTold: Bool
  /// Whether the user knows that the sender tries again.
  private var isTrialTold = false
  /// Until when known devices that do not wait at the relay may come; nil before one was missed.
  private var isAwaitedUntil: Double?
  /// The place in the receiver's line that the user knows.
  private var toldPlace: UInt16?
  /// For how many seconds the sender tries to come back.
  private let patience: Double

  /// Begins. Of a sender that looks around, the address for coming back is known once the receiver was
  /// reached.
  init(_ aim: Aim, _ settings: SenderEngine.Settings, now: Double) {
    self.aim = aim
    patience = settings.giveUpAfter
    let last = if case .resume(let transfer, _) = aim { transfer.address } else { nil as String? }
    route = settings.looksAround ? .nearby(SeekRound(last: last ?? "", hasRelay: settings.hasRelay)) : .target
    isAddressTold = last != nil
    backoff = Backoff(now: now, patience: patience)
    if case .pair = aim {
      backoff = Backoff(
        now: now, patience: min(Self.patienceBeforeReady, patience), longest: Backoff.longestBeforeReady)
    }
  }

  /// The plan for coming back after a session that this plan led to. If the connection is lost
  /// again before any data has arrived, the time to give up does not start anew.
  func comingBack(to transfer: TransferID?, at address: String, hasProgressed: Bool, now: Double) -> DialPlan {
    var next = self
    if !isComingBack || hasProgressed { next.backoff = Backoff(now: now, patience: patience) }
    next.aim = .comeBack(transfer)
    if case .nearby(let round) = route { next.route = .nearby(round.again(last: address)) }
    (next.isAddressTold, next.isTrialTold, next.isLookTold, next.toldPlace) = (true, true, true, nil)
    return next
  }

  private var isComingBack: Bool { if case .comeBack = aim { true } else { false } }

  var purpose: SenderEngine.Purpose {
    switch aim {
    case .pair: .pair
    case .resume(let transfer, _): .resume(transfer.identifier)
    case .greet(let device, _, _): .greet(device.receiver)
    case .comeBack(let transfer): .resume(transfer)
    }
  }

  /// The place to dial.
  var place: SenderEngine.DialTarget {
    switch (aim, route) {
    case (.pair, _), (.greet, _): .probed
    case (_, .target): .target
    case (_, .nearby(let round)): round.place
    }
  }

  /// Whether the devices know each other before they connect.
  var isReturn: Bool { if case .pair = aim { false } else { true } }

  /// Whether a transfer begins with a known device.
  var isGreeting: Bool { if case .greet = aim { true } else { false } }

  /// The addresses of the target are known.
  mutating func tellAddress(_ first: String, _ facts: inout Facts) {
    guard !isAddressTold else { return }
    isAddressTold = true
    facts.act(.tell(.connecting(address: first)))
  }

  /// When to try again; `last` is the result of the previous attempt.
  mutating func pause(_ spread: Double, now: Double, last: String = "it does not answer") -> Step {
    again(spread, now, orElse: .gaveUp(last))
  }

  private mutating func again(_ spread: Double, _ now: Double, orElse failure: Failure) -> Step {
    if case .nearby(let round) = route { route = .nearby(round.again()) }
    guard let pause = backoff.next(now: now, spread: spread) else { return .end(failure) }
    return .wait(until: now + pause)
  }

  /// A dial attempt has failed.
  mutating func failed(_ failure: SenderEngine.DialFailure, _ spread: Double, _ facts: inout Facts) -> Step {
    // A device that was only found by a search may answer anything; its answer does not end the
    // run.
    if case .failed(let failure) = failure, isReturn, case .found = place {
      return passOn(isStranger: true, spread, failure.message, &facts) ?? .end(failure)
    }
    switch (aim, failure) {
    case (_, .queued(let place)): return queue(at: place, spread, &facts)
    case (_, .failed(let failure)), (.pair, .unresolved(let failure)), (.pair, .unreached(let failure, _)):
      return .end(failure)
    case (_, .stopped): return .end(Failure.interrupted(by: .interrupted))
    case (.greet(_, let others, let device), .stranger(let key)):
      guard let other = others.first(where: { $0.receiver == key }) else { return .askCode(device) }
      aim = .greet(other, others: [], device)
      return .dial
    case (.greet(_, _, let device), .forgotten):
      facts.act(.tell(.notice("the other device knows this one no more: it needs a code")))
      return .askCode(device)
    case (.greet(let known, let others, let device), .absent(let reason)):
      if let next = others.first { aim = .greet(next, others: others.dropFirst() + [known], device) }
      return awaitReturn(of: device, reason, spread, &facts)
    case (.greet, .unresolved(let failure)): return again(spread, facts.now, orElse: failure)
    case (.greet, .unreached(let failure, let reason)), (.greet, .turnedAway(let failure, let reason)):
      let step = again(spread, facts.now, orElse: failure)
      tellTrial(step, "the other device cannot be reached yet (\(reason)); trying again", &facts)
      return step
    case (.pair, .turnedAway(let failure, _)):
      let step = again(spread, facts.now, orElse: failure)
      tellTrial(step, "the other device is busy; trying again", &facts)
      return step
    case (_, .unresolved(let failure)): return missed(spread, failure.message, &facts)
    case (_, .unreached(_, let reason)), (_, .turnedAway(_, let reason)), (_, .absent(let reason)):
      return missed(spread, reason, &facts)
    case (.resume(_, let others), .stranger(let key)):
      // Only now the key shows which of several receivers it is; the connection was made with the
      // key of the newest transfer.
      guard let other = others.first(where: { $0.receiver == key }) else {
        return passOn(isStranger: true, spread, Self.otherDevice, &facts) ?? .pair
      }
      aim = .resume(other, others: [])
      return .dial
    case (_, .stranger):
      return passOn(isStranger: true, spread, Self.otherDevice, &facts) ?? .end(Failure.otherKey)
    case (.resume(let transfer, let others), .forgotten):
      facts.actions += [.tell(.notice(Self.isForgotten)), .forget(transfer.identifier)]
      guard let other = others.first else { return .pair }
      aim = .resume(other, others: Array(others.dropFirst()))
      return .dial
    case (_, .forgotten): return .end(AbortReason.unknownPeer.failure)
    }
  }

  /// A known device does not wait at the relay: it, or the relay, may just be starting, and it comes back within
  /// seconds. Later, only a code tells whether it has forgotten this one. Known devices are tried in turn.
  private mutating func awaitReturn(
    of device: DeviceAddress, _ reason: String, _ spread: Double, _ facts: inout Facts
  ) -> Step {
    let end = isAwaitedUntil ?? facts.now + min(Self.patienceAtRelay, patience)
    isAwaitedUntil = end
    guard facts.now < end, let pause = backoff.next(now: facts.now, spread: spread) else {
      facts.act(.tell(.notice("the other device is not there, or knows this one no more: it needs a code")))
      return .askCode(device)
    }
    let step = Step.wait(until: min(facts.now + pause, end))
    tellTrial(step, "the other device cannot be reached yet (\(reason)); trying again", &facts)
    return step
  }

  /// The receiver is there, and serves others first. The sender waits for as long as the line is
  /// there; only from then on the time to give up counts.
  private mutating func queue(at place: UInt16, _ spread: Double, _ facts: inout Facts) -> Step {
    if toldPlace != place { facts.act(.tell(.queued(place: place))) }
    toldPlace = place
    backoff = Backoff(now: facts.now, patience: patience)
    return .wait(until: facts.now + ReadyLimits.pause(atPlace: Int(place)) * (1 - spread / 4))
  }

  /// The sender has looked for devices, because the transfer's receiver was not at its last
  /// address.
  mutating func looked(_ found: [DeviceAddress], _ spread: Double, _ facts: inout Facts) -> Step {
    guard case .nearby(var round) = route else { return .dial }
    let step = round.looked(found)
    route = .nearby(round)
    return step == .dial ? .dial : retry(spread, "no device is waiting on this network", &facts)
  }

  /// Tells the user, once, that the sender looks for devices.
  mutating func tellLook(_ facts: inout Facts) {
    if !isLookTold { facts.act(.tell(.looking)) }
    isLookTold = true
  }

  static let isForgotten = "the other device no longer has the earlier transfer; everything is sent again"

  /// The reason given when another device has the address of the transfer's receiver.
  private static let otherDevice = "another device is there"

  /// The sender has not reached the receiver, which may be there all the same.
  private mutating func missed(_ spread: Double, _ reason: String, _ facts: inout Facts) -> Step {
    passOn(isStranger: false, spread, reason, &facts) ?? retry(spread, reason, &facts)
  }

  /// Continues with the next device nearby; nil where the user has named a device.
  ///
  /// A new transfer replaces that of an earlier run only if every device that was found is a
  /// different one: a busy or silent device may be the right one.
  private mutating func passOn(isStranger: Bool, _ spread: Double, _ reason: String, _ facts: inout Facts) -> Step? {
    guard case .nearby(var round) = route else { return nil }
    let step = round.failed(isStranger: isStranger)
    route = .nearby(round)
    switch (step, aim) {
    case (.dial, _): return .dial
    case (.look, _): return .look
    case (.end, .resume) where round.areStrangers:
      facts.act(.tell(.notice("no device here has the earlier transfer; everything is sent again")))
      return .pairNearby(round.found)
    case (.end, _): return retry(spread, reason, &facts)
    }
  }

  private mutating func retry(_ spread: Double, _ reason: String, _ facts: inout Facts) -> Step {
    let step = pause(spread, now: facts.now, last: reason)
    tellTrial(step, "the other device cannot be reached yet (\(reason)); trying again", &facts)
    return step
  }

  /// Tells the user, once, that the sender tries again.
  private mutating func tellTrial(_ step: Step, _ notice: String, _ facts: inout Facts) {
    guard case .wait = step, !isTrialTold else { return }
    isTrialTold = true
    facts.act(.tell(.notice(notice)))
  }
}

extension Failure {
  fileprivate static func gaveUp(_ reason: String) -> Failure {
    Failure(
      .unreachable, "the other device cannot be reached: \(reason)",
      hint: "Check the address. \(DataHint.runAgainKept.text)")
  }
}
