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

  /// What follows from a dial that came to nothing.
  enum Step: Sendable {
    case wait(until: Double)
    /// The plan has another transfer now.
    case dial
    /// There is nothing to continue at that address.
    case pair
    case end(TransferFailure)
  }

  /// For how long a door that turns this device away is tried before the devices are paired, in seconds.
  private static let patienceAtDoor = 30.0

  private(set) var aim: Aim
  private var backoff: Backoff
  /// Whether the user knows which address is tried.
  private var isAddressTold: Bool
  /// Whether the user knows that it is tried again.
  private var isTrialTold: Bool

  private init(_ aim: Aim, _ backoff: Backoff, isAddressTold: Bool, isTrialTold: Bool) {
    self.aim = aim
    self.backoff = backoff
    self.isAddressTold = isAddressTold
    self.isTrialTold = isTrialTold
  }

  static func pairing(now: Double, giveUpAfter: Double) -> DialPlan {
    let backoff = Backoff(now: now, patience: min(patienceAtDoor, giveUpAfter), longest: Backoff.longestAtDoor)
    return DialPlan(.pair, backoff, isAddressTold: false, isTrialTold: false)
  }

  static func resuming(
    _ transfer: SenderEngine.UnfinishedTransfer, others: [SenderEngine.UnfinishedTransfer], now: Double,
    giveUpAfter: Double
  ) -> DialPlan {
    let backoff = Backoff(now: now, patience: giveUpAfter)
    return DialPlan(.resume(transfer, others: others), backoff, isAddressTold: true, isTrialTold: false)
  }

  /// How to come back after a session that this plan led to. A connection that dies again before anything has arrived is no new
  /// beginning.
  func comingBack(to transfer: TransferID?, hasProgressed: Bool, now: Double, giveUpAfter: Double) -> DialPlan {
    var next = DialPlan(
      .comeBack(transfer), Backoff(now: now, patience: giveUpAfter), isAddressTold: true, isTrialTold: true)
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
    guard let pause = backoff.next(now: now, spread: spread) else { return .end(failure) }
    return .wait(until: now + pause)
  }

  /// A dial came to nothing.
  mutating func failed(
    _ failure: SenderEngine.DialFailure, _ spread: Double, now: Double, _ actions: inout [SenderEngine.Action]
  ) -> Step {
    switch (aim, failure) {
    case (_, .failed(let failure)), (.pair, .unresolved(let failure)), (.pair, .unreached(let failure, _)):
      return .end(failure)
    case (_, .stopped): return .end(Fault.interrupted(.sender, by: .interrupted).failure)
    case (.pair, .turnedAway(let failure, _)):
      let step = again(spread, now, orElse: failure)
      tellTrial(step, "the other device is busy; trying again", &actions)
      return step
    case (_, .unresolved(let failure)): return retry(spread, now, failure.message, &actions)
    case (_, .unreached(_, let reason)), (_, .turnedAway(_, let reason)):
      return retry(spread, now, reason, &actions)
    case (.resume(_, let others), .stranger(let key)):
      // Which of several it is shows only now; the connection was made with the key of the newest.
      guard let other = others.first(where: { $0.receiver == key }) else { return .pair }
      aim = .resume(other, others: [])
      return .dial
    case (_, .stranger): return .end(Fault.otherKey.failure)
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
