import MigrationWire

@testable import MigrationEngine

/// The actions of an engine in a walk, and the invariants after them.
extension SenderWalk {
  mutating func happens(_ event: SenderEngine.Event) {
    steps += 1
    if case .stop = event { isEnded = true }
    let wasFinished = finished > 0
    let actions = engine.handle(event, now: now)
    expect(!wasFinished || actions.isEmpty, "something is done after the end")
    var mustLook: [SessionNumber] = []
    for action in actions {
      expect(finished == 0, "something is done after the end")
      if case .readWindow(let number) = action { mustLook.append(number) }
      perform(action, of: actions)
    }
    if let broken = engine.checkInvariants(), mustLook.isEmpty { expect(false, "\(broken) after \(event)") }
    expect(engine.runningWorkers == work.count, "the engine counts other workers")
    if let next = engine.nextMoment { expect(next > now, "what is due was not done") }
    for number in mustLook {
      let counts = Fixture.counts {
        $0.waitingFrames = Int.random(in: 0...8, using: &dice)
        $0.hasProgressed = Bool.random(using: &dice)
      }
      happens(.window(number, counts))
    }
  }

  private mutating func perform(_ action: SenderEngine.Action, of actions: [SenderEngine.Action]) {
    switch action {
    case .walk: work.append(.walk)
    case .lookUpUnfinished: work.append(.lookUp)
    case .look: work.append(.search)
    case .choose(let found):
      expect(found.count > 1, "there is nothing to choose")
      work.append(.choice)
    case .probe: work.append(.probe)
    case .askCode: work.append(.question)
    case .deriveSecret: work.append(.derivation)
    case .dial:
      expect(connection == nil, "it dials beside a connection")
      work.append(.dial)
    case .converse(let new):
      expect(connection == nil, "two connections converse")
      (connection, isClosing, isFull, isExported, newest) = (new, false, false, false, nil)
      joined = []
      talk = [.greeting(Fixture.greeting(features: [.zstd, .ways]))]
    case .say(let to, let message):
      expect(to == connection && !isClosing, "something is said on \(to), which is not there")
      answer(message)
    case .close(let closed, let until):
      expect(closed == connection && !isClosing && until > now, "\(closed) is closed, which is not there")
      isClosing = true
    case .hurryClosing(let closing, let until):
      expect(closing == connection && isClosing && until > now, "\(closing) is hurried, which is not being closed")
    case .recordPlan(let number, let record): write(.planRecord(number, record.transfer))
    case .export(let number, _):
      expect(session.map { $0 <= number } ?? true, "a session has the number of an older one")
      expect(!work.contains(.export(number)), "two parts are exported at a time")
      session = number
      isAbandoned = false
      work.append(.export(number))
    case .abandonExport: isAbandoned = true
    case .openStream(let number, let join, _, _):
      expect(number == session, "a stream of another session")
      work.append(.stream(number, join.stream))
    case .stopSession(let number): isStopped.insert(number)
    case .recordDone(let transfer, _, _, _): write(.record(transfer))
    case .noteFinish(let number, let transfer, _, _): write(.finishNote(number, transfer))
    case .note(let transfer, _, _, _): write(.note(transfer))
    case .forget(let transfer): write(.forget(transfer))
    case .finish(let result):
      finished += 1
      if case .success(let done) = result {
        isDone = true
        isPartlyDone = isPartlyDone || done.failedParts > 0
        // If the user has stopped the run, it waits a moment for this in any case, and no longer.
        expect(isEnded || !isForgetting, "what is done is not forgotten")
        expect(!actions.contains { if case .forget = $0 { true } else { false } }, "what is done cannot be forgotten")
      }
    case .readWindow(let number): expect(number == session, "the window of another session is read")
    case .tell, .tellProgress, .stopPreparing, .stopDialing, .beginLedger, .keepHeld, .keepPartial, .moveFrames,
      .retire,
      .forgetStream, .refuse, .finishWindow:
      break
    }
  }

  /// A record of a transfer is written, after the previous one.
  private mutating func write(_ writer: Work) {
    expect(
      !work.contains { transfer(of: $0) == transfer(of: writer) }, "two words of a transfer are written down at a time")
    work.append(writer)
  }

  private func transfer(of work: Work) -> TransferID? {
    switch work {
    case .record(let transfer), .finishNote(_, let transfer), .planRecord(_, let transfer), .note(let transfer),
      .forget(let transfer):
      transfer
    case .walk, .lookUp, .search, .choice, .probe, .question, .derivation, .dial, .export, .stream: nil
    }
  }

  private var failed: ControlMessage { .failed(Failed(part: newest ?? 0, Close(.storage, "the disk fails"))) }

  private var isForgetting: Bool { work.contains { if case .forget = $0 { true } else { false } } }

  /// The receiver's answer to a message.
  private mutating func answer(_ message: ControlMessage) {
    switch message {
    case .plan(let plan):
      continues = plan.transfer != nil
      let parts: [Verdict.Part] = plan.parts.indices.map { _ in
        switch Int.random(in: 0..<8, using: &dice) {
        case 0: .refused(Close(.noSpace, "full"))
        case 1 where continues: .finished
        case 2: .taken(without: [Verdict.LeftOutRoot(root: 0, code: .notAllowed)])
        default: .taken()
        }
      }
      talk = [
        .verdict(
          Fixture.verdict(parts, of: plan.transfer ?? 77, streams: UInt16.random(in: 1...16, using: &dice)))
      ]
      if Bool.random(using: &dice) { talk.append(.ways(WayFixture.ways)) }
    case .offer(let totals):
      expect(newest.map { $0 < totals.part } ?? true, "a part is offered twice, or late")
      expect(!work.contains { if case .export = $0 { true } else { false } }, "a part is offered beside another one")
      expect(
        !work.contains { if case .record = $0 { true } else { false } }, "a part is offered before DONE is written")
      newest = totals.part
      switch Int.random(in: 0..<8, using: &dice) {
      case 0 where continues: talk = [.notStored(Fixture.refusal), .done(Fixture.done)]
      case 1: talk = [failed]
      default:
        talk = [
          .accept(Fixture.accept), .held(Held(kind: .staged, marks: [1])),
          .heldEnd(HeldEnd(held: Tally(items: 1, bytes: 10))), .notStored(Fixture.refusal),
        ]
      }
    case .failed:
      // The receiver may have given up as well.
      talk = hasFailed ? [] : [failed]
    case .receipt:
      expect(!work.contains { if case .export = $0 { true } else { false } }, "a session ends while a part runs")
    case .drop: isFull = true
    case .finish:
      expect(
        !work.contains { if case .finishNote = $0 { true } else { false } }, "what is left out is not written down")
      talk = [
        .progress(ImportProgress(phase: .importing, done: 1, total: 2)),
        Int.random(in: 0..<8, using: &dice) == 0 ? failed : .done(Fixture.done),
      ]
    default: break
    }
  }
}
