/// The sender's half of the conversation on the control connection (Protocol §7.1).
///
/// A value: messages and events in, actions out. It knows no clock, no socket and no file.
package struct SenderSession: Equatable, Sendable {
  private enum State: Equatable {
    /// Leads to preparing.
    case greeting
    /// The other end is known, the offer is not ready. Leads to offered.
    case preparing
    /// Leads to comparing, done.
    case offered(mostStaged: UInt64, Earlier)
    /// The ledger is being received. Leads to streaming.
    case comparing(LedgerOrder)
    /// Leads to finishing.
    case streaming(lastDropped: Mark?, NamingBudget)
    /// Leads to done.
    case finishing(Tally)
    case done
    case closed
  }

  /// What this end knows of a FINISH in earlier sessions of a transfer. The receiver can only have
  /// finished after one of them, and its DONE has the same totals.
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
    case begin(Accept)
    case keepHeld(Held)
    case keepPartial(Partial)
    /// Join data streams and send.
    case stream(held: Tally)
    case show(ImportProgress)
    /// The destination cannot hold an item.
    case noteRefused(Refusal)
    /// Everything has arrived; say RECEIPT and close.
    case finish(Done)
    /// The other end has closed.
    case stop(Close)
  }

  private var state = State.greeting
  /// Whether the receiver may refuse items.
  private var mayRefuse = false
  /// Whether the offer continues a transfer.
  private var continues = false
  private var refusals = NamingBudget()

  /// Begins at READY.
  package init() {}

  package var isDone: Bool { state == .done }
  /// Whether everything is sent, and only the receiver's DONE is missing.
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
    case .greeting(let greeting): return try met(greeting)
    case .accept(let accept): return try accepted(accept)
    case .held(let held): return try toldHeld(held)
    case .partial(let partial): return try toldPartial(partial)
    case .heldEnd(let end): return try toldAll(end)
    case .progress(let progress):
      guard case .finishing = state else { throw Violation(.state, "the import's progress") }
      return .show(progress)
    case .refused(let refusal): return try refused(refusal)
    case .done(let done): return try finished(done)
    case .offer, .drop, .unsent, .finish, .receipt: throw Violation(.state, "a message that only a sender sends")
    }
  }

  private mutating func met(_ greeting: Greeting) throws(Violation) -> Action {
    guard state == .greeting, greeting.role == .receiver else { throw Violation(.state, "the greeting") }
    state = .preparing
    return .meet(greeting)
  }

  private mutating func accepted(_ accept: Accept) throws(Violation) -> Action {
    guard case .offered(let mostStaged, _) = state else { throw Violation(.state, "the acceptance") }
    state = .comparing(LedgerOrder(mostStaged: mostStaged))
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
    try order.countPartial()
    state = .comparing(order)
    return .keepPartial(partial)
  }

  private mutating func toldAll(_ end: HeldEnd) throws(Violation) -> Action {
    guard case .comparing(let order) = state else { throw Violation(.state, "the end of the ledger") }
    guard order.staged == end.held.items else { throw Violation(.conflict, "the end of the ledger") }
    state = .streaming(lastDropped: nil, NamingBudget())
    return .stream(held: end.held)
  }

  private mutating func refused(_ refusal: Refusal) throws(Violation) -> Action {
    switch state {
    // Only an earlier session can have refused items before ACCEPT.
    case .offered where !continues: throw Violation(.state, "an item that is not stored")
    case .offered, .streaming, .finishing:
      guard mayRefuse else { throw Violation(.state, "an item that is not stored") }
    case .greeting, .preparing, .comparing, .done, .closed: throw Violation(.state, "an item that is not stored")
    }
    guard refusals.take(refusal.size) else { throw Violation(.limit, "the list of items that are not stored") }
    return .noteRefused(refusal)
  }

  private mutating func finished(_ done: Done) throws(Violation) -> Action {
    switch state {
    case .offered(_, .notFinished): throw Violation(.state, "the receiver's last word")
    case .offered(_, .unknown):
      guard max(done.total.items, done.total.bytes) <= Limits.fileSize else {
        throw Violation(.limit, "the receiver's last word")
      }
    case .offered(_, .finished(let total)), .finishing(let total):
      guard done.total == total else { throw Violation(.conflict, "the receiver's last word") }
    case .greeting, .preparing, .comparing, .streaming, .done, .closed:
      throw Violation(.state, "the receiver's last word")
    }
    state = .done
    return .finish(done)
  }

  /// Makes the offer. Valid in preparing; leads to offered.
  ///
  /// An offer that continues no transfer has nothing earlier.
  package mutating func offer(_ offer: Offer, earlier: Earlier = .unknown) -> ControlMessage {
    precondition(state == .preparing, "an offer follows the greeting")
    (mayRefuse, continues) = (offer.mayBeRefused, offer.transfer != nil)
    state = .offered(mostStaged: offer.mostStaged, offer.transfer == nil ? .notFinished : earlier)
    return .offer(offer)
  }

  /// Reports an item that could not be sent; nil if as many are named as may be, and only FINISH
  /// counts it. Valid in streaming.
  package mutating func unsent(_ unsent: Unsent) -> ControlMessage? {
    guard case .streaming(let last, var budget) = state else {
      preconditionFailure("unsent items are named while streaming")
    }
    guard budget.take(unsent.size) else { return nil }
    state = .streaming(lastDropped: last, budget)
    return .unsent(unsent)
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

  /// Ends the export, of which every DATA frame is written. Valid in streaming; leads to finishing.
  package mutating func finish(_ finish: Finish) -> ControlMessage {
    precondition(isStreaming, "the export ends while streaming")
    state = .finishing(finish.total)
    return .finish(finish)
  }

  /// Stops this end. Valid in every state; leads to closed.
  package mutating func close(_ close: Close) -> ControlMessage {
    state = .closed
    return .close(close)
  }
}
