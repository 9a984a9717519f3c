import Expectations
import Testing

@testable import MigrationWire

/// Sessions of several parts, and parts that fail.
@Suite struct PartTests {
  private static let three = [Sample.folders, Sample.app, Sample.files]
  private static let close = Close(.storage, "the disk has failed")

  @Test func `the parts run one after the other`() throws {
    var talk = Talk()
    try talk.meet(Self.three)
    for number in 0...2 as ClosedRange<UInt16> {
      expect(talk.sender.isBetween && talk.receiver.isBetween && !talk.receiver.isOver)
      try talk.offer(number)
      #expect(throws: Violation.self) { try talk.receiver.received(.offer(Sample.totals(number + 1))) }
      try talk.stream()
      try talk.end()
    }
    expect(talk.receiver.isOver)
    expect(try talk.toReceiver(talk.sender.say(.receipt)))
  }

  @Test func `parts are offered in ascending order, each at most once, and only taken or finished ones`() throws {
    var talk = Talk()
    let parts = [Part](repeating: Sample.folders, count: 5)
    try talk.meet(parts, continuing: 7, verdict: [.taken(), .taken(), .refused(Self.close), .finished, .taken()])
    for number in [2, 5, .max] as [UInt16] {
      #expect(throws: Violation.self) { try talk.receiver.received(.offer(Sample.totals(number))) }
    }
    try talk.offer(1)
    _ = try talk.toReceiver(talk.sender.fail(Self.close))
    for number in [0, 1, 2] as [UInt16] {
      #expect(throws: Violation.self) { try talk.receiver.received(.offer(Sample.totals(number))) }
    }
    _ = try talk.toSender(.failed(Failed(part: 1, Self.close)))
    try talk.offer(3)
    expect(try talk.toSender(talk.receiver.say(.done(Sample.done))))
    #expect(throws: Violation.self) { try talk.receiver.received(.offer(Sample.totals(3))) }
    try talk.offer(4)
  }

  @Test func `RECEIPT waits for a result of each part that is taken, and of no other`() throws {
    var talk = Talk()
    try talk.meet(
      [Part](repeating: Sample.folders, count: 4), continuing: 7,
      verdict: [.taken(), .refused(Self.close), .finished, .taken()])
    #expect(throws: Violation.self) { try talk.receiver.received(.receipt) }
    try talk.offer(0)
    #expect(throws: Violation.self) { try talk.receiver.received(.receipt) }
    try talk.stream()
    try talk.end()
    expect(!talk.receiver.isOver)
    #expect(throws: Violation.self) { try talk.receiver.received(.receipt) }
    try talk.offer(3)
    let failed = talk.receiver.fail(Self.close)
    #expect(throws: Violation.self) { try talk.receiver.received(.receipt) }
    expect(try talk.toSender(failed))
    expect(try talk.toReceiver(.failed(Failed(part: 3, Self.close).answer)))
    expect(talk.receiver.isOver)
    expect(try talk.toReceiver(talk.sender.say(.receipt)))
    expect(talk.sender.isDone && talk.receiver.isDone)
  }

  @Test func `a plan of which nothing is taken ends with RECEIPT at once`() throws {
    var talk = Talk()
    try talk.meet(verdict: [.refused(Self.close)])
    expect(talk.receiver.isOver)
    expect(try talk.toReceiver(talk.sender.say(.receipt)))
  }

  /// How far a part has come.
  enum Stage: CaseIterable {
    case offered, reporting, streaming, importing
  }

  private func talk(at stage: Stage) throws -> Talk {
    var talk = Talk()
    try talk.meet(Self.three)
    try talk.offer(0)
    if stage == .offered { return talk }
    _ = try talk.toSender(talk.receiver.say(.accept(Sample.accept)))
    if stage == .reporting { return talk }
    _ = try talk.toSender(talk.receiver.say(.heldEnd(HeldEnd(held: Tally()))))
    if stage == .importing { _ = try talk.toReceiver(talk.sender.say(.finish(Sample.finish))) }
    return talk
  }

  @Test(arguments: Stage.allCases)
  func `a part fails at the receiver, the sender answers, and the next one runs`(stage: Stage) throws {
    var talk = try talk(at: stage)
    expect(talk.receiver.isRunning)
    let failed = talk.receiver.fail(Self.close)
    expect(!talk.receiver.isRunning && talk.receiver.isSettling)
    // What the sender says before it knows.
    if stage == .streaming {
      let unsent = talk.sender.name(Sample.unsent)
      expect(try !talk.toReceiver(try #require(unsent)))
      expect(try !talk.toReceiver(talk.sender.say(.drop([1]))))
      expect(try !talk.toReceiver(talk.sender.say(.finish(Sample.finish))))
    }
    expect(talk.receiver.name(Sample.refused) == nil)
    let answer = ControlMessage.failed(Failed(part: 0, Self.close).answer)
    expect(try talk.toSender(failed))
    expect(try talk.toReceiver(answer))
    for message in [answer, .notStored(Sample.unsent), .finish(Sample.finish)] {
      #expect(throws: Violation.self) { try talk.receiver.received(message) }
      #expect(throws: Violation.self) { try talk.sender.received(message) }
    }
    try talk.offer(1)
    try talk.stream()
    try talk.end()
  }

  @Test(arguments: [Stage.offered, .reporting, .streaming])
  func `a part fails at the sender, the receiver answers, and the next one runs`(stage: Stage) throws {
    var talk = try talk(at: stage)
    let failed = talk.sender.fail(Self.close)
    // What the receiver says before it knows.
    switch stage {
    case .offered: expect(try !talk.toSender(talk.receiver.say(.accept(Sample.accept))))
    case .reporting:
      expect(try !talk.toSender(talk.receiver.say(.held(Held(kind: .staged, marks: [1])))))
      expect(try !talk.toSender(talk.receiver.say(.partial(Sample.partial))))
      expect(try !talk.toSender(talk.receiver.say(.heldEnd(HeldEnd(held: Tally(items: 1))))))
    case .streaming:
      let refused = talk.receiver.name(Sample.refused)
      expect(try !talk.toSender(try #require(refused)))
    case .importing: break
    }
    let answer = ControlMessage.failed(Failed(part: 0, Self.close).answer)
    expect(try talk.toReceiver(failed))
    expect(talk.receiver.isBetween)
    expect(try talk.toSender(answer))
    #expect(throws: Violation.self) { try talk.toSender(answer) }
    #expect(throws: Violation.self) { try talk.toReceiver(failed) }
    try talk.offer(1)
  }

  @Test(arguments: [Stage.offered, .reporting, .streaming])
  func `where both fail a part, no end answers and the receiver's reason counts`(stage: Stage) throws {
    var talk = try talk(at: stage)
    let (ofSender, ofReceiver) = (talk.sender.fail(Close(.exportFailed, "gone")), talk.receiver.fail(Self.close))
    expect(try talk.toReceiver(ofSender))
    expect(try talk.toSender(ofReceiver))
    try talk.offer(1)
  }

  @Test func `a part whose DONE crosses the sender's FAILED is finished`() throws {
    var talk = Talk()
    try talk.meet(Self.three, continuing: 7, verdict: [.finished, .taken(), .taken()])
    try talk.offer(0, earlier: .finished(Sample.done.total))
    let failed = talk.sender.fail(Self.close)
    expect(try talk.toSender(talk.receiver.say(.done(Sample.done))))
    expect(try !talk.toReceiver(failed))
    #expect(throws: Violation.self) { try talk.toReceiver(failed) }
    try talk.offer(1)
    #expect(throws: Violation.self) { try talk.toReceiver(failed) }
  }

  @Test func `a DONE that cannot be true does not finish a part that has failed at the sender`() throws {
    for earlier in [.notFinished, .finished(Tally(items: 2, bytes: 2))] as [Conversation.Earlier] {
      var talk = Talk()
      try talk.begin(continuing: 7, earlier: earlier)
      _ = talk.sender.fail(Self.close)
      #expect(throws: Violation.self) { try talk.sender.received(.done(Sample.done)) }
    }
    var talk = try talk(at: .streaming)
    _ = talk.sender.fail(Self.close)
    #expect(throws: Violation.self) { try talk.sender.received(.done(Sample.done)) }
  }

  @Test(arguments: Stage.allCases)
  func `FAILED is for the newest part, and the sender's comes before FINISH`(stage: Stage) throws {
    var talk = try talk(at: stage)
    let other = ControlMessage.failed(Failed(part: 1, Self.close))
    #expect(throws: Violation.self) { try talk.receiver.received(other) }
    #expect(throws: Violation.self) { try talk.sender.received(other) }
    if stage == .importing {
      #expect(throws: Violation.self) { try talk.receiver.received(.failed(Failed(part: 0, Self.close))) }
    }
    _ = talk.receiver.fail(Self.close)
    #expect(throws: Violation.self) { try talk.receiver.received(other) }
  }

  @Test func `a code that this end does not know is answered as it came`() throws {
    let close = Close(Close.Code(rawValue: 999), "later")
    var talk = try talk(at: .streaming)
    expect(try talk.toSender(talk.receiver.fail(close)))
    expect(Failed(part: 0, close).answer, is: Failed(part: 0, Close(close.code)))
  }

  @Test func `each part names as many items as one session of one part`() throws {
    var talk = Talk()
    try talk.meet(Self.three)
    for number in [0, 2] as [UInt16] {
      try talk.offer(number)
      try talk.stream()
      expect(try talk.toReceiver(talk.sender.say(.drop([1]))))
      for _ in 0..<Limits.notStored {
        let (unsent, refused) = (talk.sender.name(Sample.unsent), talk.receiver.name(Sample.refused))
        _ = try talk.receiver.received(try #require(unsent))
        _ = try talk.sender.received(try #require(refused))
      }
      expect(talk.sender.name(Sample.unsent) == nil && talk.receiver.name(Sample.refused) == nil)
      #expect(throws: Violation.self) { try talk.receiver.received(.notStored(Sample.unsent)) }
      #expect(throws: Violation.self) { try talk.sender.received(.notStored(Sample.refused)) }
      try talk.end()
    }
  }

  @Test func `a verdict that judges another plan is refused by the sender`() throws {
    var talk = Talk()
    _ = try talk.toSender(.greeting(Sample.greeting(.receiver)))
    _ = talk.sender.say(.plan(Plan(Self.three, continuing: 1)))
    #expect(throws: Violation.self) { try talk.sender.received(.verdict(Sample.verdict())) }
    let verdict = Sample.verdict([.taken(), .finished, .refused(Self.close)])
    expect(try talk.toSender(.verdict(verdict)))
  }
}
