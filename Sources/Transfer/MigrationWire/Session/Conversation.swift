/// The conversation on a control connection, by the rules of both ends (Protocol §7.1, §7.2).
///
/// A value: it knows no clock, no socket and no file. Each end has one, to which it gives the messages
/// of both ends: its own as it says them, the other end's as they come.
package struct Conversation: Equatable, Sendable {
  /// The states of the sender's table. A receiver has other names for most of them.
  private enum State {
    /// Leads to met.
    case greeting
    /// The other end is known, and the plan comes next (preparing, waiting). Leads to planned.
    case met
    /// The receiver judges the plan. Leads to between.
    case planned
    /// No part runs. Leads to offered, done.
    case between
    /// The receiver judges the offer, which may continue a part. Leads to comparing, between, settling.
    case offered
    /// The receiver sends the ledger (reporting). Leads to streaming, between, settling.
    case comparing
    /// Data comes (receiving). Leads to finishing, between, settling.
    case streaming
    /// The receiver verifies and imports (importing). Leads to between, settling.
    case finishing
    /// The part has failed at this end, and the other end has not said so too. Leads to between.
    case settling
    case done
    case closed
  }

  /// The sender's knowledge of a FINISH in earlier sessions of a transfer. The receiver can have
  /// finished only after such a FINISH, and its DONE has the same totals.
  package enum Earlier: Equatable, Sendable {
    case notFinished
    case finished(Tally)
    /// An earlier run of the program may have sent it.
    case unknown
  }

  /// The part that was offered last.
  private struct OfferedPart: Equatable {
    let number: UInt16
    /// The FINISH to which a DONE belongs that comes now.
    var earlier: Earlier
    var ledger: LedgerOrder
    var lastDropped: Mark?
    /// The items that the sender has left out, and that the receiver has refused.
    var unsent = NamingBudget()
    var refusals = NamingBudget()
    /// At a receiver: whether the part has ended by DONE, which the sender's FAILED may cross.
    var mayCross = false
  }

  private let own: Role
  private var state = State.greeting
  private var plan: Plan?
  /// The parts that the verdict takes or calls finished, and of them those that need a result in
  /// this session.
  private var offerable: Set<UInt16> = []
  private var pending: Set<UInt16> = []
  private var part: OfferedPart?
  private var count = AddressesCount()

  /// Begins at READY.
  package init(of own: Role) { self.own = own }

  package var isDone: Bool { state == .done }
  /// Whether the plan is said and not judged.
  package var isPlanned: Bool { state == .planned }
  package var isBetween: Bool { state == .between }
  package var isOffered: Bool { state == .offered }
  package var isComparing: Bool { state == .comparing }
  package var isStreaming: Bool { state == .streaming }
  /// Whether everything of the part is sent, and only the receiver's DONE is missing.
  package var isFinishing: Bool { state == .finishing }
  package var isSettling: Bool { state == .settling }
  /// Whether a part runs.
  package var isRunning: Bool { isOffered || isComparing || isStreaming || isFinishing }
  /// Whether every part has its result, and only RECEIPT is missing.
  package var isOver: Bool { isBetween && pending.isEmpty }

  /// Whether the plan is judged, and a part needs no result in this session any more.
  package func hasEnded(_ part: UInt16) -> Bool {
    switch state {
    case .greeting, .met, .planned: false
    case .between, .offered, .comparing, .streaming, .finishing, .settling, .done, .closed: !pending.contains(part)
    }
  }

  /// Takes a message of the other end. Valid in every state. Returns whether it counts: in closed, and
  /// where the other end did not know of a failure here, a message has no effect.
  package mutating func received(_ message: ControlMessage) throws(Violation) -> Bool {
    if state == .closed { return false }
    return try pass(message, by: own == .sender ? .receiver : .sender)
  }

  /// Says a message of this end. Valid in the states that the end's table lists.
  package mutating func say(_ message: ControlMessage) -> ControlMessage {
    do throws(Violation) {
      _ = try pass(message, by: own)
    } catch {
      preconditionFailure("\(error.subject) is said in its turn")
    }
    return message
  }

  /// Offers a part. `earlier` counts only if the plan continues a transfer.
  package mutating func offer(_ totals: PartTotals, earlier: Earlier) -> ControlMessage {
    let message = say(.offer(totals))
    if part?.earlier == .unknown { part?.earlier = earlier }
    return message
  }

  /// Names an item that is not stored; nil if it cannot be named now, or if as many are named as may
  /// be: then only FINISH, or DONE, counts it.
  package mutating func name(_ item: NotStored) -> ControlMessage? {
    (try? named(item, by: own)) == true ? .notStored(item) : nil
  }

  /// The part fails here. A receiver may say so until DONE, a sender until FINISH.
  package mutating func fail(_ close: Close) -> ControlMessage {
    guard let part else { preconditionFailure("a part fails while it runs") }
    return say(.failed(Failed(part: part.number, close)))
  }

  // MARK: The rules

  private mutating func pass(_ message: ControlMessage, by speaker: Role) throws(Violation) -> Bool {
    if let only = message.speaker, only != speaker { throw Violation(.state, "a message that only a \(only) sends") }
    switch message {
    case .ping, .pong: break
    case .close: state = .closed
    case .addresses:
      guard state != .greeting else { throw Violation(.state, "the addresses") }
      if speaker != own { try count.take() }
    case .greeting(let greeting):
      guard state == .greeting, greeting.role == speaker else { throw Violation(.state, "the greeting") }
      state = .met
    case .plan(let plan):
      guard state == .met else { throw Violation(.state, "the plan") }
      (state, self.plan) = (.planned, plan)
    case .verdict(let verdict): try judged(verdict, by: speaker)
    case .offer(let totals): try offered(totals)
    case .accept, .held, .partial, .heldEnd, .progress, .drop, .finish:
      // The other end sent it before it knew of the failure.
      if state == .settling, speaker != own { return false }
      try passOfPart(message, by: speaker)
    case .notStored(let item): return try named(item, by: speaker)
    case .failed(let failed): return try gaveUp(failed, by: speaker)
    case .done(let done): try finished(done, by: speaker)
    case .receipt:
      guard isOver else { throw Violation(.state, "the receipt") }
      state = .done
    }
    return true
  }

  private mutating func judged(_ verdict: Verdict, by speaker: Role) throws(Violation) {
    guard state == .planned, let plan else { throw Violation(.state, "the verdict") }
    if speaker != own { try verdict.check(against: plan) }
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
  }

  private mutating func offered(_ totals: PartTotals) throws(Violation) {
    guard state == .between, part.map({ $0.number < totals.part }) ?? true, offerable.contains(totals.part) else {
      throw Violation(.state, "the offer")
    }
    state = .offered
    part = OfferedPart(
      number: totals.part, earlier: plan?.transfer == nil ? .notFinished : .unknown,
      ledger: LedgerOrder(room: Limits.ledgerRoom(items: totals.items)))
  }

  /// A message about the running part, besides its beginning and its end.
  private mutating func passOfPart(_ message: ControlMessage, by speaker: Role) throws(Violation) {
    let isOwn = speaker == own
    switch message {
    case .accept:
      guard state == .offered else { throw Violation(.state, "the acceptance") }
      state = .comparing
      part?.earlier = .notFinished
    case .held(let held):
      guard state == .comparing else { throw Violation(.state, "a page of the ledger") }
      if !isOwn { try part?.ledger.check(held) }
    case .partial(let partial):
      guard state == .comparing else { throw Violation(.state, "an incomplete file") }
      if !isOwn { try part?.ledger.count(partial) }
    case .heldEnd(let end):
      guard state == .comparing else { throw Violation(.state, "the end of the ledger") }
      guard isOwn || part?.ledger.staged == end.held.items else { throw Violation(.conflict, "the end of the ledger") }
      state = .streaming
    case .drop(let marks):
      guard state == .streaming else { throw Violation(.state, "a list of dropped items") }
      if let last = part?.lastDropped, last >= marks[0] { throw Violation(.value, "a list of dropped items") }
      part?.lastDropped = marks.last
    case .finish(let finish):
      guard state == .streaming else { throw Violation(.state, "the end of the export") }
      state = .finishing
      part?.earlier = .finished(finish.total)
    case .progress: guard state == .finishing else { throw Violation(.state, "the import's progress") }
    default: break
    }
  }

  private mutating func named(_ item: NotStored, by speaker: Role) throws(Violation) -> Bool {
    let subject = "an item that is not stored"
    switch speaker {
    // Only the receiver knows a state that it does not hold.
    case .sender: guard item.generation == nil else { throw Violation(.field, subject) }
    // The receiver does not say what the sender could not send.
    case .receiver: guard item.reason.party != .sender else { throw Violation(.value, subject) }
    }
    if state == .settling, speaker != own { return false }
    guard mayName(speaker) else { throw Violation(.state, subject) }
    let hasRoom = speaker == .sender ? part?.unsent.take(item.size) : part?.refusals.take(item.size)
    guard hasRoom == true else { throw Violation(.limit, "the list of items that are not stored") }
    return true
  }

  private func mayName(_ speaker: Role) -> Bool {
    if speaker == .sender { return state == .streaming }
    guard let part, plan?.parts[Int(part.number)].mayBeRefused == true else { return false }
    // Before ACCEPT only where an earlier session may have finished the part.
    return isStreaming || isFinishing || isOffered && part.earlier != .notFinished
  }

  private mutating func gaveUp(_ failed: Failed, by speaker: Role) throws(Violation) -> Bool {
    let subject = "the failure of a part"
    guard failed.part == part?.number else { throw Violation(.state, subject) }
    switch state {
    case .offered, .comparing, .streaming, .finishing:
      // Behind FINISH only the receiver can fail.
      guard state != .finishing || speaker == .receiver else { throw Violation(.state, subject) }
      if speaker == own { state = .settling } else { end() }
      return true
    case .settling where speaker != own:
      end()
      return true
    case .between where part?.mayCross == true:
      part?.mayCross = false
      return false
    case .greeting, .met, .planned, .between, .settling, .done, .closed: throw Violation(.state, subject)
    }
  }

  private mutating func finished(_ done: Done, by speaker: Role) throws(Violation) {
    let subject = "the receiver's last word"
    // At a sender in settling it has crossed this end's FAILED.
    guard isOffered || isFinishing || isSettling && speaker != own else { throw Violation(.state, subject) }
    if speaker != own {
      switch part?.earlier ?? .notFinished {
      case .notFinished: throw Violation(.state, subject)
      case .unknown:
        guard max(done.total.items, done.total.bytes) <= Limits.fileSize else { throw Violation(.limit, subject) }
      case .finished(let total): guard done.total == total else { throw Violation(.conflict, subject) }
      }
    }
    end(byDone: true)
  }

  /// The newest part has its result.
  private mutating func end(byDone: Bool = false) {
    state = .between
    if let number = part?.number { pending.remove(number) }
    part?.earlier = .notFinished
    part?.mayCross = byDone && own == .receiver
  }
}

extension ControlMessage {
  /// The end that alone may send such a message; nil if both may.
  fileprivate var speaker: Role? {
    switch self {
    case .plan, .offer, .drop, .finish, .receipt: .sender
    case .verdict, .accept, .held, .partial, .heldEnd, .progress, .done: .receiver
    case .greeting, .notStored, .failed, .addresses, .ping, .pong, .close: nil
    }
  }
}
