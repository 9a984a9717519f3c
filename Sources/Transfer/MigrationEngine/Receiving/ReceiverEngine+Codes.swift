package import MigrationWire

/// The code that is shown while a sender may pair, and the questions to the user.
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

  private static var exhausted: Failure {
    Failure(
      .pairing, "too many wrong codes: no new code is shown",
      hint: "Start again with --from and the address of the other device, so that no other device can try.")
  }

  // MARK: Questions

  /// The questions that the user is to be asked now, the first one first.
  private var wanted: [(subject: StandingQuestion.Subject, question: Question)] {
    var wanted: [(subject: StandingQuestion.Subject, question: Question)] = phase.sessions.compactMap { number in
      guard let session = sessions[number],
        case .asking(let plan, let judgement, let consent) = session.stage,
        let transfer = transfers[of: session.transfer]
      else { return nil }
      let refused = judgement.sorted { $0.key < $1.key }.compactMap { number, result in
        result.failure.map { RefusedPart(plan.parts[Int(number)], $0) }
      }
      let question = ConsentQuestion(
        parts: self.wanted(of: plan, judgement), refused: refused, planned: plan.parts.count, label: session.label,
        address: session.remote.address, answers: consent, isLater: session.isOfDevice)
      return (.consent(number), .consent(question, client: transfer.client))
    }
    if isInviting, !phase.isEngaged, codes.isExhausted { wanted.append((.restart, .restart)) }
    return wanted
  }

  /// Asks one question at a time: an unwanted question is withdrawn, and the next one follows its
  /// end.
  mutating func tendQuestion() {
    let wanted = wanted
    if let question {
      if question.isWithdrawn || wanted.contains(where: { $0.subject == question.subject }) { return }
      self.question?.isWithdrawn = true
      act(.withdrawQuestion)
    } else if let wanted = wanted.first {
      question = StandingQuestion(subject: wanted.subject)
      act(.ask(wanted.question))
    }
  }

  mutating func answered(_ answer: Bool?, _ taken: [UInt16: ArrivalClasses]?, _ removals: Removals) {
    let asked = question
    question = nil
    // An answer that came too late is ignored.
    guard let asked, !asked.isWithdrawn else { return }
    switch asked.subject {
    case .restart where answer == true: codes.startAnew()
    case .restart: endRun(.failure(Self.exhausted))
    case .consent(let number) where answer == true: record(number, taking: taken, removals)
    case .consent(let number): decline(number)
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

  /// The question that the user is asked now.
  struct StandingQuestion: Equatable, Sendable {
    enum Subject: Equatable, Sendable {
      case restart
      /// Whether to accept a session's plan.
      case consent(SessionNumber)
    }

    let subject: Subject
    /// Whether the question is to end without an answer.
    var isWithdrawn = false
  }
}

extension Failure {
  /// The user of this device has not taken it.
  package static let notTaken = Failure(
    .declined, "you did not take it", hint: DataHint.notTaken.text, for: .leftOut)
}
