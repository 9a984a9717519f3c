import Expectations
import Testing

@testable import MigrationWire

/// Both machines of a session; each message goes through its bytes.
struct Talk {
  var sender = Conversation(of: .sender)
  var receiver = Conversation(of: .receiver)

  private func carried(_ message: ControlMessage) throws -> ControlMessage {
    guard case .control(let read)? = try Frame(message.frame) else { throw Violation(.unknown, "a message") }
    expect(read, is: message)
    return read
  }

  mutating func toReceiver(_ message: ControlMessage) throws -> Bool {
    try receiver.received(try carried(message))
  }

  mutating func toSender(_ message: ControlMessage) throws -> Bool {
    try sender.received(try carried(message))
  }

  /// Brings both from READY to the verdict, which takes each part unless another one is given.
  mutating func meet(
    _ parts: [Part] = [Sample.folders], continuing transfer: TransferID? = nil, verdict: [Verdict.Judgement]? = nil
  ) throws {
    expect(try toReceiver(.greeting(Sample.greeting(.sender))))
    expect(try toSender(.greeting(Sample.greeting(.receiver))))
    let plan = Plan(parts, continuing: transfer)
    expect(try toReceiver(sender.say(.plan(plan))))
    let verdict = Sample.verdict(verdict ?? parts.map { _ in .taken() }, of: transfer ?? 1)
    expect(try toSender(receiver.say(.verdict(verdict))))
  }

  /// Offers a part.
  mutating func offer(
    _ number: UInt16 = 0, earlier: Conversation.Earlier = .unknown
  ) throws {
    let totals = Sample.totals(number)
    expect(try toReceiver(sender.offer(totals, earlier: earlier)))
  }

  /// Brings a session to the offer of its only part.
  mutating func begin(
    _ part: Part = Sample.folders, continuing transfer: TransferID? = nil,
    earlier: Conversation.Earlier = .unknown
  ) throws {
    try meet([part], continuing: transfer)
    try offer(earlier: earlier)
  }

  /// Brings an offered part to its data.
  mutating func stream() throws {
    expect(try toSender(receiver.say(.accept(Sample.accept))))
    expect(try toSender(receiver.say(.heldEnd(HeldEnd(held: Tally())))))
  }

  /// Ends a part by FINISH and DONE.
  mutating func end() throws {
    expect(try toReceiver(sender.say(.finish(Sample.finish))))
    expect(try toSender(receiver.say(.done(Sample.done))))
  }
}
