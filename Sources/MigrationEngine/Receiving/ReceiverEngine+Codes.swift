import MigrationWire

/// The question that the user is asked now.
struct StandingQuestion: Equatable, Sendable {
  enum Subject: Equatable, Sendable {
    case restart
    /// Whether to accept a session's offer.
    case consent(SessionNumber)
  }

  let subject: Subject
  /// Whether the question is to end without an answer.
  var isWithdrawn = false
}

/// The code that is shown while a sender may pair, and the questions to the user.
extension ReceiverEngine {
  // MARK: Codes

  /// Has a code made while one is wanted, or another one if it has expired.
  mutating func tendCodes() {
    // A code also ends while a known sender is served.
    if codes.expire(now: now) { act(.forgetCode) }
    guard isInviting else { return }
    if codes.isExhausted {
      if let guessers = codes.tellEnd() {
        tell(.codesSpent(count: GuessLimit.most, from: guessers, isOver: !settings.asksRestart))
      }
      if !settings.asksRestart { endRun(.failure(Self.exhausted)) }
    } else if codes.isWanted, !workers.contains(.makeCode) {
      if settings.hasGivenCode, codes.wasIssued { endGivenCode() } else { act(.makeCode) }
    } else if let (code, lifetime) = codes.takeReminder(now: now) {
      tell(.code(code, lifetime: lifetime))
    }
  }

  mutating func codeMade(_ result: Result<PairingCode, Fault>) {
    // A sender may have come back meanwhile.
    guard isInviting else { return act(.forgetCode) }
    switch result {
    case .success(let code):
      codes.issue(code, now: now)
      tell(
        settings.hasGivenCode
          ? .codeAwaited(lifetime: PairingCodes.lifetime) : .code(code, lifetime: PairingCodes.lifetime))
    case .failure(let fault): endRun(.failure(fault.failure))
    }
  }

  private static var exhausted: TransferFailure {
    TransferFailure(
      .pairing, "too many wrong codes: no new code is shown",
      hint: "Start again with --from and the address of the other device, so that no other device can try.")
  }

  // MARK: Questions

  /// The question that the user is to be asked now.
  private var wanted: (subject: StandingQuestion.Subject, question: Question)? {
    if let number = phase.session, let conversation = conversations[number],
      case .asking(let offer, let room) = conversation.course
    {
      let question = Question.consent(
        offer, label: conversation.label, address: conversation.remote.address, room: room)
      return (.consent(number), question)
    }
    return isInviting && codes.isExhausted ? (.restart, .restart) : nil
  }

  /// Asks one question at a time: an unwanted question is withdrawn, and the next one follows its
  /// end.
  mutating func tendQuestion() {
    let wanted = wanted
    if let question {
      if question.isWithdrawn || question.subject == wanted?.subject { return }
      self.question?.isWithdrawn = true
      act(.withdrawQuestion)
    } else if let wanted {
      question = StandingQuestion(subject: wanted.subject)
      act(.ask(wanted.question))
    }
  }

  mutating func answered(_ answer: Bool?) {
    let asked = question
    question = nil
    // An answer that came too late is ignored.
    guard let asked, !asked.isWithdrawn else { return }
    switch asked.subject {
    case .restart where answer == true: codes.startAnew()
    case .restart: endRun(.failure(Self.exhausted))
    case .consent(let number) where answer == true: stage(number)
    case .consent(let number): endSession(number, by: .declined)
    }
  }
}

extension Fault {
  fileprivate static let declined = Fault(
    .declined, "the offer was not accepted", telling: "the offer was not accepted on the receiving device")
}
