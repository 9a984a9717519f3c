import MigrationWire

/// The end of a run.
extension SenderEngine {
  /// The user stops the run.
  mutating func stop(_ kind: TransferFailure.Kind, _ now: Double, _ actions: inout [Action]) {
    // It was being closed at leisure.
    if curfew == nil, case .closing(let end) = phase, work.isOpen(end.connection) {
      actions.append(.hurryClosing(end.connection, until: now + Curfew.forWords))
    }
    setCurfew(now)
    var message = "interrupted"
    if case .conversing(let conversation, _) = phase, conversation.isFinishing {
      message +=
        " after all data had arrived: the other device completes the transfer, and the same command tells its result"
    }
    abandon(.interrupted(.sender, by: kind, message), now, &actions)
  }

  /// Ends the run in any phase.
  mutating func abandon(_ fault: Fault, _ now: Double, _ actions: inout [Action]) {
    abandoned = abandoned ?? fault
    switch phase {
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting:
      prepareFinish(.failure(fault.failure), now, &actions)
    case .conversing:
      stopPreparing(&actions)
      breakOff(fault, now, &actions)
    case .closing, .counting, .finishing, .over: break
    }
  }

  /// The transfer is done. Forgetting it is not cut off, so that a later run does not continue it.
  mutating func conclude(
    _ transfer: TransferID, _ result: TransferResult, _ now: Double, _ actions: inout [Action]
  ) {
    actions += [.forget(transfer), .tell(.done(result))]
    end(by: .success(result), &actions)
    // If the user has stopped the run, it waits for that a little longer, even when no time is
    // left.
    curfew = curfew.map { max($0, now + Curfew.forForgetting) }
  }

  /// The finished transfer is forgotten: the run waits for the remaining work, as at any end.
  mutating func forgot(_ now: Double) {
    if case .finishing = phase, !work.isForgetting { setCurfew(now) }
  }

  /// The result is known. Remaining work is stopped, and the run waits for it.
  mutating func prepareFinish(
    _ result: Result<TransferResult, TransferFailure>, stopsDialing: Bool = true, _ now: Double,
    _ actions: inout [Action]
  ) {
    end(by: result, stopsDialing: stopsDialing, &actions)
    setCurfew(now)
  }

  private mutating func end(
    by result: Result<TransferResult, TransferFailure>, stopsDialing: Bool = true, _ actions: inout [Action]
  ) {
    stopPreparing(&actions)
    if stopsDialing, work.isDialing { actions.append(.stopDialing) }
    phase = .finishing(result)
  }

  private func stopPreparing(_ actions: inout [Action]) {
    if work.isPreparing { actions.append(.stopPreparing) }
  }

  private mutating func setCurfew(_ now: Double) {
    curfew = curfew ?? now + Curfew.atTheEnd + settings.graceAtTheEnd
  }

  /// No time is left: the run waits for nothing more.
  mutating func endAtCurfew(_ now: Double, _ actions: inout [Action]) -> Bool {
    switch phase {
    case .finishing(let result): finish(result, &actions)
    case .closing(let end), .counting(let end): decide(after: end, hasProgressed: false, now, &actions)
    case .conversing:
      guard let abandoned else { return false }
      prepareFinish(.failure(abandoned.failure), now, &actions)
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting, .over:
      return false
    }
    return true
  }

  mutating func finish(_ result: Result<TransferResult, TransferFailure>, _ actions: inout [Action]) {
    phase = .over
    actions.append(.finish(result))
  }
}
