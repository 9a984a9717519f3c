import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The checks of an engine find the errors that they are for.
@Suite struct SenderInvariantTests {
  private func broken(_ state: String, _ change: (inout SenderEngine) -> Void) -> String? {
    var engine = SenderTrial.inState(state).engine
    expect(engine.checkInvariants() == nil)
    change(&engine)
    return engine.checkInvariants()
  }

  @Test func `work that runs twice, or does not fit the phase, is found`() {
    expect(broken("looking up") { $0.work.begin([.walk]) }, is: "the same work runs twice")
    expect(broken("idle") { $0.work.begin([.walk]) }, is: "work runs before the beginning")
    expect(broken("looking up") { $0.work.end(.lookedUp(.success([]))) }, is: "lookUp does not fit the phase")
    expect(
      broken("asking") { $0.work.end(.codeEntered(.success(Fixture.code))) }, is: "question does not fit the phase")
    expect(broken("deriving") { $0.work.end(.derived(nil)) }, is: "derivation does not fit the phase")
    expect(broken("pairing") { $0.work.begin([.lookUpUnfinished]) }, is: "lookUp does not fit the phase")
    expect(broken("pairing") { $0.work.begin([.askCode(Fixture.device)]) }, is: "question does not fit the phase")
    expect(broken("waiting") { $0.work.begin([.dial(.pair, at: .target)]) }, is: "dial does not fit the phase")
    expect(
      broken("streaming") { $0.work.begin([.deriveSecret(Fixture.code)]) }, is: "derivation does not fit the phase")
    expect(broken("closing cut") { $0.work.begin([.askCode(Fixture.device)]) }, is: "question does not fit the phase")
    expect(broken("counting") { $0.work.begin([.askCode(Fixture.device)]) }, is: "question does not fit the phase")
    expect(broken("pairing") { $0.work.end(.walked(.success([Fixture.summary]))) }, is: "the source is not walked")
    expect(broken("ending") { $0.work.end(.walked(.success([Fixture.summary]))) } == nil)
    expect(broken("over") { $0.work.begin([.askCode(Fixture.device)]) } == nil)
  }

  @Test func `work of a session that has ended is found`() {
    expect(
      broken("waiting") { $0.work.begin([.readWindow(SessionNumber(1))]) },
      is: "a worker of an older session still runs")
    expect(
      broken("streaming") { $0.work.begin([.readWindow(SessionNumber(2))]) },
      is: "a worker of an older session still runs")
    expect(
      broken("coming back") { $0.work.begin([.converse(ConnectionID(1))]) },
      is: "connection 1 is open without a session")
    expect(
      broken("closing cut") { $0.work.begin([.converse(ConnectionID(2))]) },
      is: "connection 2 is open without a session")
    expect(broken("ending") { $0.work.begin([.converse(ConnectionID(2))]) } == nil)
  }

  @Test func `a session that lacks a part is found`() {
    let closed = SenderEngine.Event.closed(ConnectionID(1), spread: 0)
    expect(broken("greeting") { $0.work.end(closed) }, is: "a session has no connection")
    expect(
      broken("recording") { $0.work.end(.recorded(77, Traffic(), isWritten: true)) }, is: "DONE is not being recorded")
    expect(
      broken("finishing") { $0.work.begin([.recordDone(77, part: 0, Fixture.done, refusals: [])]) },
      is: "DONE is not being recorded")
    expect(
      broken("streaming") { $0.work.end(.streamEnded(SessionNumber(1), 0, .finished)) },
      is: "a stream's worker is not known")
    expect(
      broken("streaming") { $0.work.end(.exported(SessionNumber(1), .success(.little))) },
      is: "the worker of a part is not known")
    expect(
      broken("recording the plan") { $0.work.end(.planRecorded(SessionNumber(1), 77, nil)) },
      is: "a session waits for nothing")
    expect(
      broken("counting") { $0.work.end(.window(SessionNumber(1), Fixture.counts)) }, is: "the window is not read")
    expect(broken("ending") { $0.endDeadline = nil }, is: "the end has no deadline")
    expect(
      broken("closing done") { $0.work.end(closed) }, is: "nothing runs, and nothing is awaited")
  }
}
