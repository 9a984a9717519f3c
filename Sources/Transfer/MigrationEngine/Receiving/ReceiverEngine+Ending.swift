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
      mayAnnounce = listening.isAnnounced || settings.waitsAtRelay
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
