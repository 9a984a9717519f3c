import MigrationWire

@testable import MigrationEngine

extension SenderTrial {
  /// The names of the states, in the order of a run.
  static let states = [
    "idle", "looking up", "probing", "searching", "choosing", "asking", "deriving", "pairing", "pairing again",
    "resuming", "resuming again", "greeting", "preparing", "planned", "recording the plan", "offered", "comparing",
    "opening", "streaming", "dropping", "failing", "given up", "noting", "finishing", "recording",
    "recording and stopped", "closing done", "forgetting", "closing cut", "counting", "waiting", "coming back",
    "coming back unwalked", "ending", "over",
  ]

  /// A state of a run, by its name.
  static func inState(_ name: String) -> SenderTrial {
    var trial = SenderTrial()
    switch name {
    case "idle": break
    case "looking up": trial.take(.begin)
    case "probing":
      trial.take(.begin)
      trial.take(.lookedUp(.success([])))
    case "searching":
      trial = SenderTrial(target: nil)
      trial.take(.begin)
      trial.take(.lookedUp(.success([])))
    case "choosing":
      trial = .inState("searching")
      trial.take(.found(.success([Fixture.nearby("a"), Fixture.nearby("b")]), spread: 0))
    case "asking": trial.begin(isWalked: false)
    case "deriving":
      trial.begin(isWalked: false)
      trial.take(.codeEntered(.success(Fixture.code)))
    case "pairing": trial.beginPairing(isWalked: false)
    case "pairing again":
      trial.beginPairing(isWalked: false)
      trial.fail(.turnedAway(Fixture.failure("busy"), reason: "busy"))
    case "resuming":
      trial.begin([Fixture.unfinished(7), Fixture.unfinished(8, Fixture.otherReceiver)], isWalked: false)
    case "resuming again":
      trial.begin([Fixture.unfinished(7)], isWalked: false)
      trial.fail(.unreached(Fixture.failure("far"), reason: "it is far"))
    case "greeting":
      trial.beginPairing()
      trial.meet()
    case "preparing":
      trial.beginPairing(isWalked: false)
      trial.meet()
      trial.hear(.greeting(Fixture.greeting()))
    case "planned":
      trial = .inState("greeting")
      trial.hear(.greeting(Fixture.greeting()))
    case "recording the plan":
      trial = .inState("planned")
      trial.hear(.verdict(Fixture.verdict))
    case "offered":
      trial.begin([Fixture.unfinished(7)])
      trial.meet()
      trial.plan(Fixture.verdict(of: 7))
    case "comparing":
      trial = .inState("recording the plan")
      trial.take(.planRecorded(trial.session, 77, nil))
      trial.hear(.accept(Fixture.accept))
    case "opening": trial = .streaming()
    case "streaming":
      trial = .streaming()
      trial.join(0)
      trial.take(.window(trial.session, SenderEngine.WindowCounts()))
    case "dropping":
      trial = .inState("streaming")
      trial.take(.exported(trial.session, .success(ExportResult.some)))
    case "failing":
      trial = .inState("streaming")
      trial.take(.exported(trial.session, .failure(Failure(.exportFailed, "no export"))))
    case "given up":
      trial = .inState("streaming")
      trial.hear(.failed(Failed(part: 0, Close(.noSpace, "full"))))
    case "noting":
      trial = .inState("dropping")
      trial.take(.drained(ConnectionID(1)))
    case "finishing":
      trial = .inState("noting")
      trial.take(.finishNoted(trial.session, 77, nil))
    case "recording":
      trial = .inState("finishing")
      trial.hear(.done(Fixture.done))
    case "recording and stopped":
      trial = .inState("recording")
      trial.take(.stop(.interrupted))
    case "closing done":
      trial = .inState("recording")
      trial.take(.recorded(77, Fixture.traffic, isWritten: true))
      trial.end(0, .finished)
    case "forgetting":
      trial = .inState("closing done")
      trial.close()
    case "closing cut":
      trial = .inState("streaming")
      trial.take(.broke(ConnectionID(1), Fixture.cut))
      trial.take(.exported(trial.session, .failure(Fixture.cut)))
      trial.end(0, .stopped)
    case "counting":
      trial = .inState("closing cut")
      trial.close()
    case "waiting":
      trial = .inState("counting")
      trial.take(.window(trial.session, Fixture.counts))
    case "coming back":
      trial = .inState("waiting")
      trial.pass(1)
    case "coming back unwalked":
      trial = .inState("preparing")
      trial.take(.broke(ConnectionID(1), Fixture.cut))
      trial.close()
      trial.pass(1)
    case "ending":
      trial = .inState("resuming")
      trial.take(.stop(.interrupted))
    case "over":
      trial = .inState("ending")
      trial.pass(5)
    default: preconditionFailure("\(name) is no state")
    }
    return trial
  }
}
