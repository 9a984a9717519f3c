import Expectations
import MigrationWire
import TestSupport
import Testing

@testable import MigrationEngine

/// Events in any order from each state of both ends: workers end late, and a peer says anything at
/// any time.
@Suite struct AnyEventTests {
  private static let courses = 4 * UInt64(Rounds.count)

  @Test(arguments: SenderTrial.states)
  func `whatever happens, a sender keeps its invariants, and a stop ends its run in time`(state: String) {
    for seed in 0..<Self.courses {
      var dice = Generator(seed: seed)
      var trial = SenderTrial.inState(state)
      for _ in 0..<16 {
        switch (trial.engine.phase, Int.random(in: 0..<8, using: &dice)) {
        case (.dialing, 0...2): trial.meet(own: AddressFixture.own)
        case (.closing, 0...2): trial.happens(.closed(ConnectionID(trial.connection), spread: 0))
        case (.inSession(let session, _), 0) where session.streams?.hasJoined(0) == false:
          trial.happens(.streamJoined(trial.session, 0))
        case (_, 3): trial.passToNext()
        default: trial.happens(trial.events.randomElement(using: &dice) ?? .begin)
        }
      }
      trial.happens(.stop(.terminated))
      for _ in 0..<20 { trial.passToNext() }
      expect(trial.engine.phaseName, is: "over", "seed \(seed)")
    }
  }

  @Test(arguments: ReceiverState.allCases)
  func `whatever happens, a receiver keeps its invariants, and a stop ends its run in time`(state: ReceiverState) {
    for seed in 0..<Self.courses {
      var dice = Generator(seed: seed)
      var script = state.script()
      var connections = ReceiverScript.connectionEvents.compactMap { $0.randomElement(using: &dice) }.shuffled(
        using: &dice)
      for _ in 0..<16 {
        // The newest session, which may have come back on connection 4.
        let (session, control) =
          script.engine.sessions.keys.max().flatMap { number in
            script.engine.sessions[number].map { (number, $0.connection) }
          } ?? (SessionNumber(1), ReceiverScript.id(1))
        let events = ReceiverScript.events(of: session, on: control)
        let event = Bool.random(using: &dice) ? connections.popLast() : events.randomElement(using: &dice)
        _ = script.feed(event ?? .timePassed, after: [0.01, 1, 60].randomElement(using: &dice) ?? 0)
      }
      _ = script.feed(.stop(.terminated))
      for _ in 0..<20 where Words.text(script.engine.phase) != "over" {
        for id in script.engine.transfers.map(\.identifier) where script.engine.workers.contains(.importItems(id)) {
          _ = script.feed(.imported(id, .failure(ReceiverScript.broken), Traffic(), refused: []))
        }
        _ = script.feed(.timePassed, after: max(0, (script.engine.nextMoment ?? script.now) - script.now))
      }
      expect(Words.text(script.engine.phase), is: "over", "seed \(seed)")
    }
  }

  @Test func `an event of another session, or of another connection, has no effect`() {
    let (other, connection) = (SessionNumber(9), ConnectionID(9))
    for state in SenderTrial.states {
      for event in [
        .received(connection, .ping(1)), .broke(connection, Fixture.cut), .drained(connection),
        .closed(connection, spread: 0), .unsent(other, Fixture.unsent),
        .exported(other, .success(.some)), .finishNoted(other, 77, nil), .streamJoined(other, 0),
        .streamEnded(other, 0, .lost(hasBrought: false)), .streamEnded(SessionNumber(1), 9, .finished),
        .streamJoined(SessionNumber(1), 9), .window(other, Fixture.counts),
        .recorded(999, Fixture.traffic, isWritten: true), .forgot(999),
      ] as [SenderEngine.Event] {
        var trial = SenderTrial.inState(state)
        let before = trial.engine.phaseName
        expect(trial.take(event), is: [], "\(event) while \(state)")
        expect(trial.engine.phaseName, is: before)
      }
    }
  }
}

extension SenderTrial {
  /// The loop reads a window at once.
  fileprivate mutating func happens(_ event: SenderEngine.Event, after seconds: Double = 0.01) {
    if take(event, after: seconds).contains("read window \(connection)") { take(.window(session, Fixture.counts)) }
  }

  fileprivate mutating func passToNext() {
    happens(.timePassed, after: max(0, (engine.nextMoment ?? now) - now))
  }
}
