import MigrationWire

/// What a sender dials for, what follows from a dial that came to nothing, and when it gives up.
struct DialPlan: Sendable {
  enum Aim: Sendable {
    /// To pair by the code.
    case pair
    /// To continue what an earlier run began; that may be one of the others as well.
    case resume(SenderEngine.UnfinishedTransfer, others: [SenderEngine.UnfinishedTransfer])
    /// To come back to the transfer of this run.
    case comeBack(TransferID?)
  }

  /// Where the receiver is sought.
  enum Route: Sendable {
    /// Where the user has said.
    case target
    case nearby(SeekRound)
  }

  /// What follows from a dial that came to nothing.
  enum Step: Sendable {
    case wait(until: Double)
    /// The plan has another transfer now.
    case dial
    /// There is nothing to continue at that address.
    case pair
    /// Devices are to be looked for.
    case look
    /// There is nothing to continue with any of the devices that were found.
    case pairNearby([Nearby])
    case end(TransferFailure)
  }

  /// For how long a door that turns this device away is tried before the devices are paired, in seconds.
  private static let patienceAtDoor = 30.0

  private(set) var aim: Aim
  private(set) var route: Route
  /// Whether the user knows that devices are looked for.
  private var isLookTold = false
  private var backoff: Backoff
  /// Whether the user knows which address is tried.
  private var isAddressTold: Bool
  /// Whether the user knows that it is tried again.
  private var isTrialTold: Bool

  private init(_ aim: Aim, _ route: Route, _ backoff: Backoff, isAddressTold: Bool, isTrialTold: Bool) {
    self.aim = aim
    self.route = route
    self.backoff = backoff
    self.isAddressTold = isAddressTold
    self.isTrialTold = isTrialTold
  }

  static func pairing(looksAround: Bool, now: Double, giveUpAfter: Double) -> DialPlan {
    let backoff = Backoff(now: now, patience: min(patienceAtDoor, giveUpAfter), longest: Backoff.longestAtDoor)
    // Where it comes back to is known when it was met.
    return DialPlan(
      .pair, looksAround ? .nearby(SeekRound(last: "")) : .target, backoff, isAddressTold: false, isTrialTold: false)
  }

  static func resuming(
    _ transfer: SenderEngine.UnfinishedTransfer, others: [SenderEngine.UnfinishedTransfer], looksAround: Bool,
    now: Double, giveUpAfter: Double
  ) -> DialPlan {
    let backoff = Backoff(now: now, patience: giveUpAfter)
    let route = looksAround ? Route.nearby(SeekRound(last: transfer.address)) : .target
    return DialPlan(.resume(transfer, others: others), route, backoff, isAddressTold: true, isTrialTold: false)
  }

  /// How to come back after a session that this plan led to. A connection that dies again before anything has arrived is no new
  /// beginning.
  func comingBack(
    to transfer: TransferID?, at address: String, hasProgressed: Bool, now: Double, giveUpAfter: Double
  ) -> DialPlan {
    let route = if case .nearby = route { Route.nearby(SeekRound(last: address)) } else { route }
    var next = DialPlan(
      .comeBack(transfer), route, Backoff(now: now, patience: giveUpAfter), isAddressTold: true, isTrialTold: true)
    next.isLookTold = true
    if case .comeBack = aim, !hasProgressed { next.backoff = backoff }
    return next
  }

  var purpose: SenderEngine.Purpose {
    switch aim {
    case .pair: .pair
    case .resume(let transfer, _): .resume(transfer.identifier)
    case .comeBack(let transfer): .resume(transfer)
    }
  }

  /// Where it is dialled.
  var place: Place {
    switch (aim, route) {
    case (.pair, _): .probed
    case (_, .target): .target
    case (_, .nearby(let round)): round.place
    }
  }

  /// Whether the devices know each other before they meet.
  var isReturn: Bool { if case .pair = aim { false } else { true } }

  /// The addresses behind the target are known.
  mutating func tellAddress(_ first: String, _ actions: inout [SenderEngine.Action]) {
    guard !isAddressTold else { return }
    isAddressTold = true
    actions.append(.tell(.connecting(address: first)))
  }

  /// When to try again; `last` is what the try before came to.
  mutating func pause(_ spread: Double, now: Double, last: String = "it does not answer") -> Step {
    again(spread, now, orElse: .gaveUp(last))
  }

  private mutating func again(_ spread: Double, _ now: Double, orElse failure: TransferFailure) -> Step {
    if case .nearby(let round) = route { route = .nearby(round.again()) }
    guard let pause = backoff.next(now: now, spread: spread) else { return .end(failure) }
    return .wait(until: now + pause)
  }

  /// A dial came to nothing.
  mutating func failed(
    _ failure: SenderEngine.DialFailure, _ spread: Double, now: Double, _ actions: inout [SenderEngine.Action]
  ) -> Step {
    // One that was only found may say what it wants, and ends nothing.
    if case .failed(let failure) = failure, isReturn, case .found = place {
      return passOn(isStranger: true, spread, now, failure.message, &actions) ?? .end(failure)
    }
    switch (aim, failure) {
    case (_, .failed(let failure)), (.pair, .unresolved(let failure)), (.pair, .unreached(let failure, _)):
      return .end(failure)
    case (_, .stopped): return .end(Fault.interrupted(.sender, by: .interrupted).failure)
    case (.pair, .turnedAway(let failure, _)):
      let step = again(spread, now, orElse: failure)
      tellTrial(step, "the other device is busy; trying again", &actions)
      return step
    case (_, .unresolved(let failure)): return missed(spread, now, failure.message, &actions)
    case (_, .unreached(_, let reason)), (_, .turnedAway(_, let reason)):
      return missed(spread, now, reason, &actions)
    case (.resume(_, let others), .stranger(let key)):
      // Which of several it is shows only now; the connection was made with the key of the newest.
      guard let other = others.first(where: { $0.receiver == key }) else {
        return passOn(isStranger: true, spread, now, Self.otherDevice, &actions) ?? .pair
      }
      aim = .resume(other, others: [])
      return .dial
    case (_, .stranger):
      return passOn(isStranger: true, spread, now, Self.otherDevice, &actions) ?? .end(Fault.otherKey.failure)
    case (.resume(let transfer, let others), .forgotten):
      actions += [
        .tell(.notice("the other device no longer has what was begun before; everything is sent anew")),
        .forget(transfer.identifier),
      ]
      guard let other = others.first else { return .pair }
      aim = .resume(other, others: Array(others.dropFirst()))
      return .dial
    case (_, .forgotten): return .end(AbortReason.unknownPeer.failure)
    }
  }

  /// Devices were looked for, since the transfer's was not where it had been.
  mutating func looked(
    _ found: [Nearby], _ spread: Double, now: Double, _ actions: inout [SenderEngine.Action]
  ) -> Step {
    guard case .nearby(var round) = route else { return .dial }
    let step = round.looked(found)
    route = .nearby(round)
    return step == .dial ? .dial : retry(spread, now, "no device is waiting on this network", &actions)
  }

  /// Says once that devices are looked for.
  mutating func tellLook(_ actions: inout [SenderEngine.Action]) {
    if !isLookTold { actions.append(.tell(.looking)) }
    isLookTold = true
  }

  /// What is said where another device is in the place of the transfer's.
  private static let otherDevice = "another device is there"

  /// The device was not met, and may be there all the same.
  private mutating func missed(
    _ spread: Double, _ now: Double, _ reason: String, _ actions: inout [SenderEngine.Action]
  ) -> Step {
    passOn(isStranger: false, spread, now, reason, &actions) ?? retry(spread, now, reason, &actions)
  }

  /// Goes on to the next device of those nearby; nil where the user has named one.
  ///
  /// Only where each device that was found is another one, a transfer of an earlier run gives way to a new one: one that is busy
  /// or silent may be the right one.
  private mutating func passOn(
    isStranger: Bool, _ spread: Double, _ now: Double, _ reason: String, _ actions: inout [SenderEngine.Action]
  ) -> Step? {
    guard case .nearby(var round) = route else { return nil }
    let step = round.failed(isStranger: isStranger)
    route = .nearby(round)
    switch (step, aim) {
    case (.dial, _): return .dial
    case (.look, _): return .look
    case (.end, .resume) where round.areStrangers:
      actions.append(
        .tell(.notice("no device here is the one that has what was begun before; everything is sent anew")))
      return .pairNearby(round.found)
    case (.end, _): return retry(spread, now, reason, &actions)
    }
  }

  private mutating func retry(
    _ spread: Double, _ now: Double, _ reason: String, _ actions: inout [SenderEngine.Action]
  ) -> Step {
    let step = pause(spread, now: now, last: reason)
    tellTrial(step, "the other device cannot be reached yet (\(reason)); trying again", &actions)
    return step
  }

  /// Says once that it is tried again.
  private mutating func tellTrial(_ step: Step, _ notice: String, _ actions: inout [SenderEngine.Action]) {
    guard case .wait = step, !isTrialTold else { return }
    isTrialTold = true
    actions.append(.tell(.notice(notice)))
  }
}

extension TransferFailure {
  fileprivate static func gaveUp(_ reason: String) -> TransferFailure {
    TransferFailure(
      .connectionLost, "the other device cannot be reached: \(reason)",
      hint: "What has arrived is kept. Check the address, and start the same command on both devices again.")
  }
}
