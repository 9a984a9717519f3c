import MigrationWire
import Testing

@testable import MigrationEngine

/// An engine, and the events that a test lets happen. Its actions are returned in words.
struct SenderTrial {
  private(set) var engine: SenderEngine
  var now = 100.0
  /// The current or last connection and session.
  private(set) var connection: UInt64 = 0
  /// The parts of the plan.
  var sources = [Fixture.summary]

  /// Without a target, the sender looks for receivers.
  init(
    giveUpAfter: Double = 600, target: String? = "target", _ change: (inout SenderEngine.Settings) -> Void = { _ in }
  ) {
    var settings = SenderEngine.Settings(
      greeting: Greeting(role: .sender, label: "here", software: "", features: .zstd), target: target,
      giveUpAfter: giveUpAfter)
    change(&settings)
    engine = SenderEngine(settings)
  }

  var session: SessionNumber { SessionNumber(connection) }

  @discardableResult
  mutating func take(_ event: SenderEngine.Event, after seconds: Double = 0) -> [String] {
    now += seconds
    let actions = engine.handle(event, now: now)
    if let broken = engine.checkInvariants() {
      Issue.record("\(broken), after \(event)")
    }
    return actions.map(\.text)
  }

  @discardableResult
  mutating func hear(_ message: ControlMessage, after seconds: Double = 0) -> [String] {
    take(.received(ConnectionID(connection), message), after: seconds)
  }

  @discardableResult
  mutating func meet(after seconds: Double = 0, own: OwnAddresses? = nil) -> [String] {
    connection += 1
    return take(.dialed(.success(Fixture.meeting(connection, own: own)), spread: 0), after: seconds)
  }

  @discardableResult
  mutating func fail(_ failure: SenderEngine.DialFailure, spread: Double = 0, after seconds: Double = 0) -> [String] {
    take(.dialed(.failure(failure), spread: spread), after: seconds)
  }

  @discardableResult
  mutating func join(_ stream: SenderEngine.StreamNumber, after seconds: Double = 0) -> [String] {
    take(.streamJoined(session, stream), after: seconds)
  }

  @discardableResult
  mutating func end(
    _ stream: SenderEngine.StreamNumber, _ end: SenderEngine.StreamEnd, after seconds: Double = 0
  ) -> [String] {
    take(.streamEnded(session, stream, end), after: seconds)
  }

  @discardableResult
  mutating func close(spread: Double = 0, after seconds: Double = 0) -> [String] {
    take(.closed(ConnectionID(connection), spread: spread), after: seconds)
  }

  @discardableResult
  mutating func pass(_ seconds: Double) -> [String] { take(.timePassed, after: seconds) }

  /// The connection is lost after FINISH, and the receiver greets on another one.
  mutating func loseAndMeetAgain() {
    end(0, .finished)
    take(.broke(ConnectionID(1), Fixture.cut))
    close()
    take(.window(SessionNumber(1), Fixture.counts))
    take(.noted(77))
    pass(1)
    meet()
    plan()
  }

  /// The export ends, and its omissions are recorded.
  @discardableResult
  mutating func export(_ exported: ExportResult = .little) -> [String] {
    take(.exported(session, .success(exported))) + take(.finishNoted(session, 77, nil))
  }

  // MARK: Steps that many tests share

  /// Begins, and finds the transfers of earlier runs; without any, the receiver is reached.
  mutating func begin(_ unfinished: [SenderEngine.EarlierTransfer] = [], isWalked: Bool = true) {
    take(.begin)
    if isWalked { take(.walked(.success(sources))) }
    take(.lookedUp(.success(unfinished)))
    if unfinished.isEmpty { take(.probed(.success(Fixture.device))) }
  }

  /// Begins, and dials to pair.
  mutating func beginPairing(isWalked: Bool = true) {
    begin(isWalked: isWalked)
    take(.codeEntered(.success(Fixture.code)))
    take(.derived(nil))
  }

  /// Passes from READY to the first OFFER; returns the actions with it.
  @discardableResult
  mutating func plan(_ verdict: Verdict = Fixture.verdict, _ greeting: Greeting = Fixture.greeting()) -> [String] {
    take(.noted(77))
    hear(.greeting(greeting))
    hear(.verdict(verdict))
    return take(.planRecorded(session, verdict.transfer, nil))
  }

  /// Passes from an OFFER to the end of the ledger.
  mutating func accept(held: Tally = Tally()) -> [String] {
    hear(.accept(Fixture.accept))
    return hear(.heldEnd(HeldEnd(held: held)))
  }

  /// Passes from READY to the ledger's end.
  mutating func stream(
    _ verdict: Verdict = Fixture.verdict, _ greeting: Greeting = Fixture.greeting(), held: Tally = Tally()
  ) -> [String] {
    plan(verdict, greeting)
    return accept(held: held)
  }

  /// The receiver is done with a part, and that is recorded; returns the actions after that.
  mutating func finish() -> [String] {
    export()
    hear(.done(Fixture.done))
    return take(.recorded(77, Fixture.traffic, isWritten: true))
  }

  /// A session with joined streams, from the beginning.
  static func streaming(
    giveUpAfter: Double = 600, _ verdict: Verdict = Fixture.verdict, of sources: [SourceSummary] = [Fixture.summary],
    _ change: (inout SenderEngine.Settings) -> Void = { _ in }
  ) -> SenderTrial {
    var trial = SenderTrial(giveUpAfter: giveUpAfter, change)
    trial.sources = sources
    trial.beginPairing()
    trial.meet()
    _ = trial.stream(verdict)
    return trial
  }
}
