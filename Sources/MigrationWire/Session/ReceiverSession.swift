/// The receiver's half of the conversation on the control connection (Protocol §7.2).
///
/// A value: messages and events in, actions out. It knows no clock, no socket and no file.
package struct ReceiverSession: Equatable, Sendable {
  private enum State: Equatable {
    /// Leads to waiting.
    case greeting
    /// Leads to judging.
    case waiting
    /// The loop checks the offer, which may continue a transfer. Leads to reporting, answered,
    /// closed.
    case judging(continuing: Bool)
    /// The ledger is being sent. Leads to receiving.
    case reporting
    /// Leads to importing.
    case receiving(lastDropped: Mark?, NamingBudget)
    /// Leads to answered.
    case importing
    /// Leads to done.
    case answered
    case done
    case closed
  }

  /// The engine's action upon a message.
  package enum Action: Equatable, Sendable {
    case nothing
    case say(ControlMessage)
    case meet(Greeting)
    case judge(Offer)
    case noteUnsent(Unsent)
    case drop([Mark])
    /// The export has ended: verify and import.
    case conclude(Finish)
    /// The sender has confirmed DONE.
    case finish
    /// The other end has closed.
    case stop(Close)
  }

  private var state = State.greeting
  /// Whether items may be refused.
  private var mayRefuse = false
  private var refusals = NamingBudget()

  /// Begins at READY.
  package init() {}

  package var isDone: Bool { state == .done }
  package var isJudging: Bool { if case .judging = state { true } else { false } }
  package var isImporting: Bool { state == .importing }
  /// Whether data streams may join.
  package var isReceiving: Bool { if case .receiving = state { true } else { false } }

  /// Takes a message. Valid in every state; in closed it has no effect.
  package mutating func received(_ message: ControlMessage) throws(Violation) -> Action {
    guard state != .closed else { return .nothing }
    switch message {
    case .ping(let token): return .say(.pong(token))
    case .pong: return .nothing
    case .close(let close):
      state = .closed
      return .stop(close)
    case .greeting(let greeting):
      guard state == .greeting, greeting.role == .sender else { throw Violation(.state, "the greeting") }
      state = .waiting
      return .meet(greeting)
    case .offer(let offer):
      guard state == .waiting else { throw Violation(.state, "the offer") }
      state = .judging(continuing: offer.transfer != nil)
      mayRefuse = offer.mayBeRefused
      return .judge(offer)
    case .unsent(let unsent): return try named(unsent)
    case .drop(let drop): return try dropped(drop.marks)
    case .finish(let finish):
      guard isReceiving else { throw Violation(.state, "the end of the export") }
      state = .importing
      return .conclude(finish)
    case .receipt:
      guard state == .answered else { throw Violation(.state, "the receipt") }
      state = .done
      return .finish
    case .accept, .held, .partial, .heldEnd, .progress, .done, .refused:
      throw Violation(.state, "a message that only a receiver sends")
    }
  }

  private mutating func named(_ unsent: Unsent) throws(Violation) -> Action {
    guard case .receiving(let last, var budget) = state else { throw Violation(.state, "an unsent item") }
    guard budget.take(unsent.size) else { throw Violation(.limit, "the list of unsent items") }
    state = .receiving(lastDropped: last, budget)
    return .noteUnsent(unsent)
  }

  private mutating func dropped(_ marks: [Mark]) throws(Violation) -> Action {
    guard case .receiving(let last, let budget) = state else { throw Violation(.state, "a list of dropped items") }
    if let last, last >= marks[0] { throw Violation(.value, "a list of dropped items") }
    state = .receiving(lastDropped: marks[marks.count - 1], budget)
    return .drop(marks)
  }

  /// Accepts the offer. Valid in judging; leads to reporting.
  package mutating func accept(_ accept: Accept) -> ControlMessage {
    precondition(isJudging, "an acceptance answers an offer")
    state = .reporting
    return .accept(accept)
  }

  /// Answers the offer of a transfer that was finished before. Valid in judging; leads to answered.
  package mutating func answerAgain(_ done: Done) -> ControlMessage {
    precondition(isJudging, "a finished transfer answers an offer")
    state = .answered
    return .done(done)
  }

  /// A page of the ledger. Valid in reporting.
  package func report(_ held: Held) -> ControlMessage {
    precondition(state == .reporting, "the ledger is told after the acceptance")
    return .held(held)
  }

  /// An incomplete file of the ledger. Valid in reporting.
  package func report(_ partial: Partial) -> ControlMessage {
    precondition(state == .reporting, "the ledger is told after the acceptance")
    return .partial(partial)
  }

  /// Ends the ledger. Valid in reporting; leads to receiving.
  package mutating func reported(_ held: Tally) -> ControlMessage {
    precondition(state == .reporting, "the ledger is told after the acceptance")
    state = .receiving(lastDropped: nil, NamingBudget())
    return .heldEnd(HeldEnd(held: held))
  }

  /// Whether a refusal can be sent now.
  package var mayTellRefusals: Bool {
    switch state {
    // Only an earlier session can have refused items already.
    case .judging(let continuing): continuing && mayRefuse
    case .receiving, .importing: mayRefuse
    case .greeting, .waiting, .reporting, .answered, .done, .closed: false
    }
  }

  /// Reports an item that the destination cannot hold. Valid in every state; nil if it cannot be
  /// sent, or if as many are named as may be: then only DONE counts it.
  package mutating func refused(_ refusal: Refusal) -> ControlMessage? {
    guard mayTellRefusals, refusals.take(refusal.size) else { return nil }
    return .refused(refusal)
  }

  /// Reports the progress of the import. Valid in importing.
  package func progress(_ progress: ImportProgress) -> ControlMessage {
    precondition(state == .importing, "progress is told while importing")
    return .progress(progress)
  }

  /// Reports that everything is imported and durable. Valid in importing; leads to answered.
  package mutating func imported(_ done: Done) -> ControlMessage {
    precondition(state == .importing, "the last word follows the import")
    state = .answered
    return .done(done)
  }

  /// Stops this end. Valid in every state; leads to closed.
  package mutating func close(_ close: Close) -> ControlMessage {
    state = .closed
    return .close(close)
  }
}
