/// The sender's half of the conversation on the control connection (Protocol §7.1).
///
/// A value: messages and events in, actions out. It knows no clock, no socket and no file.
package struct SenderConversation: Equatable, Sendable {
  private enum State: Equatable {
    /// Leads to preparing.
    case greeting
    /// The other end is known, the plan is not ready. Leads to planned.
    case preparing
    /// Leads to between.
    case planned(Plan)
    /// No part runs. Leads to offered, done.
    case between
    /// Leads to comparing, between, settling.
    case offered(ledgerRoom: UInt64, Earlier)
    /// The ledger is being received. Leads to streaming, between, settling.
    case comparing(LedgerOrder)
    /// Leads to finishing, between, settling.
    case streaming(lastDropped: Mark?, NamingBudget)
    /// Leads to between.
    case finishing(Tally)
    /// The part has failed here, and the receiver has not said so too. Leads to between.
    case settling(Earlier)
    case done
    case closed
  }

  /// This end's knowledge of a FINISH in earlier sessions of a transfer. The receiver can have
  /// finished only after such a FINISH, and its DONE has the same totals.
  package enum Earlier: Equatable, Sendable {
    case notFinished
    case finished(Tally)
    /// An earlier run of the program may have sent it.
    case unknown
  }

  /// The engine's action upon a message.
  package enum Action: Equatable, Sendable {
    case nothing
    case say(ControlMessage)
    /// The receiver is known; it may want an app.
    case meet(Greeting)
    case take(Verdict)
    case begin(Accept)
    case keepHeld(Held)
    case keepPartial(Partial)
    /// Join data streams and send.
    case stream(held: Tally)
    case show(ImportProgress)
    /// An item is not at the destination.
    case note(NotStored)
    /// Everything of the part has arrived.
    case finish(Done)
    /// The part has failed at the receiver; the answer is to be said.
    case giveUp(Close, answer: ControlMessage)
    /// The receiver has answered this end's FAILED; its reason counts.
    case settled(Close)
    /// The other end's addresses.
    case reach(Addresses)
    /// The other end has closed.
    case stop(Close)
  }

  private var state = State.greeting
  /// Whether the plan continues a transfer.
  private var continues = false
  private var newest: UInt16 = 0
  /// Whether the receiver may refuse items of the newest part.
  private var mayRefuse = false
  private var refusals = NamingBudget()

  private var count = AddressesCount()

  /// Begins at READY.
  package init() {}

  package var isDone: Bool { state == .done }
  package var isBetween: Bool { state == .between }
  /// Whether the receiver has the plan and has not judged it.
  package var isPlanned: Bool { if case .planned = state { true } else { false } }
  private var isSettling: Bool { if case .settling = state { true } else { false } }
  /// Whether a part runs.
  package var isOffered: Bool {
    switch state {
    case .offered, .comparing, .streaming, .finishing: true
    case .greeting, .preparing, .planned, .between, .settling, .done, .closed: false
    }
  }
  /// Whether everything of the part is sent, and only the receiver's DONE is missing.
  package var isFinishing: Bool { if case .finishing = state { true } else { false } }
  package var isStreaming: Bool { if case .streaming = state { true } else { false } }

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
    case .greeting(let greeting): return try met(greeting)
    case .verdict(let verdict): return try judged(verdict)
    case .failed(let failed): return try gaveUp(failed)
    case .done(let done): return try finished(done)
    // The receiver sent these before it knew of the failure.
    case .accept, .held, .partial, .heldEnd, .progress:
      if isSettling { return .nothing }
      return try receivedOfPart(message)
    case .notStored(let item): return try named(item)
    case .plan, .offer, .drop, .finish, .receipt: throw Violation(.state, "a message that only a sender sends")
    }
  }

  private mutating func receivedOfPart(_ message: ControlMessage) throws(Violation) -> Action {
    switch message {
    case .accept(let accept): return try accepted(accept)
    case .held(let held): return try toldHeld(held)
    case .partial(let partial): return try toldPartial(partial)
    case .heldEnd(let end): return try toldAll(end)
    case .progress(let progress):
      guard isFinishing else { throw Violation(.state, "the import's progress") }
      return .show(progress)
    default: return .nothing
    }
  }

  private mutating func told(_ addresses: Addresses) throws(Violation) -> Action {
    guard state != .greeting else { throw Violation(.state, "the addresses") }
    try count.take()
    return .reach(addresses)
  }

  private mutating func judged(_ verdict: Verdict) throws(Violation) -> Action {
    guard case .planned(let plan) = state else { throw Violation(.state, "the verdict") }
    try verdict.check(against: plan)
    state = .between
    return .take(verdict)
  }

  private mutating func gaveUp(_ failed: Failed) throws(Violation) -> Action {
    guard isOffered || isSettling, failed.part == newest else {
      throw Violation(.state, "the failure of a part")
    }
    let isAnswer = isSettling
    state = .between
    if isAnswer { return .settled(failed.close) }
    return .giveUp(failed.close, answer: .failed(Failed(part: newest, Close(failed.close.code))))
  }

  private mutating func met(_ greeting: Greeting) throws(Violation) -> Action {
    guard state == .greeting, greeting.role == .receiver else { throw Violation(.state, "the greeting") }
    state = .preparing
    return .meet(greeting)
  }

  private mutating func accepted(_ accept: Accept) throws(Violation) -> Action {
    guard case .offered(let room, _) = state else { throw Violation(.state, "the acceptance") }
    state = .comparing(LedgerOrder(room: room))
    return .begin(accept)
  }

  private mutating func toldHeld(_ held: Held) throws(Violation) -> Action {
    guard case .comparing(var order) = state else { throw Violation(.state, "a page of the ledger") }
    try order.check(held)
    state = .comparing(order)
    return .keepHeld(held)
  }

  private mutating func toldPartial(_ partial: Partial) throws(Violation) -> Action {
    guard case .comparing(var order) = state else { throw Violation(.state, "an incomplete file") }
    try order.count(partial)
    state = .comparing(order)
    return .keepPartial(partial)
  }

  private mutating func toldAll(_ end: HeldEnd) throws(Violation) -> Action {
    guard case .comparing(let order) = state else { throw Violation(.state, "the end of the ledger") }
    guard order.staged == end.held.items else { throw Violation(.conflict, "the end of the ledger") }
    state = .streaming(lastDropped: nil, NamingBudget())
    return .stream(held: end.held)
  }

  private mutating func named(_ item: NotStored) throws(Violation) -> Action {
    // The receiver does not say what the sender could not send.
    guard item.reason.party != .sender else { throw Violation(.value, "an item that is not stored") }
    if isSettling { return .nothing }
    switch state {
    // Before ACCEPT only where an earlier session may have finished the part.
    case .offered(_, .notFinished): throw Violation(.state, "an item that is not stored")
    case .offered, .streaming, .finishing:
      guard mayRefuse else { throw Violation(.state, "an item that is not stored") }
    case .greeting, .preparing, .planned, .between, .comparing, .settling, .done, .closed:
      throw Violation(.state, "an item that is not stored")
    }
    guard refusals.take(item.size) else { throw Violation(.limit, "the list of items that are not stored") }
    return .note(item)
  }

  private mutating func finished(_ done: Done) throws(Violation) -> Action {
    let earlier: Earlier
    switch state {
    // In settling it has crossed this end's FAILED.
    case .offered(_, let known), .settling(let known): earlier = known
    case .finishing(let total): earlier = .finished(total)
    case .greeting, .preparing, .planned, .between, .comparing, .streaming, .done, .closed: earlier = .notFinished
    }
    switch earlier {
    case .notFinished: throw Violation(.state, "the receiver's last word")
    case .unknown:
      guard max(done.total.items, done.total.bytes) <= Limits.fileSize else {
        throw Violation(.limit, "the receiver's last word")
      }
    case .finished(let total):
      guard done.total == total else { throw Violation(.conflict, "the receiver's last word") }
    }
    state = .between
    return .finish(done)
  }

  /// Says the plan. Valid in preparing; leads to planned.
  package mutating func plan(_ plan: Plan) -> ControlMessage {
    precondition(state == .preparing, "a plan follows the greeting")
    continues = plan.transfer != nil
    state = .planned(plan)
    return .plan(plan)
  }

  /// Offers a part. `mayRefuse` tells whether the receiver may refuse its items. Valid in between;
  /// leads to offered.
  ///
  /// `earlier` counts only if the plan continues a transfer.
  package mutating func offer(
    _ totals: PartTotals, mayRefuse: Bool, earlier: Earlier = .unknown
  ) -> ControlMessage {
    precondition(state == .between, "one part after the other is offered")
    self.mayRefuse = mayRefuse
    newest = totals.part
    refusals = NamingBudget()
    state = .offered(ledgerRoom: Limits.ledgerRoom(items: totals.items), continues ? earlier : .notFinished)
    return .offer(totals)
  }

  /// Names an item that is left out; nil if as many are named as may be, and only FINISH counts it.
  /// Valid in streaming.
  package mutating func name(_ item: NotStored) -> ControlMessage? {
    guard case .streaming(let last, var budget) = state else {
      preconditionFailure("items that are left out are named while streaming")
    }
    guard budget.take(item.size) else { return nil }
    state = .streaming(lastDropped: last, budget)
    return .notStored(item)
  }

  /// Drops held items that the source no longer has. Valid in streaming; marks ascend over all
  /// calls.
  package mutating func drop(_ marks: [Mark]) -> ControlMessage {
    guard case .streaming(let last, let budget) = state, let first = marks.first, last.map({ $0 < first }) ?? true
    else {
      preconditionFailure("dropped items are named in order while streaming")
    }
    state = .streaming(lastDropped: marks.last, budget)
    return .drop(Drop(marks: marks))
  }

  /// Ends the export, once every DATA frame is written. Valid in streaming; leads to finishing.
  package mutating func finish(_ finish: Finish) -> ControlMessage {
    precondition(isStreaming, "the export ends while streaming")
    state = .finishing(finish.total)
    return .finish(finish)
  }

  /// The part fails here. Valid from offered to streaming; leads to settling.
  package mutating func fail(_ close: Close) -> ControlMessage {
    precondition(isOffered && !isFinishing, "a part fails while it is sent")
    // Behind ACCEPT only FINISH leads to DONE.
    if case .offered(_, let earlier) = state { state = .settling(earlier) } else { state = .settling(.notFinished) }
    return .failed(Failed(part: newest, close))
  }

  /// Ends the session: every part has its result. Valid in between; leads to done.
  package mutating func receipt() -> ControlMessage {
    precondition(state == .between, "a receipt follows the last part")
    state = .done
    return .receipt
  }

  /// Stops this end. Valid in every state; leads to closed.
  package mutating func close(_ close: Close) -> ControlMessage {
    state = .closed
    return .close(close)
  }
}
