import MigrationWire

/// The steps and the end of sessions.
extension SenderEngine {
  /// Applies an event to the current session, if there is one. A fault ends the session.
  mutating func converse(_ step: (inout SenderSession, inout Facts) throws(Failure) -> Void) {
    guard case .inSession(var session, let plan) = phase else { return }
    do throws(Failure) {
      try step(&session, &facts)
      phase = .inSession(session, plan)
      if session.isOver, let outcome = facts.outcome { end(session, plan, .over(outcome)) }
    } catch {
      // After the receiver's DONE, no fault changes the result of the part.
      if session.done != nil { session.endAfterDone(by: error) }
      phase = .inSession(session, plan)
      guard session.done == nil else { return }
      // Every part has its result, and the receiver no longer waits for the rest of the last one.
      if error.isReconnectable, let outcome = facts.outcome {
        return end(session, plan, .over(outcome))
      }
      if !error.isTold { act(.say(session.connection, .close(error.close))) }
      end(session, plan, .failed(error))
    }
  }

  /// A fault ends the current session, if there is one.
  mutating func breakOff(_ fault: Failure) {
    converse { (_, _) throws(Failure) in throw fault }
  }

  private mutating func end(_ session: SenderSession, _ plan: DialPlan, _ outcome: SessionEnd.Outcome) {
    if let found = session.streams?.found { facts.transfer.streams = found }
    let (number, connection) = (session.number, session.connection)
    let isHurried = endDeadline != nil
    facts.actions += [
      .stopSession(number),
      .close(connection, until: now + (isHurried ? EndLimits.lastMessages : EndLimits.unhurried)),
    ]
    phase = .closing(
      SessionEnd(
        session: number, connection: connection, address: session.address,
        hasExported: session.streams != nil, outcome: outcome, plan: plan))
  }

  /// The connection of a session is closed.
  mutating func closed(_ spread: Double) {
    guard case .closing(var end) = phase else { return }
    end.spread = spread
    phase = .closing(end)
  }

  /// A session and all its workers have ended; reads its progress.
  mutating func count(_ end: SessionEnd) {
    guard end.hasExported, case .failed = end.outcome else { return goOn(after: end, WindowCounts()) }
    phase = .counting(end)
    act(.readWindow(end.session))
  }

  /// The window was read.
  mutating func counted(_ counts: WindowCounts) {
    if case .counting(let end) = phase { return goOn(after: end, counts) }
    converse { (session, facts) throws(Failure) in session.looked(counts, &facts) }
  }

  private mutating func goOn(after end: SessionEnd, _ counts: WindowCounts) {
    if case .failed = end.outcome, let transfer = facts.transfer.identifier, let summaries = facts.summaries {
      act(
        .note(
          transfer, arrived: counts.arrived.adding(facts.transfer.finished),
          total: summaries.reduce(Tally()) { $0.adding($1.total) }, address: end.address))
    }
    decide(after: end, hasProgressed: counts.hasProgressed)
  }

  /// A session has ended: the run ends, or the sender comes back.
  mutating func decide(after end: SessionEnd, hasProgressed: Bool) {
    switch end.outcome {
    case .over(let result): conclude(result)
    case .failed(let fault) where fault.isReconnectable && settings.giveUpAfter > 0:
      if let abandoned { return prepareFinish(.failure(abandoned)) }
      act(.tell(.interrupted(reason: fault.message)))
      var plan = end.plan.comingBack(
        to: facts.transfer.identifier, at: end.address, hasProgressed: hasProgressed, now: now)
      let step = plan.pause(end.spread, now: now)
      follow(step, plan)
    // A device with a kept pairing knows the key, and the transfer no more.
    case .failed(let fault) where fault.code == .told(.unknownTransfer) && abandoned == nil:
      guard let transfer = facts.transfer.identifier else {
        return prepareFinish(.failure(fault))
      }
      facts.actions += [.tell(.notice(DialPlan.isForgotten)), .forget(transfer)]
      facts.transfer = OutgoingTransfer()
      dial(
        end.plan.comingBack(to: nil, at: end.address, hasProgressed: hasProgressed, now: now))
    case .failed(let fault): prepareFinish(.failure(fault))
    }
  }
}

/// The end of a run.
extension SenderEngine {
  /// The user stops the run.
  mutating func stop(_ kind: Failure.Kind) {
    // It was being closed without hurry.
    if endDeadline == nil, case .closing(let end) = phase, work.isOpen(end.connection) {
      act(.hurryClosing(end.connection, until: now + EndLimits.lastMessages))
    }
    setEndDeadline()
    var message = "interrupted"
    if case .inSession(let session, _) = phase, session.isFinishing(facts) {
      message +=
        " after all data had arrived: the other device completes the transfer, and the same command tells its result"
    }
    abandon(.interrupted(by: kind, message))
  }

  /// Ends the run in any phase.
  mutating func abandon(_ fault: Failure) {
    abandoned = abandoned ?? fault
    switch phase {
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting:
      prepareFinish(.failure(fault))
    case .inSession:
      stopPreparing()
      breakOff(fault)
    case .closing, .counting, .finishing, .over: break
    }
  }

  /// Every part has its result. Forgetting the transfer is not cut off, so that a later run does not
  /// continue it.
  mutating func conclude(_ result: TransferOutcome) {
    if case .success(let result) = result { act(.tell(.done(result))) }
    guard let transfer = facts.transfer.identifier, !facts.transfer.isResumable else {
      return prepareFinish(result)
    }
    act(.forget(transfer))
    end(by: result)
    // If the user has stopped the run, it waits for that a little longer, even when no time is
    // left.
    endDeadline = endDeadline.map { max($0, now + EndLimits.forgetting) }
  }

  /// The finished transfer is forgotten: the run waits for the remaining work, as at any end.
  mutating func forgot() {
    if case .finishing = phase, !work.isForgetting { setEndDeadline() }
  }

  /// The result is known. Remaining work is stopped, and the run waits for it.
  mutating func prepareFinish(_ result: TransferOutcome, stopsDialing: Bool = true) {
    end(by: result, stopsDialing: stopsDialing)
    setEndDeadline()
  }

  private mutating func end(by result: TransferOutcome, stopsDialing: Bool = true) {
    stopPreparing()
    if stopsDialing, work.isDialing { act(.stopDialing) }
    phase = .finishing(result)
  }

  private mutating func stopPreparing() {
    if work.isPreparing { act(.stopPreparing) }
  }

  mutating func setEndDeadline() {
    endDeadline = endDeadline ?? now + EndLimits.workers + settings.graceAtTheEnd
  }

  /// No time is left: the run waits for nothing more.
  mutating func endAtDeadline() -> Bool {
    switch phase {
    case .finishing(let result): finish(result)
    case .closing(let end), .counting(let end): decide(after: end, hasProgressed: false)
    case .inSession:
      guard let abandoned else { return false }
      prepareFinish(.failure(abandoned))
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting, .over:
      return false
    }
    return true
  }

  mutating func finish(_ result: TransferOutcome) {
    phase = .over
    act(.finish(result))
  }
}
