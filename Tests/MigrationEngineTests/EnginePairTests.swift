import Expectations
import MigrationWire
import TestSupport
import Testing

@testable import MigrationEngine

/// Both engines, and between them a connection that delivers messages at any time. Workers end in
/// any order; parts are refused, and fail at either end.
private struct EnginePair {
  private typealias Script = ReceiverScript

  var sender: SenderEngine
  var receiver: ReceiverEngine
  private var dice: Generator
  private var now = 0.0
  private let parts: Int
  /// What is under way; nil where the connection is cut.
  private var toReceiver: [ControlMessage?] = []
  private var toSender: [ControlMessage?] = []
  private var senderWork: [SenderEngine.Event] = []
  private var receiverWork: [ReceiverEngine.Event] = []
  private var connection: UInt64 = 0
  private var isAbandoned = false
  private var offered: UInt16 = 0
  private var mayCut: Bool
  private(set) var sent: TransferOutcome?
  private(set) var received: TransferOutcome?
  private(set) var broken: String?
  private(set) var wasCut = false
  private(set) var trail: [String] = []

  init(seed: UInt64, mayCut: Bool) {
    dice = Generator(seed: seed &* 1_000_003)
    self.mayCut = mayCut
    parts = Int.random(in: 1...4, using: &dice)
    sender = SenderEngine(
      SenderEngine.Settings(
        greeting: Greeting(role: .sender, label: "laptop", software: "", features: .zstd), target: "", giveUpAfter: 20)
    )
    receiver = ReceiverEngine(Script.settings())
  }

  private mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &dice) == 0 }

  mutating func run() {
    let summaries = (0..<parts).map { _ in Fixture.summary() }
    for event in [
      .begin, .tookBack(.success([])), .listening(.success(Listening(addresses: [], port: 1))),
      .codeMade(.success(Script.code)),
    ] as [ReceiverEngine.Event] {
      feed(event)
    }
    receiverWork = []
    for event in [
      .begin, .walked(.success(summaries)), .lookedUp(.success([])), .probed(.success(Fixture.device)),
      .codeEntered(.success(Fixture.code)), .derived(nil),
    ] as [SenderEngine.Event] {
      feed(event)
    }
    for _ in 0..<4000 where broken == nil && (sent == nil || received == nil) { step() }
    if sent == nil || received == nil { broken = broken ?? "it does not end" }
  }

  private mutating func step() {
    switch Int.random(in: 0..<12, using: &dice) {
    case 0..<3: if !toReceiver.isEmpty { deliver(toReceiver.removeFirst(), toSender: false) }
    case 3..<6:
      // It reads once it has met the receiver.
      if case .dialing = sender.phase { return }
      if !toSender.isEmpty { deliver(toSender.removeFirst(), toSender: true) }
    case 6..<8:
      if let index = senderWork.indices.randomElement(using: &dice) { feed(senderWork.remove(at: index)) }
    case 8..<10:
      if let index = receiverWork.indices.randomElement(using: &dice) { feed(receiverWork.remove(at: index)) }
    case 10 where mayCut && chance(60):
      wasCut = true
      (toReceiver, toSender) = ([nil], [nil])
    default:
      if toReceiver.isEmpty, toSender.isEmpty, senderWork.isEmpty, receiverWork.isEmpty {
        now = max(now, [sender.nextMoment, receiver.nextMoment].compactMap { $0 }.min() ?? now + 1)
      } else {
        now += 0.001
      }
      feed(SenderEngine.Event.timePassed)
      feed(ReceiverEngine.Event.timePassed)
    }
  }

  private mutating func deliver(_ message: ControlMessage?, toSender: Bool) {
    let id = ConnectionID(connection)
    switch (message, toSender) {
    case (let message?, true): feed(SenderEngine.Event.received(id, message))
    case (let message?, false): feed(ReceiverEngine.Event.received(id, message))
    case (nil, true): feed(SenderEngine.Event.broke(id, Fixture.cut))
    case (nil, false): feed(ReceiverEngine.Event.broke(id, Fixture.cut))
    }
  }

  private mutating func feed(_ event: SenderEngine.Event) {
    let actions = sender.handle(event, now: now)
    if !actions.isEmpty { trail.append("S \(event) -> \(actions.map(\.text))") }
    for action in actions { perform(action) }
    if case .readWindow? = actions.last(where: { if case .readWindow = $0 { true } else { false } }) { return }
    if let broken = sender.checkInvariants() { self.broken = self.broken ?? "sender: \(broken)" }
  }

  private mutating func feed(_ event: ReceiverEngine.Event) {
    let actions = receiver.handle(event, now: now)
    if !actions.isEmpty { trail.append("R \(event) -> \(actions.map(Words.text))") }
    for action in actions { perform(action) }
    if let broken = receiver.checkInvariants() { self.broken = self.broken ?? "receiver: \(broken)" }
  }

  // MARK: The sender

  private mutating func perform(_ action: SenderEngine.Action) {
    switch action {
    case .dial: dial()
    case .say(_, let message):
      if case .offer(let totals) = message { offered = totals.part }
      check(message)
      toReceiver.append(message)
    case .close(let id, _):
      toReceiver.append(nil)
      senderWork.append(.closed(id, spread: 0))
    case .recordPlan(let number, let record): senderWork.append(.planRecorded(number, record.transfer, nil))
    case .export(let number, _):
      isAbandoned = false
      let fault = Failure(.exportFailed, "no export")
      senderWork.append(.exported(number, chance(5) ? .failure(fault) : .success(.little)))
    case .noteFinish(let number, let transfer, _, _): senderWork.append(.finishNoted(number, transfer, nil))
    case .recordDone(let transfer, _, _, _): senderWork.append(.recorded(transfer, Traffic(), isWritten: true))
    case .note(let transfer, _, _, _): senderWork.append(.noted(transfer))
    case .forget(let transfer): senderWork.append(.forgot(transfer))
    case .openStream(let number, let join, _, _): senderWork.append(.streamEnded(number, join.stream, .finished))
    case .readWindow(let number): feed(SenderEngine.Event.window(number, Fixture.counts { _ in }))
    case .finish(let result): sent = result
    default: break
    }
  }

  private mutating func dial() {
    guard toReceiver.isEmpty, toSender.isEmpty || connection > 0 else { return }
    (toReceiver, toSender) = ([], [])
    connection += 1
    let id = ConnectionID(connection)
    guard received == nil else {
      senderWork.append(.dialed(.failure(.unreached(Fixture.failure("far"), reason: "far")), spread: 0))
      return
    }
    let mode: ConnectionMode = connection == 1 ? .pair : .resume
    feed(.arrived(id, Remote(host: "h", address: "h:1", network: "h", mayPair: true), chance: 1))
    feed(.spoke(id))
    feed(.secured(id, Script.key(1)))
    feed(.asked(id, mode))
    if mode == .pair {
      feed(.shared(id))
      feed(.proved(id, isRight: true))
    }
    feed(ReceiverEngine.Event.ready(id, identifier: TransferID(100 + connection)))
    guard receiver.sessions.values.contains(where: { $0.connection == id }) else {
      toSender = []
      senderWork.append(.dialed(.failure(.turnedAway(Fixture.failure("busy"), reason: "busy")), spread: 0))
      return
    }
    senderWork.append(.dialed(.success(Fixture.meeting(connection)), spread: 0))
  }

  /// Neither end violates the protocol.
  private mutating func check(_ message: ControlMessage) {
    guard case .close(let close) = message, close.code == .violation else { return }
    broken = broken ?? "\(close.message)"
  }

  // MARK: The receiver

  private mutating func perform(_ action: ReceiverEngine.Action) {
    switch action {
    case .makeCode: receiverWork.append(.codeMade(.success(Script.code)))
    case .say(let id, let message):
      check(message)
      if id == ConnectionID(connection) { toSender.append(message) }
    case .close(let id, _):
      if id == ConnectionID(connection) { toSender.append(nil) }
      receiverWork.append(.closed(id))
    case .judgePlan(let number, _, _, let open, _):
      var refused: [UInt16: Failure] = [:]
      for part in open where chance(6) { refused[part] = Failure(.exists, "it is there") }
      receiverWork.append(Script.planJudged(number.value, open, refused: refused))
    case .record(let number, _): receiverWork.append(.recorded(number, nil))
    case .stage(let number, _):
      receiverWork.append(.staged(number, chance(6) ? .failure(Script.broken) : .success(Script.admitted())))
    case .readLedger(let number):
      let end = LedgerPage(pages: [Held(kind: .staged, marks: [1, 2])], partials: [], end: Tally(items: 2, bytes: 1))
      receiverWork.append(.ledger(number, chance(9) ? .failure(Script.broken) : .success(end)))
    case .dropItems(let number, _): receiverWork.append(.dropped(number, nil))
    case .endSync(let number): receiverWork.append(.syncEnded(number, nil))
    case .shutGate(let number): receiverWork.append(.gateShut(number, nil))
    case .importItems(let transfer, _, _, _):
      receiverWork.append(
        .imported(
          transfer, chance(5) ? .failure(Script.broken) : .success(Fixture.done), Traffic(), refused: []))
    case .note(let transfer), .forget(let transfer), .discard(let transfer), .release(let transfer):
      receiverWork.append(.noted(transfer))
    case .finish(let result): received = result
    default: break
    }
  }
}

@Suite struct EnginePairTests {
  private static let pairs = 20 * UInt64(Rounds.count)

  /// How many parts have arrived, and how many have not; or how the plan has failed.
  private func text(_ result: TransferOutcome?) -> String {
    switch result {
    case .success(let result): "\(result.total.items) items, \(result.failedParts) failed"
    case .failure: "none"
    case nil: "nothing"
    }
  }

  @Test func `both ends agree about each message and about the result, however parts fail`() {
    var results: Set<String> = []
    for seed in 0..<Self.pairs {
      var pair = EnginePair(seed: seed, mayCut: false)
      pair.run()
      expect(pair.broken == nil, "seed \(seed): \(pair.trail.suffix(12).joined(separator: "\n"))")
      expect(text(pair.sent), is: text(pair.received), "seed \(seed)")
      results.insert(text(pair.sent))
      if pair.broken != nil { return }
    }
    expect(results.count > 8)
  }

  @Test func `both ends agree about each message also after lost connections, and their runs end`() {
    for seed in 0..<Self.pairs {
      var pair = EnginePair(seed: seed, mayCut: true)
      pair.run()
      expect(pair.broken == nil, "seed \(seed): \(pair.trail.suffix(12).joined(separator: "\n"))")
      if pair.broken != nil { return }
    }
  }
}
