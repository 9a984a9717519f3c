import MigrationWire

@testable import MigrationEngine

extension SenderTrial {
  /// A state of a run, by its name in the tables.
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
      trial.take(.exported(trial.session, .failure(Fault(.exportFailed, "no export"))))
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

  /// All possible events of a first session, each with a name.
  static let events: [(name: String, event: SenderEngine.Event)] = run + dials + messages + workers

  /// Times that may pass.
  static let times = [("0.1 s", 0.1), ("0.25 s", 0.25), ("3 s", 3)]

  /// The loop never sends these: the close of a connection that nothing closes, a second join of a
  /// stream.
  func isPossible(_ event: SenderEngine.Event) -> Bool {
    switch (engine.phase, event) {
    case (.conversing, .closed): false
    case (.conversing(let conversation, _), .streamJoined(_, let stream, _)):
      conversation.streams?.hasJoined(stream) != true
    default: true
    }
  }

  private static let run: [(name: String, event: SenderEngine.Event)] = [
    ("begin", .begin),
    ("walked", .walked(.success([Fixture.summary]))),
    ("walk fails", .walked(.failure(Fault(.source, "no source")))),
    ("nothing unfinished", .lookedUp(.success([]))),
    ("two unfinished", .lookedUp(.success([Fixture.unfinished(7), Fixture.unfinished(8)]))),
    (
      "one is done", .lookedUp(.success([Fixture.unfinished(7, unsent: 3, done: Fixture.done), Fixture.unfinished(8)]))
    ),
    ("look-up fails", .lookedUp(.failure(Fault(.storage, "no memory")))),
    ("found none", .found(.success([]), spread: 0)),
    ("found one", .found(.success([Fixture.nearby("a")]), spread: 0)),
    ("found two", .found(.success([Fixture.nearby("a"), Fixture.nearby("b")]), spread: 0)),
    ("search fails", .found(.failure(Fault(.device, "no socket")), spread: 0)),
    ("chosen", .chosen(.success(1))),
    ("none chosen", .chosen(.failure(Fixture.failure("no choice")))),
    ("probed", .probed(.success(Fixture.device))),
    ("not found", .probed(.failure(.unresolved(Fixture.failure("no name"))))),
    ("refused", .probed(.failure(.unreached(Fixture.device, by: .refused)))),
    ("probe stopped", .probed(.failure(.stopped))),
    ("probe fails", .probed(.failure(.failed(Fixture.failure("no socket"))))),
    ("code", .codeEntered(.success(Fixture.code))),
    ("no code", .codeEntered(.failure(Fixture.failure("no code")))),
    ("derived", .derived(nil)),
    ("derivation fails", .derived(Fault(.device, "no secret"))),
    ("stop", .stop(.terminated)),
    ("noted", .noted(77)),
    ("forgot", .forgot(77)),
  ]

  private static let dials: [(name: String, event: SenderEngine.Event)] = [
    ("addresses", .dialing(first: "address")),
    ("met", .dialed(.success(Fixture.meeting(1)), spread: 0)),
    ("unresolved", .dialed(.failure(.unresolved(Fixture.failure("no name"))), spread: 0)),
    ("unreached", .dialed(.failure(.unreached(Fixture.failure("far"), reason: "it is far")), spread: 1)),
    ("turned away", .dialed(.failure(.turnedAway(Fixture.failure("busy"), reason: "it is busy")), spread: 0.4)),
    ("stranger", .dialed(.failure(.stranger(Fixture.receiver)), spread: 0)),
    ("other stranger", .dialed(.failure(.stranger(Fixture.otherReceiver)), spread: 0)),
    ("forgotten", .dialed(.failure(.forgotten), spread: 0)),
    ("dial stopped", .dialed(.failure(.stopped), spread: 0)),
    ("dial fails", .dialed(.failure(.failed(Fixture.failure("broken"))), spread: 0)),
  ]

  private static let messages: [(name: String, event: SenderEngine.Event)] = [
    ("GREETING", .greeting(Fixture.greeting(AppRequest(bundleIdentifier: "app", platform: "linux")))),
    ("GREETING of a sender", .greeting(Greeting(role: .sender, label: "", software: "", features: []))),
    ("VERDICT", .verdict(Fixture.verdict)),
    ("VERDICT refused", .verdict(Fixture.verdict([.refused(Close(.exists, "it is there"))]))),
    ("VERDICT of two", .verdict(Fixture.verdict([.taken(), .taken()]))),
    ("ACCEPT", .accept(Fixture.accept)),
    ("HELD", .held(Held(kind: .staged, marks: [1, 2]))),
    ("PARTIAL", .partial(Partial(path: Fixture.path, generation: 5, ranges: ByteRanges()))),
    ("HELD_END", .heldEnd(HeldEnd(held: Tally(items: 0, bytes: 20)))),
    ("PROGRESS", .progress(ImportProgress(phase: .verifying, done: 1, total: 4))),
    ("PROGRESS importing", .progress(ImportProgress(phase: .importing, done: 0, total: 0))),
    ("NOT_STORED", .notStored(Fixture.refusal)),
    ("DONE", .done(Fixture.done)),
    ("another DONE", .done(Done(total: Tally(items: 1, bytes: 1)))),
    ("FAILED", .failed(Failed(part: 0, Close(.noSpace, "full")))),
    ("FAILED of another", .failed(Failed(part: 1, Close(.noSpace, "full")))),
    ("RECEIPT", .receipt),
    ("PING", .ping(9)),
    ("PONG", .pong(9)),
    ("CLOSE interrupted", .close(Close(.interrupted, "away"))),
    ("CLOSE silent", .close(Close(.silent, "silence"))),
    ("CLOSE full", .close(Close(.noSpace, "full"))),
  ].map { ($0, .received(ConnectionID(1), $1)) }

  private static let workers: [(name: String, event: SenderEngine.Event)] = [
    ("cut", .broke(ConnectionID(1), Fixture.cut)),
    ("violation", .broke(ConnectionID(1), Fault(.violation, "nonsense"))),
    ("drained", .drained(ConnectionID(1))),
    ("closed", .closed(ConnectionID(1), spread: 1)),
    ("withholding", .withholding(SessionNumber(1), clause: "some are too large")),
    ("unsent", .unsent(SessionNumber(1), Fixture.unsent)),
    ("exported", .exported(SessionNumber(1), .success(.some))),
    ("export fails", .exported(SessionNumber(1), .failure(Fault(.exportFailed, "no export")))),
    ("plan recorded", .planRecorded(SessionNumber(1), 77, nil)),
    ("plan not recorded", .planRecorded(SessionNumber(1), 77, Fault(.storage, "no memory"))),
    ("finish noted", .finishNoted(SessionNumber(1), 77, nil)),
    ("finish not noted", .finishNoted(SessionNumber(1), 77, Fault(.device, "no thread"))),
    ("stream joined", .streamJoined(SessionNumber(1), 0)),
    ("stream finished", .streamEnded(SessionNumber(1), 0, .finished)),
    ("stream lost", .streamEnded(SessionNumber(1), 0, .lost(hasBrought: true))),
    ("stream stopped", .streamEnded(SessionNumber(1), 0, .stopped)),
    ("stream fails", .streamEnded(SessionNumber(1), 0, .failed(Fault(.violation, "no END")))),
    ("window", .window(SessionNumber(1), Fixture.counts)),
    ("recorded", .recorded(77, Fixture.traffic, isWritten: true)),
    ("not recorded", .recorded(77, Fixture.traffic, isWritten: false)),
  ]

  /// Events of a session that has ended, or of a connection, stream or transfer that does not
  /// exist.
  static let lateEvents: [SenderEngine.Event] = [
    .received(ConnectionID(9), .ping(1)), .broke(ConnectionID(9), Fixture.cut), .drained(ConnectionID(9)),
    .closed(ConnectionID(9), spread: 0),
    .withholding(SessionNumber(9), clause: ""), .unsent(SessionNumber(9), Fixture.unsent),
    .exported(SessionNumber(9), .success(.some)), .finishNoted(SessionNumber(9), 77, nil),
    .streamJoined(SessionNumber(9), 0),
    .streamEnded(SessionNumber(9), 0, .lost(hasBrought: false)), .streamEnded(SessionNumber(1), 9, .finished),
    .streamJoined(SessionNumber(1), 9), .window(SessionNumber(9), Fixture.counts),
    .recorded(999, Fixture.traffic, isWritten: true),
    .forgot(999),
  ]
}
