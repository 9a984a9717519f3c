import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The ends of runs: by the user, by a failure, and at the deadline.
@Suite struct SenderEndingTests {
  private let result =
    "done 9/900 sent 800 saved 70 held 0 in 1.5 unsent 2 losses 1 left out 3 not stored 1 left behind 1"

  @Test func `the user's first reason for the end counts`() {
    var trial = SenderTrial.inState("ending")
    expect(trial.take(.stop(.terminated)), is: [])
    trial.take(.walked(.failure(Failure(.failed, "stopped"))))
    expect(trial.fail(.stopped), is: ["finish interrupted: interrupted"])
  }

  @Test func `a user who stops the run after FINISH learns that everything has arrived`() {
    var trial = SenderTrial.streaming()
    trial.export()
    trial.take(.stop(.interrupted))
    trial.end(0, .finished)
    trial.close()
    trial.take(.window(SessionNumber(1), Fixture.counts))
    let last = trial.take(.noted(77))
    expect(last.last?.hasPrefix("finish interrupted: interrupted after all data had arrived: "), is: true, "\(last)")
  }

  @Test func `the end waits for remaining work until its deadline`() {
    var trial = SenderTrial { $0.graceAtTheEnd = 2 }
    trial.begin(isWalked: false)
    expect(trial.take(.stop(.terminated)), is: ["stop preparing"])
    expect(trial.engine.runningWorkers, is: 2)
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 2.9)
    expect(trial.take(.walked(.success([Fixture.summary]))), is: [])
    // A second stop changes nothing.
    expect(trial.take(.stop(.interrupted), after: 1), is: [])
    expect(trial.pass(1.899), is: [])
    expect(trial.pass(0.001), is: ["finish terminated: interrupted"])
    expect(trial.engine.nextMoment == nil)
    expect(trial.engine.runningWorkers, is: 1)
    expect(trial.take(.codeEntered(.success(Fixture.code))), is: [])
    expect(trial.engine.runningWorkers, is: 0)
  }

  @Test func `a failed run waits for remaining work in the same way`() {
    var trial = SenderTrial()
    trial.begin(isWalked: false)
    expect(trial.take(.codeEntered(.failure(Fixture.failure("no code")))), is: ["stop preparing"])
    expect(trial.take(.stop(.terminated)), is: [])
    expect(trial.pass(0.899), is: [])
    expect(trial.pass(0.001), is: ["finish failed: no code"])
  }

  @Test func `a failed walk ends the run and its session at once`() {
    var trial = SenderTrial()
    trial.begin(isWalked: false)
    let fault = Failure(.source, "no source")
    let words = "usage: no source (Check the path, and that you may read it.)"
    expect(trial.take(.walked(.failure(fault))), is: ["stop preparing"])
    expect(trial.take(.codeEntered(.failure(Fixture.failure("stopped")))), is: ["finish \(words)"])

    var session = SenderTrial.inState("preparing")
    expect(
      session.take(.walked(.failure(fault))), is: ["say 1 close 11 cause 11", "stop 1", "close 1 until 102.0"])
    expect(session.close(), is: ["finish \(words)"])
  }

  @Test func `an earlier run's result is reported and forgotten although there is nothing left to send`() {
    let fault = Failure(.source, "no source")
    let words = "usage: no source (Check the path, and that you may read it.)"
    var done = SenderTrial.inState("looking up")
    expect(done.take(.walked(.failure(fault))), is: [])
    expect(
      done.take(.lookedUp(.success([Fixture.unfinished(7, done: Fixture.done), Fixture.unfinished(8)]))).last,
      is: "forget 7")
    expect(done.take(.forgot(7)).first?.hasPrefix("finish done 9/900"), is: true)

    // An unfinished transfer is no reason to dial or to ask the user.
    for unfinished in [[], [Fixture.unfinished(7)]] {
      var trial = SenderTrial.inState("looking up")
      trial.take(.walked(.failure(fault)))
      expect(trial.take(.lookedUp(.success(unfinished))), is: ["finish \(words)"])
    }
    var trial = SenderTrial.inState("looking up")
    trial.take(.walked(.failure(fault)))
    expect(trial.take(.lookedUp(.failure(Failure(.storage, "no memory")))), is: ["finish \(words)"])
  }

  @Test func `a receiver that is reached in time learns that there is nothing left to send`() {
    let words = "usage: no source (Check the path, and that you may read it.)"
    for state in ["resuming", "coming back unwalked"] {
      var trial = SenderTrial.inState(state)
      expect(trial.take(.walked(.failure(Failure(.source, "no source")))), is: [])
      var away = trial
      expect(away.pass(0.899), is: [])
      expect(away.pass(0.001), is: ["finish \(words)"])
      expect(trial.meet().map { $0.drop { $0 != " " } }.contains(" \(trial.connection) close 11 cause 11"))
      expect(trial.close(), is: ["finish \(words)"])
    }
  }

  @Test func `a failed walk decides the outcome while the run ends or waits`() {
    let fault = Failure(.source, "no source")
    var trial = SenderTrial.inState("preparing")
    trial.take(.broke(ConnectionID(1), Fixture.cut))
    expect(trial.take(.walked(.failure(fault))), is: [])
    expect(trial.close(), is: ["finish usage: no source (Check the path, and that you may read it.)"])
  }

  @Test func `the user's stop in a session is reported, and the run waits for the session's workers`() {
    var trial = SenderTrial.inState("streaming")
    expect(
      trial.take(.stop(.terminated)),
      is: [
        "say 1 close 2", "stop 1", "close 1 until 100.4",
      ])
    expect(trial.end(0, .stopped, after: 0.1), is: [])
    expect(trial.close(after: 0.1), is: [])
    expect(trial.take(.exported(SessionNumber(1), .failure(Fixture.cut))), is: ["read window 1"])
    expect(
      trial.take(.window(SessionNumber(1), Fixture.counts)), is: ["note 77 4/400 of 10/1000 at host:7"])
    expect(trial.take(.noted(77)), is: ["finish terminated: interrupted"])
  }

  @Test func `the user's stop takes effect in time although nothing of a session ends`() {
    var trial = SenderTrial.inState("streaming")
    trial.take(.stop(.interrupted))
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.9)
    expect(trial.pass(0.899), is: [])
    expect(trial.pass(0.001), is: ["finish interrupted: interrupted"])
  }

  @Test func `the user's stop after a cut does not count as a connection failure`() {
    var trial = SenderTrial.inState("closing cut")
    expect(trial.take(.stop(.terminated)), is: ["hurry to close 1 until 100.4"])
    trial.close(after: 0.2)
    expect(
      trial.take(.window(SessionNumber(1), Fixture.counts)), is: ["note 77 4/400 of 10/1000 at host:7"])
    expect(trial.take(.noted(77)), is: ["finish terminated: interrupted"])

    var counting = SenderTrial.inState("counting")
    expect(counting.take(.stop(.terminated)), is: [])
    expect(counting.engine.nextMoment.map { rounded($0 - counting.now) }, is: 0.9)
    expect(counting.pass(0.9), is: ["finish terminated: interrupted"])
  }

  @Test func `the user's stop does not hide the reason of an earlier end`() {
    var trial = SenderTrial.inState("streaming")
    trial.hear(.close(Close(.importFailed, "full")))
    expect(trial.take(.stop(.terminated)), is: ["hurry to close 1 until 100.4"])
    let hint = "The received data is kept there: after a repair, run the same command again on both devices."
    expect(
      trial.pass(0.9),
      is: [
        "finish importFailed: the other device stopped: \"full\" (\(hint))"
      ])
  }

  @Test func `a finished transfer stays finished although the user stops while it is being recorded`() {
    var trial = SenderTrial.inState("recording and stopped")
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.9)
    // The ends of the session and of the run share one deadline.
    expect(
      trial.take(.recorded(77, Fixture.traffic, isWritten: true)),
      is: [
        "say 1 receipt", "stop 1", "close 1 until 100.4", "tell \(result)", "forget 77",
      ])
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.9)
    expect(trial.end(0, .finished), is: [])
    expect(trial.take(.forgot(77)), is: [])
    expect(trial.close(), is: ["finish \(result)"])
  }

  @Test func `a finished transfer is forgotten although no time is left, and the run waits a moment for it`() {
    var trial = SenderTrial.inState("recording and stopped")
    trial.now += 0.89
    trial.take(.recorded(77, Fixture.traffic, isWritten: true))
    trial.end(0, .finished)
    expect(trial.close(), is: [])
    expect(trial.pass(0.049), is: [])
    var stuck = trial
    expect(stuck.pass(0.001), is: ["finish \(result)"])
    expect(trial.take(.forgot(77)), is: ["finish \(result)"])
  }

  @Test func `forgetting a finished transfer takes any time, unless the user stops the run`() {
    var trial = SenderTrial.inState("closing done")
    expect(trial.close(), is: ["tell \(result)", "forget 77"])
    expect(trial.engine.nextMoment == nil)
    expect(trial.pass(100), is: [])
    var stopped = trial
    expect(stopped.take(.stop(.terminated)), is: [])
    expect(stopped.pass(0.899), is: [])
    expect(stopped.pass(0.001), is: ["finish \(result)"])
    expect(trial.take(.forgot(77)), is: ["finish \(result)"])
  }

  @Test func `the run waits for remaining work after forgetting until the deadline`() {
    var trial = SenderTrial()
    trial.take(.begin)
    let actions = trial.take(.lookedUp(.success([Fixture.unfinished(7, done: Fixture.done)])))
    expect(actions.suffix(2), is: ["forget 7", "stop preparing"])
    expect(trial.pass(100), is: [])
    expect(trial.take(.forgot(7)), is: [])
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.9)
    expect(trial.pass(0.9).first?.hasPrefix("finish done 9/900"), is: true)
  }

  @Test func `a finished transfer stays finished although the last messages take too long`() {
    var trial = SenderTrial.inState("closing done")
    expect(
      trial.take(.stop(.terminated)), is: ["hurry to close 1 until 100.4", "tell \(result)", "forget 77"])
    expect(trial.take(.forgot(77), after: 0.1), is: [])
    expect(trial.pass(0.799), is: [])
    expect(trial.pass(0.001), is: ["finish \(result)"])
  }

  @Test func `the walk is stopped at once when the user ends a session, and only once`() {
    var trial = SenderTrial.inState("preparing")
    expect(trial.take(.stop(.terminated)).first, is: "stop preparing")
    expect(trial.close(), is: [])
    expect(trial.take(.walked(.failure(Fixture.cut))), is: ["finish terminated: interrupted"])
  }

  @Test(arguments: ["looking up", "asking", "deriving", "pairing", "resuming", "coming back"])
  func `work that ends after the user's stop has no effect`(_ state: String) {
    for event in SenderTrial.inState(state).events {
      var trial = SenderTrial.inState(state)
      trial.take(.stop(.terminated))
      let actions = trial.take(event)
      expect(actions == [] || actions == ["finish terminated: interrupted"], "\(event) after \(state)")
      expect(["finishing terminated: interrupted", "over"].contains(trial.engine.phaseName))
    }
  }

  @Test func `a run that has ended does nothing more`() {
    for event in SenderTrial.inState("over").events {
      var trial = SenderTrial.inState("over")
      expect(trial.take(event), is: [], "\(event)")
      expect(trial.engine.phaseName, is: "over")
    }
  }
}
