import MigrationWire

/// The beginning and the end of a run.
extension ReceiverEngine {
  // MARK: The beginning

  mutating func tookBack(_ known: Result<[EarlierTransfer], Failure>) {
    switch known {
    case .success(let known):
      // The newest sender is forgotten last.
      for host in known.reversed().compactMap(\.host) { connections.noteHost(host) }
      transfers = IncomingTransfers(known, keeps: settings.keeps)
      if !phase.isEnding { act(.listen) }
    case .failure(let fault): endRun(.failure(fault))
    }
  }

  mutating func listening(_ result: Result<Listening, Failure>) {
    switch result {
    case .success(let listening):
      tell(.listening(listening))
      if listening.isInTunnels && !settings.waitsAtRelay { tell(.notice(Listening.tunnelNotice)) }
      guard case .starting = phase else { return }
      phase = .open
      announcement.isPossible = listening.isAnnounced || settings.waitsAtRelay
      // Only now, because a receiver that is done reports nothing more.
      goOnWithConcluded()
    case .failure(let fault): endRun(.failure(fault))
    }
  }

  /// Continues an import of an earlier run.
  mutating func goOn(withImportOf transfer: TransferID) {
    phase.serve(.engaged(transfer, nil), atMost: settings.atOnce)
    continueImport(of: transfer)
  }

  // MARK: The end

  /// The user stops the run. The received data is kept, and an import continues while it makes
  /// progress.
  mutating func stopped(_ kind: Failure.Kind) {
    let stop = (kind: kind, at: stop?.at ?? now)
    self.stop = stop
    let interrupted = TransferOutcome.failure(.interrupted(by: kind))
    // This includes the sessions beside an import: the run waits for none of them when the import
    // has ended.
    hurryAsides()
    hurryClosings()
    switch phase {
    case .starting: endRun(interrupted)
    case .serving(let served) where served.isEmpty: if !hasAsides { endRun(interrupted) }
    case .serving(let served): for place in served { stopped(place, kind, interrupted) }
    case .finishing(let outcome, let deadline):
      phase = .finishing(outcome, until: min(deadline, endDeadline))
    case .over: break
    }
  }

  /// The user stops the run in which a transfer is served.
  private mutating func stopped(
    _ place: Phase.ServedTransfer, _ kind: Failure.Kind, _ interrupted: TransferOutcome
  ) {
    let transfer = place.transfer
    switch place {
    case .engaged(_, let session):
      if workers.contains(.importItems(transfer)) { return act(.interruptImport(transfer)) }
      guard let session else { return }
      guard transfers[of: transfer]?.awaitsData == true else {
        // A session that ends anyway may have a worker that hangs.
        guard sessions[session]?.isEnding == true, let outcome = transfers[of: transfer]?.outcome else {
          return awaitReceipt(session)
        }
        return leave(transfer, outcome)
      }
      if case .ending(let fault?) = sessions[session]?.life, !fault.senderMayComeBack {
        return endTransfer(transfer, .failure(fault))
      }
      endSession(session, by: farewell(kind))
      leave(transfer, interrupted)
    case .away(_, _, let outcome):
      leave(transfer, transfers[of: transfer]?.awaitsData == true ? interrupted : outcome)
    }
  }

  /// A run that is stopped serves a transfer no longer; with the last one it ends.
  mutating func leave(_ transfer: TransferID, _ outcome: TransferOutcome) {
    if phase.served.allSatisfy({ $0.transfer == transfer }) { return endRun(outcome) }
    phase.leave { $0.transfer == transfer }
  }

  /// What the sender hears: a receiver that stays and is ended by its system may be back soon, and
  /// its sender waits for it as after a lost connection.
  private func farewell(_ kind: Failure.Kind) -> Failure {
    settings.keeps && kind == .terminated ? .stopped : .interrupted(by: kind)
  }

  /// The other ends of connections that were being closed without hurry have only a moment more.
  private mutating func hurryClosings() {
    for connection in workers.closing { act(.hurryClosing(connection, until: now + EndLimits.lastMessages)) }
  }

  /// The outcome of the run is decided: all work is to end.
  mutating func endRun(_ outcome: TransferOutcome) {
    if phase.isEnding { return }
    if case .success(let result) = outcome { tellDone(result) }
    let outcome = outcome.mapError { failure in
      var failure = failure
      // The signal that broke off an import decides the kind of failure.
      if failure.kind == .interrupted, let stop { failure.kind = stop.kind }
      return failure
    }
    for number in asides { endSession(number, by: nil) }
    // Their senders may come back.
    for number in phase.sessions { endSession(number, by: .stopped) }
    phase = .finishing(outcome, until: endDeadline)
    dismissAll()
  }

  /// The latest end of a run that is decided now: last messages get their time even if the stop was
  /// long ago.
  private var endDeadline: Double {
    stop.map { max($0.at + EndLimits.workers, now + EndLimits.lastMessages) } ?? now + EndLimits.unhurried
  }

  /// Ends the run when its time has come.
  mutating func tendPhase() {
    for case .away(let transfer, let deadline, let outcome) in phase.served where now >= deadline {
      endTransfer(transfer, outcome)
    }
    endStoppedRun()
    if let stop, let importUntil, now >= importUntil { leaveImport(by: stop.kind) }
  }

  /// After the user has stopped the run: until when it waits for imports that report no progress.
  var importUntil: Double? {
    guard let stop else { return nil }
    let importing = phase.served.compactMap { transfers[of: $0.transfer] }.filter(\.isImporting)
    return importing.map(\.part.movedAt).max().map {
      max(stop.at, $0) + EndLimits.importProgress + settings.graceAtTheEnd
    }
  }

  /// The disk of the import hangs: the next run continues from here.
  private mutating func leaveImport(by kind: Failure.Kind) {
    for number in sessions.keys { sessions[number]?.finish = nil }
    for session in phase.sessions { endSession(session, by: farewell(kind)) }
    endRun(.failure(.interrupted(by: kind)))
  }

  /// Reports the outcome, once all work has ended or its time is up.
  mutating func tendEnd() {
    guard case .finishing(let outcome, let deadline) = phase, workers.isEmpty || now >= deadline else { return }
    phase = .over
    act(.finish(outcome))
  }
}

/// Whether this device is announced on its networks (Protocol §4.5).
struct Announcement: Sendable {
  var isPossible = false
  private(set) var isOn = false

  /// Returns the action that starts or ends the announcement; nil where nothing changes.
  mutating func change(to isWanted: Bool) -> ReceiverEngine.Action? {
    guard isWanted != isOn else { return nil }
    isOn = isWanted
    return isOn ? .announce : .withdrawAnnouncement
  }
}

extension ReceiverEngine {
  /// Whether a sender that finds this device could do anything here: pair, or come back.
  private var isWorthFinding: Bool {
    guard announcement.isPossible, stop == nil else { return false }
    return switch phase {
    case .serving(let served): !served.isEmpty || !codes.isExhausted || !transfers.isEmpty
    case .starting, .finishing, .over: false
    }
  }

  /// Starts or ends the announcement of this device, where that has changed.
  mutating func tendAnnouncement() {
    if let action = announcement.change(to: isWorthFinding) { act(action) }
  }
}

/// The receiver's invariants between two events; tests check them.
extension ReceiverEngine {
  /// The invariant that does not hold; nil if all hold.
  package func checkInvariants() -> String? {
    brokenPhase ?? brokenStaying ?? brokenReservations ?? brokenSession ?? brokenConnections ?? brokenWorker
  }

  private var brokenPhase: String? {
    if announcement.isOn, phase.isEnding { return "it is announced behind its end" }
    switch phase {
    case .starting, .over: break
    case .serving(let served):
      if served.count > settings.atOnce { return "it serves too many transfers" }
      if Set(served.map(\.transfer)).count < served.count { return "it serves a transfer twice" }
      for place in served { if let broken = broken(place) { return broken } }
    case .finishing: if workers.isEmpty { return "nothing runs, and the run has not ended" }
    }
    if transfers.contains(where: { $0.isImporting && phase[$0.identifier] == nil }), !phase.isEnding {
      return "an import runs beside another transfer"
    }
    return nil
  }

  private func broken(_ place: Phase.ServedTransfer) -> String? {
    switch place {
    case .engaged(let transfer, let session):
      guard let transfer = transfers[of: transfer] else { return "it is engaged in a transfer that is not there" }
      if let session {
        guard sessions[session]?.transfer == transfer.identifier else { return "the newest session is not there" }
      } else if !transfer.isImporting {
        return "it is engaged with neither a session nor an import"
      }
    case .away(let transfer, _, let outcome):
      guard let transfer = transfers[of: transfer] else { return "a transfer whose sender is away is not there" }
      switch (outcome, transfer.outcome) {
      case (.success, .success), (.failure, nil): break
      default: return "it waits for a sender with the wrong outcome"
      }
    }
    return nil
  }

  private var brokenSession: String? {
    for (number, session) in sessions {
      if !session.isEnding, !session.isAside, phase[number] == nil { return "an older session acts" }
      if session.isEnding, !workers.isBusy(number), session.streams?.served.isEmpty != false {
        return "a session has ended and is still there"
      }
      if session.conversation.isReceiving, session.streams == nil { return "it receives without an offer" }
      if session.isTalking, let broken = brokenStage(number, session) { return broken }
      for older in sessions where older.key < number && older.value.transfer == session.transfer {
        switch session.stage {
        case .none, .waiting: break
        default: return "a plan is judged while an older session works"
        }
      }
    }
    return nil
  }

  /// A session in conversation waits for its sender, for a worker, or for the user.
  private func brokenStage(_ number: SessionNumber, _ session: ReceiverSession) -> String? {
    let conversation = session.conversation
    if conversation.isDone { return "a session goes on behind its receipt" }
    // Another pairing replaces a transfer without arrived data.
    guard let transfer = transfers[of: session.transfer] else {
      return session.isAside ? nil : "a session has no transfer"
    }
    if conversation.isImporting, !transfer.isImporting { return "a session waits for an import that does not run" }
    let (fits, waits): (Bool, Bool) =
      switch session.stage {
      case .none: (!conversation.isJudgingPlan && !conversation.mayFail, true)
      case .waiting:
        (
          conversation.isJudgingPlan,
          transfer.holding != .held
            || sessions.contains { $0.key != number && $0.value.transfer == transfer.identifier }
        )
      case .judgingPlan: (conversation.isJudgingPlan, workers.contains(.judgePlan(number)))
      case .asking: (conversation.isJudgingPlan, question != nil)
      case .recording: (conversation.isJudgingPlan, workers.contains(.record(number)))
      case .due: (conversation.isJudging, transfer.isImporting || workers.isBusy(number))
      case .staging: (conversation.isJudging, workers.contains(.stage(number)))
      case .telling:
        (
          conversation.mayFail && !conversation.isJudging && !conversation.isReceiving && !conversation.isImporting,
          true
        )
      case .receiving: (conversation.isReceiving || conversation.isImporting, true)
      }
    if !fits { return "a session and its conversation do not agree" }
    return waits ? nil : "a session waits for nothing"
  }

  private var brokenConnections: String? {
    for (id, visitor) in connections.all {
      if visitor.isServed != workers.contains(.connection(id)) {
        return "\(id) before READY has no worker, or too many"
      }
      guard visitor.step == .inside else { continue }
      let isKnown =
        workers.contains(.serve(id)) || workers.contains(.closing(id))
        || sessions.values.contains {
          $0.connection == id && !$0.isEnding || $0.streams?.waiting.contains(id) == true
        }
      if !isKnown { return "\(id) after READY is forgotten" }
    }
    return nil
  }

  private var brokenWorker: String? {
    if (question != nil) != workers.contains(.question) { return "a question and its worker do not agree" }
    for transfer in transfers {
      let isAhead = sessions.values.contains { $0.transfer == transfer.identifier && $0.finish != nil }
      let isUnderWay = workers.contains(.importItems(transfer.identifier))
      if isAhead && isUnderWay || transfer.isImporting != (isAhead || isUnderWay), !phase.isEnding {
        return "an import and its worker do not agree"
      }
    }
    for session in sessions.values {
      let served = session.streams?.served ?? []
      if served.count > Int(Self.streams) { return "too many streams" }
      if !served.allSatisfy({ workers.contains(.serve($0)) }) { return "a stream has no worker" }
    }
    if phase.isEnding { return nil }
    if transfers.hasTasks, !workers.isStoreBusy, sessions.isEmpty { return "the store does not get its task" }
    return nil
  }
}
