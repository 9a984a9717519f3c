import MigrationWire

/// The code that is shown while a sender may pair, and the proofs of it.
extension ReceiverEngine {
  // MARK: Codes

  /// Has a code made if the receiver needs one, and a new code when the last code has expired.
  mutating func tendCodes() {
    // A code also ends while a known sender is served.
    if codes.expire(now: now) { act(.forgetCode) }
    guard isInviting else { return }
    // The last pairing is over, and a place is free: another code may be shown.
    if !connections.isConfirming { codes.reopen() }
    if codes.isExhausted {
      // A running transfer is not interrupted: the next wait may begin when it ends.
      let isOver = !settings.asksRestart && !phase.isEngaged
      if let guessers = codes.tellEnd() { tell(.codesSpent(count: GuessLimit.most, from: guessers, isOver: isOver)) }
      if isOver { endRun(.failure(Self.exhausted)) }
    } else if codes.isWanted, !(lacksCode && phase.isEngaged), !workers.contains(.makeCode) {
      lacksCode = false
      if settings.hasGivenCode, codes.wasIssued { endGivenCode() } else { act(.makeCode) }
    } else if !relayWait.isFirst, let (code, lifetime) = codes.takeReminder(now: now) {
      tell(.code(code, lifetime: lifetime, place: relayWait.place))
    }
  }

  /// This device has a place at its relay: from now on, the code is shown with it.
  mutating func placed(_ place: RelayPlace) {
    relayWait = RelayWait(isFirst: false, place: place)
    codes.noteInterlude()
  }

  /// The relay cannot be reached, or refuses this device. This device tries again; within its own
  /// network the code works anyway.
  mutating func unplaced(_ reason: String) {
    if relayWait.isFirst { codes.noteInterlude() }
    let told = relayWait.told
    if !told.contains(reason) {
      tell(.notice("there is no place for this device at the relay (\(reason)); trying again"))
    }
    relayWait = RelayWait(isFirst: false, place: nil, told: told.union([reason]))
  }

  /// The only code of this run has ended. A sender that has paired with it may still come back.
  private mutating func endGivenCode() {
    guard phase.served.isEmpty else { return }
    let hint = "Make a new code for both devices, with 'peer code new'."
    let message = codes.hasExpired ? "the code that was given has expired" : "the code that was given is spent"
    endRun(.failure(Failure(.pairing, message, hint: hint)))
  }

  mutating func codeMade(_ result: Result<PairingCode, Failure>) {
    // A sender may have come back meanwhile.
    guard isInviting else { return act(.forgetCode) }
    switch result {
    case .success(let code):
      codes.issue(code, now: now)
      if settings.hasGivenCode { return tell(.codeAwaited(lifetime: ReceiverCodes.lifetime)) }
      // It is shown together with the place.
      if relayWait.isFirst { return codes.noteInterlude() }
      tell(.code(code, lifetime: ReceiverCodes.lifetime, place: relayWait.place))
    // The next try is when no sender is here.
    case .failure(let fault): if phase.isEngaged { lacksCode = true } else { endRun(.failure(fault)) }
    }
  }

  static var exhausted: Failure {
    Failure(
      .pairing, "too many wrong codes: no new code is shown",
      hint: "Start again with --from and the address of the other device, so that no other device can try.")
  }

  // MARK: Proofs

  /// PAIR_A has arrived: only now it matters whether there is a code, and whether earlier guesses
  /// delay this one.
  mutating func shared(_ id: ConnectionID) {
    guard let visitor = visitor(id), visitor.step == .sharing else { return }
    do throws(AbortReason) {
      // Until the first code is made, which is soon, the sender is told to come again.
      guard isInviting, codes.wasIssued else { throw .busy }
      let number = try codes.open(for: visitor.remote, now: now)
      connections.share(id, number, now: now)
      act(.exchange(id, until: visitor.deadline))
    } catch {
      turnAway(id, error)
    }
  }

  /// A code was proved, correctly or not: a try is spent first. Its sender has spent one of its own: where
  /// others have guessed meanwhile, the proof waits here for its judgement, if its connection has time.
  mutating func proved(_ id: ConnectionID, _ isRight: Bool) {
    guard let visitor = visitor(id), case .exchanging(let number) = visitor.step else { return }
    let remote = visitor.remote
    // Another sender may have come back meanwhile. The code is then not judged, so that it can be
    // tried again.
    if codes.isOpen(number, now: now), !isInviting { return turnAway(id, .busy) }
    switch codes.judge(number, isRight, from: remote, now: now) {
    case .postponed(let end) where end < visitor.deadline: act(.keepProof(id, isRight: isRight, until: end))
    case .postponed: turnAway(id, .busy)
    case .refused(let reason): turnAway(id, reason)
    case .wrong(let attempt, let left):
      tell(.wrongCode(attempt: attempt, allowed: PairingCode.tries, from: remote.host, left: left))
      if !codes.isOpen { act(.forgetCode) }
      turnAway(id, .codeMismatch)
    case .right:
      act(.forgetCode)
      // The connection that has spent the code no longer has to make room.
      connections.pass(id)
      connections.advance(id, to: .confirming)
      act(.confirm(id, until: visitor.deadline))
    }
  }

  /// The receiver's knowledge of its place at a relay.
  struct RelayWait: Equatable, Sendable {
    /// Whether the relay has not answered yet, nor failed to.
    var isFirst: Bool
    var place: RelayPlace?
    /// The reasons that the user knows, since there was a place: a few sentences about a relay or its network.
    var told: Set<String> = []
  }
}
