import MigrationWire
import TestSupport

@testable import MigrationEngine

/// A sender's loop without workers: it lets any possible event happen, in any order, and checks the
/// invariants.
///
/// It derives the running work from the actions alone, and so finds work that the engine forgets.
struct SenderWalk {
  enum Work: Hashable {
    case walk, lookUp, search, choice, probe, question, derivation, dial
    case export(SessionNumber)
    case stream(SessionNumber, UInt32)
    case finishNote(SessionNumber, TransferID)
    case planRecord(SessionNumber, TransferID)
    case note(TransferID)
    case record(TransferID)
    case forget(TransferID)
  }

  var engine: SenderEngine
  var dice: Generator
  var now = 0.0
  var work: [Work] = []
  /// The sessions whose remaining work has been told to end.
  var isStopped: Set<SessionNumber> = []
  var joined: Set<UInt32> = []
  var connection: ConnectionID?
  var isClosing = false
  /// Whether a page was queued that is not yet sent.
  var isFull = false
  var connections: UInt64 = 0
  var session: SessionNumber?
  var isExported = false
  /// Whether the receiver has given up the part that is exported.
  var isAbandoned = false
  /// Whether the plan continues a transfer, and the newest offer.
  var continues = false
  var newest: UInt16?
  /// Whether the receiver's next FAILED is the first word about that.
  var hasFailed = false
  /// The receiver's last message, and its possible next ones.
  var talk: [ControlMessage] = []
  var finished = 0
  var steps = 0
  var isDone = false
  /// Whether some parts were not finished then.
  var isPartlyDone = false
  /// The parts of the plan.
  let sources: [SourceSummary]
  /// Whether the user has stopped the run.
  var isEnded = false
  /// The phases that the walk has seen, unless it is to be quick.
  private(set) var phases: Set<String> = []
  /// Whether it keeps no names, and no export has results of two pages.
  private let isQuick: Bool
  /// The first breach that was found.
  private(set) var broken: String?

  init(seed: UInt64) { self.init(Generator(seed: seed), isQuick: false) }

  /// Begins with any dice.
  init(_ dice: Generator, isQuick: Bool) {
    var dice = dice
    self.isQuick = isQuick
    var settings = SenderEngine.Settings(
      greeting: Greeting(role: .sender, label: "", software: "", features: [.zstd, .ways]),
      target: Bool.random(using: &dice) ? nil : "",
      streams: Bool.random(using: &dice) ? nil : UInt32.random(in: 0...20, using: &dice),
      giveUpAfter: [0, 1, 600].randomElement(using: &dice) ?? 0)
    settings.graceAtTheEnd = Bool.random(using: &dice) ? 1 : 0
    engine = SenderEngine(settings)
    sources = (0..<Int.random(in: 1...3, using: &dice)).map { _ in Fixture.summary(["tree", "wood"]) }
    self.dice = dice
  }

  /// Continues until the run and all work have ended.
  mutating func run() {
    happens(.begin)
    while finished == 0, steps < 2000 { step() }
    wind()
  }

  /// The run and all work end.
  mutating func wind() {
    if finished == 0 { happens(.stop(.interrupted)) }
    // Time alone ends a run that is stopped.
    for _ in 0..<20 where finished == 0 {
      now = engine.nextMoment ?? now + 1
      happens(.timePassed)
    }
    expect(finished == 1, "the run does not end once")
    while let last = work.last { end(last) }
    expect(engine.runningWorkers == 0, "work runs behind the end")
    happens(.stop(.terminated))
    expect(finished == 1, "the run ends twice")
  }

  mutating func expect(_ isKept: Bool, _ what: @autoclosure () -> String) {
    if !isKept, broken == nil { broken = what() }
  }

  // MARK: Events

  mutating func step() {
    defer { if !isQuick { phases.insert(String(engine.phaseName.prefix { $0 != " " })) } }
    switch Int.random(in: 0..<200, using: &dice) {
    case 0..<3: late()
    case 3 where steps > 50: happens(.stop([.interrupted, .terminated].randomElement(using: &dice) ?? .failed))
    case 4..<40: passTime()
    case 40..<90:
      if let one = work.randomElement(using: &dice) { end(one) }
    case 90..<120: news()
    default: hear()
    }
  }

  /// An event of an older session, or of none.
  private mutating func late() {
    let old = SessionNumber((session?.value ?? 1) - 1)
    happens(.streamEnded(old, 0, .lost(hasBrought: false)))
    happens(.exported(old, .success(.little)))
    happens(.unsent(old, Fixture.unsent))
    happens(.window(old, Fixture.counts))
    happens(.received(ConnectionID(0), .close(Close(.noSpace, ""))))
    happens(.broke(ConnectionID(0), Fault(.storage, "")))
  }

  private mutating func passTime() {
    let next = engine.nextMoment ?? now
    now = max(now, [next, now + 0.05, now + 0.3, now + 3].randomElement(using: &dice) ?? now)
    happens(.timePassed)
  }

  private mutating func end(_ one: Work) {
    guard let index = work.firstIndex(of: one) else { return }
    work.remove(at: index)
    let isGood = Int.random(in: 0..<30, using: &dice) > 0
    let spread = Double.random(in: 0...1, using: &dice)
    switch one {
    case .walk:
      happens(.walked(isGood ? .success(sources) : .failure(Fault(.source, "no source"))))
    case .lookUp:
      let unfinished = (0..<UInt64.random(in: 0...3, using: &dice)).map {
        Fixture.unfinished(
          TransferID($0 + 1), $0 % 2 == 0 ? Fixture.receiver : Fixture.otherReceiver, parts: sources.count)
      }
      happens(.lookedUp(isGood ? .success(unfinished) : .failure(Fault(.storage, "no memory"))))
    case .search:
      let found = (0..<Int.random(in: 0...3, using: &dice)).map { Fixture.nearby("device \($0)") }
      happens(.found(isGood ? .success(found) : .failure(Fault(.device, "no socket")), spread: spread))
    case .choice:
      happens(
        .chosen(isGood ? .success(Int.random(in: 0...1, using: &dice)) : .failure(Fixture.failure("no choice"))))
    case .probe:
      let failures: [SenderEngine.ProbeFailure] = [
        .unresolved(Fixture.failure("no name")), .unreached(Fixture.device, by: .noWay), .stopped,
        .failed(Fixture.failure("broken")),
      ]
      happens(
        .probed(isGood ? .success(Fixture.device) : .failure(failures.randomElement(using: &dice) ?? .stopped)))
    case .question:
      happens(.codeEntered(isGood ? .success(Fixture.code) : .failure(Fixture.failure("no code"))))
    case .derivation: happens(.derived(isGood ? nil : Fault(.device, "no secret")))
    case .dial:
      connections += 1
      happens(.dialed(dialed(), spread: spread))
    case .note(let transfer): happens(.noted(transfer))
    case .forget(let transfer): happens(.forgot(transfer))
    case .export(let number):
      // Everything is written before the worker ends well.
      let isDone = isGood && !isStopped.contains(number) && !isAbandoned
      isExported = isDone
      happens(
        .exported(
          number,
          isDone
            ? .success(Bool.random(using: &dice) && !isQuick ? .some : .little)
            : .failure(Fault(.exportFailed, "no export"))))
    case .stream(let number, let stream): happens(.streamEnded(number, stream, streamEnd(number)))
    case .planRecord(let number, let transfer):
      happens(.planRecorded(number, transfer, isGood ? nil : Fault(.storage, "no memory")))
    case .finishNote(let number, let transfer):
      happens(.finishNoted(number, transfer, isGood ? nil : Fault(.device, "no thread")))
    case .record(let transfer): happens(.recorded(transfer, Fixture.traffic, isWritten: isGood))
    }
  }

  private mutating func dialed() -> Result<SenderEngine.Meeting, SenderEngine.DialFailure> {
    let failure = Fixture.failure("broken")
    let failures: [SenderEngine.DialFailure] = [
      .turnedAway(failure, reason: "busy"), .turnedAway(failure, reason: "busy"), .unreached(failure, reason: "far"),
      .unresolved(failure), .stranger(Fixture.otherReceiver), .forgotten, .stopped, .failed(failure),
    ]
    guard Int.random(in: 0..<4, using: &dice) == 0 else {
      return .success(Fixture.meeting(connections, own: WayFixture.own))
    }
    return .failure(failures.randomElement(using: &dice) ?? .stopped)
  }

  private mutating func streamEnd(_ number: SessionNumber) -> SenderEngine.StreamEnd {
    if isStopped.contains(number) { return .stopped }
    if isExported { return .finished }
    return Int.random(in: 0..<100, using: &dice) == 0
      ? .failed(Fault(.violation, "nonsense")) : .lost(hasBrought: Bool.random(using: &dice))
  }

  /// Workers have news.
  private mutating func news() {
    switch work.randomElement(using: &dice) {
    case .dial: happens(.dialing(first: "address"))
    case .export(let number):
      happens(.unsent(number, Fixture.unsent))
      happens(.withholding(number, clause: "some"))
    case .stream(let number, let stream) where joined.insert(stream).inserted:
      let ways = [WayFixture.open, WayFixture.seen, nil]
      happens(.streamJoined(number, stream, by: ways.randomElement(using: &dice) ?? nil))
    default: break
    }
  }

  /// The connection has an event: mostly the expected next one.
  private mutating func hear() {
    guard let connection else { return }
    guard !isClosing else {
      if Bool.random(using: &dice) {
        self.connection = nil
        happens(.closed(connection, spread: Double.random(in: 0...1, using: &dice)))
      }
      return
    }
    if isFull, Bool.random(using: &dice) {
      isFull = false
      return happens(.drained(connection))
    }
    switch Int.random(in: 0..<400, using: &dice) {
    case 0..<8: happens(.broke(connection, Fixture.cut))
    case 8..<12: happens(.received(connection, .close(Close(.silent, "silence"))))
    case 12: happens(.received(connection, .receipt))
    case 13: happens(.received(connection, .done(Fixture.done)))
    case 60..<64:
      if let newest { hear(.failed(Failed(part: newest, Close(.noSpace, "full"))), on: connection) }
    case 14..<60: happens(.received(connection, .ping(1)))
    default:
      guard !talk.isEmpty else { return }
      hear(talk.removeFirst(), on: connection)
    }
  }

  private mutating func hear(_ message: ControlMessage, on connection: ConnectionID) {
    if case .failed = message { hasFailed = true }
    defer { hasFailed = false }
    happens(.received(connection, message))
  }
}
