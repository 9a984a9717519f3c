/// The receiver's half of the conversation on the control connection (Protocol §7.2).
///
/// A value: messages and events in, actions out. It knows no clock, no socket and no file.
package struct ReceiverConversation: Equatable, Sendable {
  private enum State: Equatable {
    /// Leads to waiting.
    case greeting
    /// Leads to judgingPlan.
    case waiting
    /// The loop judges the plan. Leads to between.
    case judgingPlan
    /// No part runs. Leads to judging, done.
    case between
    /// The loop checks the offer, which may continue a part. Leads to reporting, between, settling.
    case judging
    /// The ledger is being sent. Leads to receiving, between, settling.
    case reporting
    /// Leads to importing, between, settling.
    case receiving(lastDropped: Mark?, NamingBudget)
    /// Leads to between, settling.
    case importing
    /// The part has failed here, and the sender has not said so too. Leads to between.
    case settling
    case done
    case closed
  }

  /// The engine's action upon a message.
  package enum Action: Equatable, Sendable {
    case nothing
    case say(ControlMessage)
    case meet(Greeting)
    case judgePlan(Plan)
    case judge(PartTotals)
    case note(NotStored)
    case drop([Mark])
    /// The export has ended: verify and import.
    case conclude(Finish)
    /// The part has failed at the sender; the answer is to be said.
    case giveUp(Close, answer: ControlMessage)
    /// The sender has answered this end's FAILED.
    case settled
    /// The sender knows the result of each part.
    case finish
    /// The other end's addresses.
    case reach(Addresses)
    /// The other end has closed.
    case stop(Close)
  }

  private var state = State.greeting
  private var continues = false
  /// The parts that the verdict takes or calls finished, and of them those that need a result in
  /// this session.
  private var offerable: Set<UInt16> = []
  private var pending: Set<UInt16> = []
  private var newest: UInt16?
  /// Whether the newest part has ended by DONE, which the sender's FAILED may cross.
  private var mayCross = false
  /// The parts whose items may be refused.
  private var refusable: Set<UInt16> = []
  private var refusals = NamingBudget()

  private var count = AddressesCount()

  /// Begins at READY.
  package init() {}

  package var isDone: Bool { state == .done }
  package var isJudgingPlan: Bool { state == .judgingPlan }
  package var isJudging: Bool { state == .judging }
  package var isImporting: Bool { state == .importing }
  package var isBetween: Bool { state == .between }
  package var isSettling: Bool { state == .settling }
  /// Whether the newest part can fail here.
  package var mayFail: Bool { isJudging || state == .reporting || isReceiving || isImporting }
  /// Whether data of a part arrives.
  package var isReceiving: Bool { if case .receiving = state { true } else { false } }
  /// Whether every part has its result, and only RECEIPT is missing.
  package var isOver: Bool { state == .between && pending.isEmpty }

  /// Whether the plan is judged, and a part needs no result in this session any more.
  package func hasEnded(_ part: UInt16) -> Bool {
    switch state {
    case .greeting, .waiting, .judgingPlan: false
    case .between, .judging, .reporting, .receiving, .importing, .settling, .done, .closed: !pending.contains(part)
    }
  }

  /// Takes a message. Valid in every state; in closed it has no effect.
  package mutating func received(_ message: ControlMessage) throws(Violation) -> Action {
    guard state != .closed else { return .nothing }
    switch message {
    case .ping(let token): return .say(.pong(token))
    case .pong: return .nothing
    case .close(let close):
      state = .closed
      return .stop(close)
    case .addresses(let addresses): return try told(addresses)
    case .greeting(let greeting):
      guard state == .greeting, greeting.role == .sender else { throw Violation(.state, "the greeting") }
      state = .waiting
      return .meet(greeting)
    case .plan(let plan):
      guard state == .waiting else { throw Violation(.state, "the plan") }
      state = .judgingPlan
      continues = plan.transfer != nil
      for (number, part) in plan.parts.enumerated() where part.mayBeRefused { refusable.insert(UInt16(number)) }
      return .judgePlan(plan)
    case .offer(let totals): return try offered(totals)
    case .notStored(let item): return try named(item)
    case .drop(let drop): return try dropped(drop.marks)
    case .finish(let finish):
      if isSettling { return .nothing }
      guard isReceiving else { throw Violation(.state, "the end of the export") }
      state = .importing
      return .conclude(finish)
    case .failed(let failed): return try gaveUp(failed)
    case .receipt:
      guard isOver else { throw Violation(.state, "the receipt") }
      state = .done
      return .finish
    case .verdict, .accept, .held, .partial, .heldEnd, .progress, .done:
      throw Violation(.state, "a message that only a receiver sends")
    }
  }

  private mutating func told(_ addresses: Addresses) throws(Violation) -> Action {
    guard state != .greeting else { throw Violation(.state, "the addresses") }
    try count.take()
    return .reach(addresses)
  }

  private mutating func offered(_ totals: PartTotals) throws(Violation) -> Action {
    guard state == .between, newest.map({ $0 < totals.part }) ?? true, offerable.contains(totals.part) else {
      throw Violation(.state, "the offer")
    }
    (state, newest, mayCross) = (.judging, totals.part, false)
    refusals = NamingBudget()
    return .judge(totals)
  }

  private mutating func named(_ item: NotStored) throws(Violation) -> Action {
    let subject = "an item that is not stored"
    // Only the receiver knows a state that it does not hold.
    guard item.generation == nil else { throw Violation(.field, subject) }
    if isSettling { return .nothing }
    guard case .receiving(let last, var budget) = state else { throw Violation(.state, subject) }
    guard budget.take(item.size) else { throw Violation(.limit, "the list of items that are not stored") }
    state = .receiving(lastDropped: last, budget)
    return .note(item)
  }

  private mutating func dropped(_ marks: [Mark]) throws(Violation) -> Action {
    if isSettling { return .nothing }
    guard case .receiving(let last, let budget) = state else { throw Violation(.state, "a list of dropped items") }
    if let last, last >= marks[0] { throw Violation(.value, "a list of dropped items") }
    state = .receiving(lastDropped: marks[marks.count - 1], budget)
    return .drop(marks)
  }

  private mutating func gaveUp(_ failed: Failed) throws(Violation) -> Action {
    let subject = "the failure of a part"
    guard let newest, failed.part == newest else { throw Violation(.state, subject) }
    switch state {
    case .judging, .reporting, .receiving:
      end(newest)
      let answer = Failed(part: newest, Close(failed.close.code))
      return .giveUp(failed.close, answer: .failed(answer))
    case .settling:
      end(newest)
      return .settled
    case .between where mayCross:
      mayCross = false
      return .nothing
    case .greeting, .waiting, .judgingPlan, .between, .importing, .done, .closed: throw Violation(.state, subject)
    }
  }

  /// The newest part has its result.
  private mutating func end(_ part: UInt16, byDone: Bool = false) {
    state = .between
    pending.remove(part)
    mayCross = byDone
  }

  /// Judges the plan. Valid in judgingPlan; leads to between.
  package mutating func judged(_ verdict: Verdict) -> ControlMessage {
    precondition(isJudgingPlan, "a verdict answers a plan")
    state = .between
    for (number, part) in verdict.parts.enumerated() {
      switch part {
      case .taken:
        offerable.insert(UInt16(number))
        pending.insert(UInt16(number))
      case .finished: offerable.insert(UInt16(number))
      case .refused: break
      }
    }
    return .verdict(verdict)
  }

  /// Accepts the offer. Valid in judging; leads to reporting.
  package mutating func accept(_ accept: Accept) -> ControlMessage {
    precondition(isJudging, "an acceptance answers an offer")
    state = .reporting
    return .accept(accept)
  }

  /// Answers the offer of a part that is finished. Valid in judging; leads to between.
  package mutating func answerAgain(_ done: Done) -> ControlMessage {
    precondition(isJudging, "a finished part answers an offer")
    return finished(done)
  }

  private mutating func finished(_ done: Done) -> ControlMessage {
    guard let newest else { preconditionFailure("a part is finished that was offered") }
    end(newest, byDone: true)
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

  /// Names an item that is not stored. Valid in every state; nil if it cannot be sent, or if as many
  /// are named as may be: then only DONE counts it.
  package mutating func name(_ item: NotStored) -> ControlMessage? {
    let maySay =
      switch state {
      // Before a DONE that answers the offer: only an earlier session can have refused items.
      case .judging: continues
      case .receiving, .importing: true
      case .greeting, .waiting, .judgingPlan, .between, .reporting, .settling, .done, .closed: false
      }
    guard maySay, let newest, refusable.contains(newest), refusals.take(item.size) else { return nil }
    return .notStored(item)
  }

  /// Reports the progress of the import. Valid in importing.
  package func progress(_ progress: ImportProgress) -> ControlMessage {
    precondition(state == .importing, "progress is told while importing")
    return .progress(progress)
  }

  /// Reports that everything of the part is imported and durable. Valid in importing; leads to
  /// between.
  package mutating func imported(_ done: Done) -> ControlMessage {
    precondition(state == .importing, "the last word about a part follows its import")
    return finished(done)
  }

  /// The part fails here. Valid in judging to importing; leads to settling.
  package mutating func fail(_ close: Close) -> ControlMessage {
    guard mayFail, let newest else { preconditionFailure("a part fails while it runs") }
    state = .settling
    return .failed(Failed(part: newest, close))
  }

  /// Stops this end. Valid in every state; leads to closed.
  package mutating func close(_ close: Close) -> ControlMessage {
    state = .closed
    return .close(close)
  }
}
