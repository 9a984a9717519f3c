import Expectations
import Testing

@testable import MigrationWire

/// One valid message of every kind.
enum Sample {
  static let accept = Accept(keys: TransferKeys(hashKey: 4), traits: DestinationTraits())
  static let folders = Part(.folders([Root(kind: .directory, name: ascii("d"))]), name: "d")
  static let app = Part(
    .app(AppIdentity(bundleIdentifier: "i", store: "s", platform: "p", version: "v")), name: "i")
  static let files = Part(.files(of: "i", [Root(kind: .directory, name: ascii("config"))]), name: "i")
  static let plan = Plan([folders])
  static let failed = Failed(part: 0, Close(.storage, "the disk has failed"))
  static let finish = Finish(total: Tally(items: 1, bytes: 2), unsent: 0, digest: 5)
  static let done = Done(total: Tally(items: 1, bytes: 2))
  static let partial = Partial(path: path("d/f"), generation: 1, ranges: ByteRanges([0..<1]))
  static let unsent = NotStored(path: ascii("d/g"), .vanished)
  static let refused = NotStored(path: path("d/a:b"), generation: 1, .nameNotAllowed)
  static let close = Close(.interrupted, "interrupted")
  static let addresses = Addresses(listening: [InternetAddress(address: [10, 0, 0, 7], port: 47_470)], dialling: [])
  static let progress = ImportProgress(phase: .importing, done: 1, total: 2)

  static func totals(_ part: UInt16) -> PartTotals { PartTotals(part: part, items: 1, bytes: 2, allocated: 3) }

  static func verdict(_ parts: [Verdict.Judgement] = [.taken()], of transfer: TransferID = 1) -> Verdict {
    Verdict(transfer: transfer, session: 2, window: 1 << 26, streams: 4, parts: parts)
  }

  static func greeting(_ role: Role) -> Greeting { Greeting(role: role, label: "l", software: "s", features: []) }

  static let messages: [ControlMessage] = [
    .greeting(greeting(.sender)), .greeting(greeting(.receiver)), .plan(plan), .verdict(verdict()),
    .offer(totals(0)), .accept(accept), .failed(failed),
    .held(Held(kind: .staged, marks: [1])), .partial(partial), .heldEnd(HeldEnd(held: Tally())),
    .drop([1]),
    .notStored(unsent), .finish(finish), .progress(progress), .done(done), .receipt, .ping(7), .pong(7), .close(close),
    .notStored(refused), .addresses(addresses),
  ]
}

/// Both machines against the tables of Protocol §7.
@Suite struct SessionTableTests {
  private enum SenderState: CaseIterable {
    case greeting, preparing, planned, between, offered, comparing, streaming, finishing, settling, ended, done, closed
  }

  private func sender(_ state: SenderState) throws -> Conversation {
    var session = Conversation(of: .sender)
    if state == .greeting { return session }
    if state == .closed {
      _ = session.say(.close(Sample.close))
      return session
    }
    _ = try session.received(.greeting(Sample.greeting(.receiver)))
    if state == .preparing { return session }
    _ = session.say(.plan(Sample.plan))
    if state == .planned { return session }
    _ = try session.received(.verdict(Sample.verdict()))
    if state == .between { return session }
    _ = session.offer(Sample.totals(0), earlier: .unknown)
    if state == .offered { return session }
    _ = try session.received(.accept(Sample.accept))
    if state == .comparing { return session }
    _ = try session.received(.heldEnd(HeldEnd(held: Tally())))
    if state == .streaming { return session }
    if state == .settling {
      _ = session.fail(Sample.failed.close)
      return session
    }
    _ = session.say(.finish(Sample.finish))
    if state == .finishing { return session }
    _ = try session.received(.done(Sample.done))
    if state == .ended { return session }
    _ = session.say(.receipt)
    return session
  }

  /// The table of Protocol §7.1: the allowed messages, and the next state of each.
  private func next(_ state: SenderState, _ message: ControlMessage) -> SenderState? {
    switch (state, message) {
    case (.greeting, .greeting(let greeting)) where greeting.role == .receiver: .preparing
    case (.planned, .verdict): .between
    case (.offered, .accept): .comparing
    case (.finishing, .done): .ended
    case (.offered, .failed), (.comparing, .failed), (.streaming, .failed), (.finishing, .failed), (.settling, .failed):
      .ended
    case (.settling, .accept), (.settling, .held), (.settling, .partial), (.settling, .heldEnd), (.settling, .progress):
      .settling
    case (.comparing, .held), (.comparing, .partial): .comparing
    case (.comparing, .heldEnd): .streaming
    case (.finishing, .progress): .finishing
    case (.streaming, .notStored(Sample.refused)), (.finishing, .notStored(Sample.refused)),
      (.settling, .notStored(Sample.refused)):
      state
    case (_, .ping), (_, .pong): state
    case (_, .addresses) where state != .greeting: state
    case (_, .close): .closed
    default: nil
    }
  }

  @Test(arguments: SenderState.allCases)
  private func `a sender takes exactly what its table lists`(state: SenderState) throws {
    for message in Sample.messages where state != .closed {
      var session = try sender(state)
      guard let next = next(state, message) else {
        #expect(throws: Violation.self, "\(message.type)") { try session.received(message) }
        continue
      }
      _ = try session.received(message)
      // These leave a trace within their state.
      let leavesNone =
        ![.held, .partial, .notStored, .close].contains(message.type) || state == .settling && next == .settling
      if leavesNone, message.type != .addresses {
        expect(session, is: (try sender(next)), "\(message.type)")
      }
      expect(session.isDone == (next == .done) && session.isStreaming == (next == .streaming))
    }
  }

  private enum ReceiverState: CaseIterable {
    case greeting, waiting, judgingPlan, between, judging, reporting, receiving, importing, settling, failed, ended,
      done,
      closed
  }

  private func receiver(_ state: ReceiverState) throws -> Conversation {
    var session = Conversation(of: .receiver)
    if state == .greeting { return session }
    if state == .closed {
      _ = session.say(.close(Sample.close))
      return session
    }
    _ = try session.received(.greeting(Sample.greeting(.sender)))
    if state == .waiting { return session }
    _ = try session.received(.plan(Sample.plan))
    if state == .judgingPlan { return session }
    _ = session.say(.verdict(Sample.verdict()))
    if state == .between { return session }
    _ = try session.received(.offer(Sample.totals(0)))
    if state == .judging { return session }
    _ = session.say(.accept(Sample.accept))
    if state == .reporting { return session }
    _ = session.say(.heldEnd(HeldEnd(held: Tally())))
    if state == .receiving { return session }
    if state == .settling || state == .failed {
      _ = session.fail(Sample.failed.close)
      if state == .failed { _ = try session.received(.failed(Sample.failed)) }
      return session
    }
    _ = try session.received(.finish(Sample.finish))
    if state == .importing { return session }
    _ = session.say(.done(Sample.done))
    if state == .ended { return session }
    _ = try session.received(.receipt)
    return session
  }

  /// The table of Protocol §7.2.
  private func next(_ state: ReceiverState, _ message: ControlMessage) -> ReceiverState? {
    switch (state, message) {
    case (.greeting, .greeting(let greeting)) where greeting.role == .sender: .waiting
    case (.waiting, .plan): .judgingPlan
    case (.between, .offer): .judging
    case (.receiving, .notStored(Sample.unsent)), (.receiving, .drop): .receiving
    case (.receiving, .finish): .importing
    case (.judging, .failed), (.reporting, .failed), (.receiving, .failed), (.settling, .failed): .failed
    case (.settling, .notStored(Sample.unsent)), (.settling, .drop), (.settling, .finish): .settling
    // It has crossed DONE.
    case (.ended, .failed): .failed
    case (.ended, .receipt), (.failed, .receipt): .done
    case (_, .ping), (_, .pong): state
    case (_, .addresses) where state != .greeting: state
    case (_, .close): .closed
    default: nil
    }
  }

  @Test(arguments: ReceiverState.allCases)
  private func `a receiver takes exactly what its table lists`(state: ReceiverState) throws {
    for message in Sample.messages where state != .closed {
      var session = try receiver(state)
      guard let next = next(state, message) else {
        #expect(throws: Violation.self, "\(message.type)") { try session.received(message) }
        continue
      }
      _ = try session.received(message)
      let leavesNone = ![.notStored, .drop, .close, .receipt].contains(message.type) || next == .settling
      if leavesNone, message.type != .addresses {
        expect(session, is: (try receiver(next)), "\(message.type)")
      }
      expect(session.isDone == (next == .done) && session.isStreaming == (next == .receiving))
    }
  }

  @Test func `a refused message changes nothing`() throws {
    for state in SenderState.allCases {
      for message in Sample.messages {
        var session = try sender(state)
        if (try? session.received(message)) == nil { expect(session, is: (try sender(state))) }
      }
    }
    for state in ReceiverState.allCases {
      for message in Sample.messages {
        var session = try receiver(state)
        if (try? session.received(message)) == nil { expect(session, is: (try receiver(state))) }
      }
    }
  }

  @Test func `PING counts in every state except closed`() throws {
    for state in SenderState.allCases where state != .closed {
      var session = try sender(state)
      expect(try session.received(.ping(9)))
    }
    for state in ReceiverState.allCases where state != .closed {
      var session = try receiver(state)
      expect(try session.received(.ping(9)))
    }
  }

  @Test func `CLOSE ends every state, and later messages are ignored`() throws {
    for state in SenderState.allCases where state != .closed {
      var session = try sender(state)
      expect(try session.received(.close(Sample.close)))
      for message in Sample.messages { expect(try !session.received(message)) }
    }
    for state in ReceiverState.allCases where state != .closed {
      var session = try receiver(state)
      expect(try session.received(.close(Sample.close)))
      for message in Sample.messages { expect(try !session.received(message)) }
    }
  }
}

/// Conversations between the two machines, each message through its bytes.
@Suite struct ConversationTests {
  @Test func `a first transfer goes from greeting to receipt`() throws {
    var talk = Talk()
    try talk.begin()
    try talk.stream()
    expect(talk.sender.isStreaming && talk.receiver.isStreaming)
    let unsent = talk.sender.name(Sample.unsent)
    expect(try talk.toReceiver(try #require(unsent)))
    expect(try talk.toReceiver(talk.sender.say(.finish(Sample.finish))))
    expect(try talk.toSender(talk.receiver.say(.progress(Sample.progress))))
    expect(try talk.toSender(talk.receiver.say(.done(Sample.done))))
    expect(try talk.toReceiver(talk.sender.say(.receipt)))
    expect(talk.sender.isDone && talk.receiver.isDone)
  }

  @Test func `a resumed transfer tells the ledger and drops stale items`() throws {
    var talk = Talk()
    try talk.begin()
    _ = try talk.toSender(talk.receiver.say(.accept(Sample.accept)))
    let pages = [
      Held(kind: .staged, marks: [1, 5]), Held(kind: .staged, marks: [6]), Held(kind: .present, marks: [2, 3]),
      Held(kind: .present, marks: [4]), Held(kind: .taken, marks: [2, 9]),
    ]
    for page in pages { expect(try talk.toSender(talk.receiver.say(.held(page)))) }
    expect(try talk.toSender(talk.receiver.say(.partial(Sample.partial))))
    let held = Tally(items: 3, bytes: 100)
    expect(try talk.toSender(talk.receiver.say(.heldEnd(HeldEnd(held: held)))))
    expect(try talk.toReceiver(talk.sender.say(.drop([1]))))
    expect(try talk.toReceiver(talk.sender.say(.drop([5, 6]))))
    expect(try talk.toReceiver(talk.sender.say(.finish(Sample.finish))))
  }

  @Test(arguments: [Sample.folders, Sample.files, Sample.app])
  func `items of folders and files may be refused while the receiver receives and imports, and an app's never`(
    part: Part
  ) throws {
    var talk = Talk()
    try talk.begin(part)
    expect(talk.receiver.name(Sample.refused) == nil)
    _ = try talk.toSender(talk.receiver.say(.accept(Sample.accept)))
    expect(talk.receiver.name(Sample.refused) == nil)
    #expect(throws: Violation.self) { try talk.toSender(.notStored(Sample.refused)) }
    _ = try talk.toSender(talk.receiver.say(.heldEnd(HeldEnd(held: Tally()))))
    try refuse(in: &talk, isKnown: part != Sample.app)
    _ = try talk.toReceiver(talk.sender.say(.finish(Sample.finish)))
    try refuse(in: &talk, isKnown: part != Sample.app)
    _ = try talk.toSender(talk.receiver.say(.done(Sample.done)))
    expect(talk.receiver.name(Sample.refused) == nil)
    #expect(throws: Violation.self) { try talk.toSender(.notStored(Sample.refused)) }
  }

  private func refuse(in talk: inout Talk, isKnown: Bool) throws {
    guard let message = talk.receiver.name(Sample.refused) else {
      expect(!isKnown)
      #expect(throws: Violation.self) { try talk.toSender(.notStored(Sample.refused)) }
      return
    }
    expect(isKnown)
    expect(try talk.toSender(message))
  }

  @Test func `as many refusals are named as a session may name`() throws {
    var talk = Talk()
    try talk.begin()
    _ = try talk.toSender(talk.receiver.say(.accept(Sample.accept)))
    _ = try talk.toSender(talk.receiver.say(.heldEnd(HeldEnd(held: Tally()))))
    for _ in 0..<Limits.notStored {
      let message = talk.receiver.name(Sample.refused)
      _ = try talk.toSender(try #require(message))
    }
    expect(talk.receiver.name(Sample.refused) == nil)
    #expect(throws: Violation.self) { try talk.toSender(.notStored(Sample.refused)) }
  }

  @Test func `a part that was finished is answered at once`() throws {
    var talk = Talk()
    try talk.meet(continuing: 7, verdict: [.finished])
    try talk.offer()
    let done = Done(total: Tally(items: 9, bytes: 9))
    expect(try talk.toSender(talk.receiver.say(.done(done))))
    expect(try talk.toReceiver(talk.sender.say(.receipt)))
  }

  /// Whether a receiver names an item in front of a DONE that answers the offer; the sender takes
  /// it in the same cases.
  private func namesAgain(_ part: Part, _ transfer: TransferID?) throws -> Bool {
    var talk = Talk()
    try talk.begin(part, continuing: transfer)
    guard let message = talk.receiver.name(Sample.refused) else {
      #expect(throws: Violation.self) { try talk.toSender(.notStored(Sample.refused)) }
      return false
    }
    expect(try talk.toSender(message))
    let done = Done(total: Tally(items: 9, bytes: 9), notStored: 1)
    expect(try talk.toSender(talk.receiver.say(.done(done))))
    expect(talk.receiver.name(Sample.refused) == nil)
    #expect(throws: Violation.self) { try talk.toSender(.notStored(Sample.refused)) }
    return true
  }

  @Test func `refused items are named before the DONE that answers an offer of folders or files`() throws {
    let cases: [(TransferID?, Part, Bool)] = [
      (7, Sample.folders, true), (7, Sample.files, true), (nil, Sample.folders, false), (7, Sample.app, false),
    ]
    for (transfer, part, isKnown) in cases { expect(try namesAgain(part, transfer), is: isKnown) }
  }

  @Test func `a sender that has sent no FINISH of a part takes no refusals before ACCEPT`() throws {
    var sender = try offering(7, .notFinished)
    #expect(throws: Violation.self) { try sender.received(.notStored(Sample.refused)) }
  }

  @Test func `no more are named in front of the last word than in any session`() throws {
    var talk = Talk()
    try talk.begin(continuing: 7)
    let all = [NotStored](repeating: Sample.refused, count: Limits.notStored + 1)
    expect(all.nameable.count, is: Limits.notStored)
    for refusal in all.nameable {
      let message = talk.receiver.name(refusal)
      _ = try talk.toSender(try #require(message))
    }
    expect(talk.receiver.name(Sample.refused) == nil)
    #expect(throws: Violation(.limit, "the list of items that are not stored")) {
      try talk.toSender(.notStored(Sample.refused))
    }
    let name = String(repeating: "a", count: 255)
    let long = NotStored(path: path([name, name, name, name].joined(separator: "/")), generation: 1, .other)
    let many = [NotStored](repeating: long, count: 5_000).nameable
    expect(many.count, is: Limits.notStoredBytes / 1_023)
  }

  private func offering(_ transfer: TransferID?, _ earlier: Conversation.Earlier) throws -> Conversation {
    var talk = Talk()
    try talk.begin(continuing: transfer, earlier: earlier)
    return talk.sender
  }

  @Test(
    arguments: [
      (nil, .unknown), (nil, .finished(Sample.done.total)), (7, .notFinished),
      (7, .finished(Tally(items: 2, bytes: 2))),
      (7, .finished(Tally(items: 1, bytes: 3))),
    ] as [(TransferID?, Conversation.Earlier)])
  func `an offer is not answered by a last word that cannot be true`(
    transfer: TransferID?, earlier: Conversation.Earlier
  ) throws {
    var session = try offering(transfer, earlier)
    #expect(throws: Violation.self) { try session.received(.done(Sample.done)) }
    expect(session.isOffered)
    expect(try session.received(.accept(Sample.accept)))
  }

  @Test(arguments: [.unknown, .finished(Sample.done.total)] as [Conversation.Earlier])
  func `an offer that continues a transfer may be answered by its last word`(earlier: Conversation.Earlier) throws {
    var session = try offering(7, earlier)
    expect(try session.received(.done(Sample.done)))
    expect(session.isBetween)
  }

  @Test(arguments: [Tally(items: .max, bytes: 2), Tally(items: 1, bytes: 1 << 63)])
  func `a last word of more than there can be is refused`(total: Tally) throws {
    var session = try offering(7, .unknown)
    #expect(throws: Violation(.limit, "the receiver's last word")) { try session.received(.done(Done(total: total))) }
  }

  @Test func `CLOSE ends both`() throws {
    var talk = Talk()
    try talk.begin()
    let close = Close(.noSpace, "not enough space", bytes: Close.Space(needed: 2, available: 1))
    expect(try talk.toSender(talk.receiver.say(.close(close))))
    expect(!talk.sender.isDone && !talk.receiver.isDone)
  }

  private func comparing() throws -> Conversation {
    var talk = Talk()
    try talk.begin()
    _ = try talk.toSender(talk.receiver.say(.accept(Sample.accept)))
    return talk.sender
  }

  @Test(arguments: [
    [Held(kind: .staged, marks: [1, 5]), Held(kind: .staged, marks: [5])],
    [Held(kind: .staged, marks: [1, 5]), Held(kind: .staged, marks: [4, 6])],
    [Held(kind: .present, marks: [1]), Held(kind: .staged, marks: [2])],
    [Held(kind: .staged, marks: [1]), Held(kind: .present, marks: [2]), Held(kind: .present, marks: [2])],
    [Held(kind: .taken, marks: [1]), Held(kind: .present, marks: [2])],
    [Held(kind: .present, marks: [1]), Held(kind: .taken, marks: [2]), Held(kind: .taken, marks: [1])],
  ])
  func `pages of the ledger out of order are refused`(pages: [Held]) throws {
    var sender = try comparing()
    for page in pages.dropLast() { _ = try sender.received(.held(page)) }
    #expect(throws: Violation.self) { try sender.received(.held(pages.last!)) }
  }

  @Test func `the marks of all kinds and the incomplete files of a ledger share its room`() throws {
    var sender = try comparing()
    var room = Sample.totals(0).items * 5 / 4 + Limits.ledgerMargin
    func tell(_ kind: Held.Kind, _ count: UInt64) throws {
      for first in stride(from: 0, to: count, by: Limits.marksInFrame) {
        let marks = (first..<min(first + UInt64(Limits.marksInFrame), count)).map { Mark($0) }
        _ = try sender.received(.held(Held(kind: kind, marks: marks)))
      }
      room -= count
    }
    try tell(.staged, room / 2)
    try tell(.present, room / 2)
    var ranges = ByteRanges()
    for start in 0..<UInt64(1_000) { ranges.insert(2 * start..<2 * start + 1) }
    let partial = Partial(path: path("a/path/of/33/bytes/in/an/archive."), generation: 1, ranges: ranges)
    expect(partial.ledgerRoom, is: 1_004)
    _ = try sender.received(.partial(partial))
    room -= 1_004
    try tell(.taken, room)
    var other = sender
    #expect(throws: Violation(.limit, "the ledger")) {
      try sender.received(.held(Held(kind: .taken, marks: [.max])))
    }
    #expect(throws: Violation(.limit, "the ledger")) { try other.received(.partial(Sample.partial)) }
  }

  @Test func `one mark may be held in both ways`() throws {
    var sender = try comparing()
    _ = try sender.received(.held(Held(kind: .staged, marks: [.max])))
    _ = try sender.received(.held(Held(kind: .present, marks: [0, .max])))
    expect(try sender.received(.heldEnd(HeldEnd(held: Tally(items: 1)))))
  }

  @Test(arguments: [0, 1, 3, 4, .max] as [UInt64])
  func `the end of the ledger counts its complete items`(count: UInt64) throws {
    var sender = try comparing()
    _ = try sender.received(.held(Held(kind: .staged, marks: [1, 2])))
    _ = try sender.received(.held(Held(kind: .present, marks: [3])))
    #expect(throws: Violation.self) { try sender.received(.heldEnd(HeldEnd(held: Tally(items: count)))) }
    _ = try sender.received(.heldEnd(HeldEnd(held: Tally(items: 2))))
  }

  @Test func `more incomplete files than there may be are refused`() throws {
    var sender = try comparing()
    for _ in 0..<256 { _ = try sender.received(.partial(Sample.partial)) }
    #expect(throws: Violation.self) { try sender.received(.partial(Sample.partial)) }
  }

  @Test(arguments: [Tally(items: 1, bytes: 3), Tally(items: 2, bytes: 2), Tally(), Tally(items: .max, bytes: .max)])
  func `a last word with other totals than FINISH is refused`(total: Tally) throws {
    var sender = try comparing()
    _ = try sender.received(.heldEnd(HeldEnd(held: Tally())))
    _ = sender.say(.finish(Sample.finish))
    #expect(throws: Violation.self) { try sender.received(.done(Done(total: total))) }
    expect(sender.isFinishing)
    _ = try sender.received(.done(Done(total: Sample.finish.total, losses: [Done.Loss(kind: .mode, count: 1)])))
    expect(sender.isBetween)
  }

  private func receiving() throws -> Conversation {
    var talk = Talk()
    try talk.begin()
    _ = talk.receiver.say(.accept(Sample.accept))
    _ = talk.receiver.say(.heldEnd(HeldEnd(held: Tally())))
    return talk.receiver
  }

  @Test func `10,000 items may be named as unsent, and not one more`() throws {
    var receiver = try receiving()
    for _ in 0..<10_000 { _ = try receiver.received(.notStored(Sample.unsent)) }
    #expect(throws: Violation.self) { try receiver.received(.notStored(Sample.unsent)) }
    _ = try receiver.received(.drop([1]))
    #expect(throws: Violation.self) { try receiver.received(.notStored(Sample.unsent)) }
  }

  @Test func `unsent items have 4 MiB together, and the sender names no more than fit`() throws {
    var receiver = try receiving()
    var sender = try comparing()
    _ = try sender.received(.heldEnd(HeldEnd(held: Tally())))
    let long = NotStored(path: [UInt8](repeating: 0x61, count: Limits.path), .unreadable)
    for _ in 0..<64 {
      let said = sender.name(long)
      _ = try receiver.received(try #require(said))
    }
    // 64 bytes are left.
    expect(sender.name(long) == nil)
    #expect(throws: Violation(.limit, "the list of items that are not stored")) {
      try receiver.received(.notStored(long))
    }
    let short = NotStored(path: [UInt8](repeating: 0x61, count: 64), .vanished)
    let said = sender.name(short)
    _ = try receiver.received(try #require(said))
    expect(sender.name(NotStored(path: [0x61], .vanished)) == nil)
    #expect(throws: Violation.self) { try receiver.received(.notStored(NotStored(path: [0x61], .vanished))) }
    expect(sender.say(.finish(Sample.finish)), is: .finish(Sample.finish))
  }

  @Test func `fields of an unsent item that no version knows count as its path does`() throws {
    var receiver = try receiving()
    var fields = Fields()
    fields.append(1, [0x61])
    fields.append(2, [1])
    fields.append(9, [UInt8](repeating: 0, count: 1 << 20))
    var writer = ByteWriter()
    fields.write(to: &writer)
    let unsent = try ControlMessage(.notStored, writer.bytes.span, 0..<writer.bytes.count)
    for _ in 0..<3 { _ = try receiver.received(try #require(unsent)) }
    #expect(throws: Violation.self) { try receiver.received(try #require(unsent)) }
  }

  @Test func `dropped marks ascend over all frames`() throws {
    var receiver = try receiving()
    _ = try receiver.received(.drop([1, 4]))
    #expect(throws: Violation.self) { try receiver.received(.drop([4])) }
    #expect(throws: Violation.self) { try receiver.received(.drop([2, 9])) }
    _ = try receiver.received(.notStored(Sample.unsent))
    #expect(throws: Violation.self) { try receiver.received(.drop([4, 9])) }
    expect(try receiver.received(.drop([5])))
  }
}
