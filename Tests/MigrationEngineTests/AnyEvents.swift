import MigrationWire

@testable import MigrationEngine

extension SenderTrial {
  /// All kinds of events, as far as the current connection and session have them.
  var events: [SenderEngine.Event] { Self.before + Self.dials + during(session) + messages(ConnectionID(connection)) }

  private static let before: [SenderEngine.Event] = [
    .begin, .stop(.interrupted), .walked(.success([Fixture.summary])), .walked(.failure(Failure(.source, "no source"))),
    .lookedUp(.success([])),
    .lookedUp(.success([Fixture.unfinished(7), Fixture.unfinished(8)])),
    .lookedUp(.success([Fixture.unfinished(7, done: Fixture.done)])),
    .lookedUp(
      .success([Fixture.unfinished(7, done: Fixture.done)]),
      devices: [SenderEngine.KnownDevice(receiver: Fixture.receiver, host: "host", label: "")]),
    .lookedUp(.failure(Failure(.storage, "no memory"))),
    .found(.success([]), spread: 0), .found(.success([Fixture.nearby("a")]), spread: 0),
    .found(.success([Fixture.nearby("a"), Fixture.nearby("b")]), spread: 0),
    .found(.failure(Failure(.failed, "no socket")), spread: 0), .chosen(.success(1)),
    .chosen(.failure(Fixture.failure("no choice"))), .probed(.success(Fixture.device)),
    .probed(.failure(Failure(unreached: Fixture.device, by: .refused))),
    .probed(.failure(Fixture.failure("no socket"))),
    .codeEntered(.success(Fixture.code)), .codeEntered(.failure(Fixture.failure("no code"))), .derived(nil),
    .derived(Failure(.failed, "no secret")), .noted(77), .forgot(77), .timePassed, .timePassed,
    .recorded(77, Fixture.traffic, isWritten: true), .recorded(77, Fixture.traffic, isWritten: false),
  ]

  private static let dials: [SenderEngine.Event] =
    [.dialing(first: "address")]
    + [
      .unresolved(Fixture.failure("no name")), .unreached(Fixture.failure("far"), reason: "it is far"),
      .turnedAway(Fixture.failure("busy"), reason: "it is busy"), .queued(place: 2), .stranger(Fixture.otherReceiver),
      .forgotten, .stopped, .failed(Fixture.failure("broken")),
    ].map { .dialed(.failure($0), spread: 0) }

  private func during(_ session: SessionNumber) -> [SenderEngine.Event] {
    let connection = ConnectionID(connection)
    return [
      .broke(connection, Fixture.cut), .broke(connection, Failure(.violation, "nonsense")), .drained(connection),
      .unsent(session, Fixture.unsent),
      .exported(session, .success(.some)), .exported(session, .failure(Failure(.exportFailed, "no export"))),
      .planRecorded(session, 77, nil), .planRecorded(session, 77, Failure(.storage, "no memory")),
      .finishNoted(session, 77, nil), .finishNoted(session, 77, Failure(.failed, "no thread")),
      .streamEnded(session, 0, .finished), .streamEnded(session, 0, .lost(hasBrought: true)),
      .streamEnded(session, 0, .stopped), .streamEnded(session, 0, .failed(Failure(.violation, "no END"))),
      .window(session, Fixture.counts),
    ]
  }

  private func messages(_ connection: ConnectionID) -> [SenderEngine.Event] {
    let most = Tally(items: .max, bytes: .max)
    return
      ([
        .greeting(Fixture.greeting(AppRequest(bundleIdentifier: "app", platform: "linux"))),
        .greeting(Greeting(role: .sender, label: "", software: "", features: [])), .verdict(Fixture.verdict),
        .verdict(Fixture.verdict([.refused(Close(.exists, "it is there"))])), .verdict(Fixture.verdict([.finished])),
        .verdict(Fixture.verdict([.taken(), .taken()])), .accept(Fixture.accept),
        .held(Held(kind: .staged, marks: [1, 2])),
        .partial(Partial(path: Fixture.path, generation: 5, ranges: ByteRanges())), .heldEnd(HeldEnd(held: Tally())),
        .heldEnd(HeldEnd(held: most)), .progress(ImportProgress(phase: .verifying, done: .max, total: 0)),
        .notStored(Fixture.refusal), .done(Fixture.done), .done(Done(total: most)),
        .failed(Failed(part: 0, Close(.noSpace, "full"))), .failed(Failed(part: .max, Close(.noSpace, "full"))),
        .receipt,
        .ping(9), .pong(9), .addresses(AddressFixture.addresses), .close(Close(.interrupted, "away")),
        .close(Close(.silent, "silence")),
        .close(Close(.noSpace, "full")),
      ] as [ControlMessage]).map { .received(connection, $0) }
  }
}

extension ReceiverScript {
  /// The events that may come next for each connection of `ReceiverState` before READY.
  static let connectionEvents: [[Event]] =
    [
      [
        .joining(id(3), Join(session: session, stream: 1)),
        .joining(id(3), Join(session: session, stream: 1, replaces: 0)),
        .joining(id(3), Join(session: 1, stream: 1)),
      ],
      [.ready(id(4), identifier: 0)], [.proved(id(8), isRight: true), .proved(id(8), isRight: false)], [.spoke(id(9))],
    ] + [5, 6, 7].map { number in [.pair, .resume, .join].map { .asked(id(number), $0) } }

  /// All kinds of events of a run and of a session.
  static func events(of session: SessionNumber, on control: ConnectionID) -> [Event] {
    let refusals = [refusal("a")]
    let most = Tally(items: .max, bytes: .max)
    let messages: [ControlMessage] = [
      greeting(), .plan(plan()), .plan(plan(transfer)), .plan(plan(parts: 2)), .offer(offer()), .offer(offer(1)),
      .offer(PartTotals(part: 0, items: .max, bytes: .max, allocated: .max)),
      .failed(Failed(part: 0, Close(.exportFailed, "it is gone"))), .notStored(NotStored(path: [97], .vanished)),
      .notStored(NotStored(path: path("c").bytes, .tooLarge)), .drop([2, 3]),
      .drop([2, 3, 4, 5]), .finish(finish), .finish(Finish(total: most, unsent: .max, digest: 7)),
      .receipt,
      .ping(7), .addresses(AddressFixture.addresses), .close(Close(.interrupted, "enough")),
      .close(Close(.storage, "enough")),
    ]
    let events: [Event] = [
      .stop(.interrupted), .tookBack(.success([])),
      .tookBack(.success([known(77, key: 7, concluded: whole)])),
      .tookBack(.failure(broken)), .listening(.success(Listening(addresses: ["10.0.0.1"], port: 1))),
      .listening(.failure(broken)), .timePassed, .timePassed, .noticed(.staged), .outOfDescriptors(chance: 0),
      .codeMade(.success(code)), .codeMade(.failure(broken)), .answered(true), .answered(false), .answered(nil),
      .drained(control), .broke(control, cut), .broke(control, Failure(Violation(.unknown, "a frame"))),
      .closed(control),
      planJudged(session.value), planJudged(session.value, [], refused: [0: Failure(.noSpace, "there is no room")]),
      .planJudged(session, .failure(broken), session: Self.session), .recorded(session, nil),
      .recorded(session, broken),
      .staged(session, .success(admitted())), .staged(session, .success(admitted(concluded: whole))),
      .staged(session, .failure(broken)), .ledger(session, .success(LedgerPage(pages: [], partials: [], end: whole))),
      .ledger(session, .failure(broken)), .gateShut(session, nil), .gateShut(session, broken), .dropped(session, nil),
      .dropped(session, broken), .streamEnded(id(2), .over, held: Tally(items: 1, bytes: 10)),
      .streamEnded(id(2), .failed(broken), held: Tally(items: 1, bytes: 10)), .syncEnded(session, nil),
      .syncEnded(session, broken), .refused(transfer, refusals),
      .importing(transfer, ImportProgress(phase: .importing, done: .max, total: 0)),
      .imported(transfer, .success(done), Traffic(sent: 50, saved: 3, seconds: 2), refused: []),
      .imported(transfer, .failure(broken), Traffic(), refused: []), .noted(transfer),
      .retook(transfer, .success(nil)), .retook(transfer, .success(known(transfer, key: 1))),
    ]
    return events + messages.map { .received(control, $0) }
  }
}
