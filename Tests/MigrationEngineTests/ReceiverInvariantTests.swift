import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The invariants of a receiver's engine are checked: each kind of breach is found.
@Suite struct ReceiverInvariantTests {
  private typealias Script = ReceiverScript

  private func receiving() -> ReceiverEngine {
    var script = Script()
    script.open([Script.known(66, key: 6)])
    script.receive()
    _ = script.join(2, stream: 0)
    return script.engine
  }

  private func find(_ what: String, _ spoil: (inout ReceiverEngine) -> Void) {
    var engine = receiving()
    expect(engine.checkInvariants() == nil)
    spoil(&engine)
    expect(engine.checkInvariants(), is: what)
  }

  @Test func `a phase without its transfer or session is found`() {
    let one = SessionNumber(1)
    find("it is engaged in a transfer that is not there") { $0.phase = .serving([.engaged(5, one)]) }
    find("the newest session is not there") { $0.phase = .serving([.engaged(100, SessionNumber(7))]) }
    find("the newest session is not there") { $0.phase = .serving([.engaged(66, one)]) }
    find("it is engaged with neither a session nor an import") { $0.phase = .serving([.engaged(100, nil)]) }
    let failure = TransferOutcome.failure(Failure(.failed, ""))
    find("a transfer whose sender is away is not there") { $0.phase = .serving([.away(5, until: 1, failure)]) }
    find("it waits for a sender with the wrong outcome") {
      $0.transfers[of: 100]?.imported(Script.done, [])
      $0.phase = .serving([.away(100, until: 1, failure)])
    }
    find("nothing runs, and the run has not ended") {
      $0.workers = ReceiverEngine.RunningWorkers()
      $0.phase = .finishing(failure, until: 1)
    }
    find("an import runs beside another transfer") { $0.transfers[of: 66]?.part.stage = .importing }
    find("it serves too many transfers") { $0.phase = .serving([.engaged(100, one), .engaged(66, nil)]) }
  }

  @Test func `a session in the wrong state is found`() {
    let one = SessionNumber(1)
    let two = SessionNumber(2)
    find("an older session acts") {
      $0.phase = .serving([.away(100, until: 1, .failure(Failure(.failed, "")))])
    }
    find("a session has ended and is still there") {
      $0.sessions[two] = ReceiverSession(
        66, on: ConnectionID(50), from: Remote(host: "", network: ""), isResumed: true, now: 0)
      $0.sessions[two]?.life = .ending(nil)
    }
    find("it receives without an offer") { $0.sessions[one]?.streams = nil }
    find("a session and its conversation do not agree") { $0.sessions[one]?.stage = .due(Script.offer()) }
    find("a plan is judged while an older session works") {
      $0.sessions[two] = $0.sessions[one]
      $0.sessions[one]?.life = .ending(nil)
      $0.phase = .serving([.engaged(100, two)])
    }
  }

  @Test func `a session that waits for nothing is found`() {
    let one = SessionNumber(1)
    for (state, worker) in [
      (.judgingPlan, .judgePlan(one)), (.asking, .question), (.recording, .record(one)), (.staging, .stage(one)),
    ] as [(ReceiverState, ReceiverEngine.Worker)] {
      var engine = state.script().engine
      expect(engine.checkInvariants() == nil)
      _ = engine.workers.end(worker)
      if worker == .question { engine.question = nil }
      expect(engine.checkInvariants(), is: "a session waits for nothing")
    }
    var importing = ReceiverState.importing.script().engine
    importing.transfers[of: 100]?.part.stage = .receiving
    expect(importing.checkInvariants(), is: "a session waits for an import that does not run")
  }

  @Test func `a forgotten connection or worker is found`() {
    find("connection 50 before READY has no worker, or too many") {
      _ = $0.connections.arrive(ConnectionID(50), Remote(host: "", network: ""), now: 0, chance: 0)
      $0.connections.advance(ConnectionID(50), to: .greeting)
    }
    find("connection 2 after READY is forgotten") { _ = $0.workers.end(.serve(ConnectionID(2))) }
    find("a question and its worker do not agree") { $0.question = (.restart, isWithdrawn: false) }
    find("an import and its worker do not agree") { $0.transfers[of: 100]?.part.stage = .importing }
    find("an import and its worker do not agree") { $0.workers.start(.importItems(100)) }
  }
}
