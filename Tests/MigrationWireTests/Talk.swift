import Expectations
import Testing

@testable import MigrationWire

/// Both machines of a session; each message goes through its bytes.
struct Talk {
  var sender = SenderConversation()
  var receiver = ReceiverConversation()

  private func carried(_ message: ControlMessage) throws -> ControlMessage {
    guard case .control(let read)? = try Frame(message.frame) else { throw Violation(.unknown, "a message") }
    expect(read, is: message)
    return read
  }

  mutating func toReceiver(_ message: ControlMessage) throws -> ReceiverConversation.Action {
    try receiver.received(try carried(message))
  }

  mutating func toSender(_ message: ControlMessage) throws -> SenderConversation.Action {
    try sender.received(try carried(message))
  }

  /// Brings both from READY to the verdict, which takes each part unless another one is given.
  mutating func meet(
    _ parts: [Part] = [Sample.folders], continuing transfer: TransferID? = nil, verdict: [Verdict.Judgement]? = nil
  ) throws {
    expect(try toReceiver(.greeting(Sample.greeting(.sender))), is: .meet(Sample.greeting(.sender)))
    expect(try toSender(.greeting(Sample.greeting(.receiver))), is: .meet(Sample.greeting(.receiver)))
    let plan = Plan(parts, continuing: transfer)
    expect(try toReceiver(sender.plan(plan)), is: .judgePlan(plan))
    let verdict = Sample.verdict(verdict ?? parts.map { _ in .taken() }, of: transfer ?? 1)
    expect(try toSender(receiver.judged(verdict)), is: .take(verdict))
  }

  /// Offers a part.
  mutating func offer(
    _ number: UInt16 = 0, mayRefuse: Bool = true, earlier: SenderConversation.Earlier = .unknown
  ) throws {
    let totals = Sample.totals(number)
    expect(try toReceiver(sender.offer(totals, mayRefuse: mayRefuse, earlier: earlier)), is: .judge(totals))
  }

  /// Brings a session to the offer of its only part.
  mutating func begin(
    _ part: Part = Sample.folders, continuing transfer: TransferID? = nil,
    earlier: SenderConversation.Earlier = .unknown
  ) throws {
    try meet([part], continuing: transfer)
    try offer(mayRefuse: part.mayBeRefused, earlier: earlier)
  }

  /// Brings an offered part to its data.
  mutating func stream() throws {
    expect(try toSender(receiver.accept(Sample.accept)), is: .begin(Sample.accept))
    expect(try toSender(receiver.reported(Tally())), is: .stream(held: Tally()))
  }

  /// Ends a part by FINISH and DONE.
  mutating func end() throws {
    expect(try toReceiver(sender.finish(Sample.finish)), is: .conclude(Sample.finish))
    expect(try toSender(receiver.imported(Sample.done)), is: .finish(Sample.done))
  }
}
