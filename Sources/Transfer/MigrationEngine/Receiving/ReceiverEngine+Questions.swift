package import MigrationWire

/// The questions to the user: whether to take what a sender offers, and whether to wait on after the last code.
extension ReceiverEngine {
  /// The questions that the user is to be asked now, the first one first.
  private var wanted: [(subject: QuestionSubject, question: Question)] {
    var wanted: [(subject: QuestionSubject, question: Question)] = phase.sessions.compactMap { number in
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
      question = (wanted.subject, isWithdrawn: false)
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

  enum QuestionSubject: Equatable, Sendable {
    case restart
    /// Whether to accept a session's plan.
    case consent(SessionNumber)
  }
}

extension Failure {
  /// The user of this device has not taken it.
  package static let notTaken = Failure(
    .declined, "you did not take it", hint: DataHint.notTaken.text, for: .leftOut)
}
