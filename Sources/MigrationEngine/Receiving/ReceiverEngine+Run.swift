import MigrationWire

/// The beginning and the end of a run.
extension ReceiverEngine {
  // MARK: The beginning

  mutating func tookBack(_ known: Result<[KnownTransfer], Fault>) {
    switch known {
    case .success(let known):
      // The newest sender is forgotten last.
      for host in known.reversed().compactMap(\.host) { door.noteHost(host) }
      transfers = known.map { IncomingTransfer($0) }
      // The most recently finished transfers are forgotten last.
      if settings.keeps { transfers.reverse() }
      if phase.isEnding { return }
      let begun = known.filter(\.isConcluded).map(\.identifier)
      concluded = settings.keeps ? begun : Array(begun.prefix(1))
      act(.listen)
    case .failure(let fault): endRun(.failure(fault.failure))
    }
  }

  mutating func listening(_ result: Result<Listening, Fault>) {
    switch result {
    case .success(let listening):
      tell(.listening(listening))
      guard case .starting = phase else { return }
      phase = .open
      canBeAnnounced = listening.isAnnounced
      // Only now, because a receiver that is done reports nothing more.
      goOnWithConcluded()
    case .failure(let fault): endRun(.failure(fault.failure))
    }
  }

  /// Continues an import of an earlier run.
  mutating func goOn(withImportOf transfer: TransferID) {
    phase = .engaged(transfer, nil)
    transfers[of: transfer]?.stage = .importing
    // The sender does not repeat these.
    for item in transfers[of: transfer]?.withheldItems ?? [] { tell(item.event) }
    beginImport(of: transfer, finish: nil)
  }

  // MARK: The end

  /// The user stops the run. The received data is kept, and an import continues while it makes
  /// progress.
  mutating func stopped(_ kind: TransferFailure.Kind) {
    let stop = Stop(kind: kind, at: stop?.at ?? now)
    self.stop = stop
    let interrupted = ReceiverPhase.Outcome.failure(TransferFailure(kind, "interrupted"))
    // This includes the sessions beside an import: the run waits for none of them when the import
    // has ended.
    hurryAsides()
    hurryClosings()
    switch phase {
    case .open where hasAsides: break
    case .starting, .open: endRun(interrupted)
    case .engaged(let transfer, let session):
      if workers.contains(.importItems(transfer)) { return act(.interruptImport(transfer)) }
      guard let session else { return }
      guard transfers[of: transfer]?.awaitsData == true else { return awaitReceipt(session) }
      if case .ending(let fault?) = conversations[session]?.life, !fault.senderMayComeBack {
        return endTransfer(.failure(fault.failure))
      }
      endSession(session, by: .interrupted(.receiver, by: kind))
      endRun(interrupted)
    case .away(let transfer, _, let outcome):
      endRun(transfers[of: transfer]?.awaitsData == true ? interrupted : outcome)
    case .finishing(let outcome, let deadline):
      phase = .finishing(outcome, until: min(deadline, curfew))
    case .over: break
    }
  }

  /// The other ends of connections that were being closed at leisure have only a moment more.
  private mutating func hurryClosings() {
    for connection in workers.closing { act(.hurryClosing(connection, until: now + Curfew.forWords)) }
  }

  /// The outcome of the run is decided: all work is to end.
  mutating func endRun(_ outcome: ReceiverPhase.Outcome) {
    if phase.isEnding { return }
    if case .success(let result) = outcome { tell(.done(result)) }
    let outcome = outcome.mapError { failure in
      // The signal that broke off an import decides the kind of failure.
      guard failure.kind == .interrupted, let stop else { return failure }
      return TransferFailure(stop.kind, failure.message, hint: failure.hint, about: failure.subject)
    }
    for number in asides { endSession(number, by: nil) }
    phase = .finishing(outcome, until: curfew)
    dismissAll()
  }

  /// The latest end of a run that is decided now: last messages get their time even if the stop was
  /// long ago.
  private var curfew: Double {
    stop.map { max($0.at + Curfew.atTheEnd, now + Curfew.forWords) } ?? now + Curfew.atLeisure
  }

  /// Ends the run when its time has come.
  mutating func tendPhase() {
    if case .away(_, let deadline, let outcome) = phase, now >= deadline { endTransfer(outcome) }
    endStoppedRun()
    if let stop, let importUntil, now >= importUntil { leaveImport(by: stop.kind) }
  }

  /// After the user has stopped the run: until when it waits for an import that reports no
  /// progress.
  var importUntil: Double? {
    guard let stop, let transfer = phase.transfer.flatMap({ transfers[of: $0] }), transfer.isImporting else {
      return nil
    }
    return max(stop.at, transfer.movedAt) + Curfew.forImport + settings.graceAtTheEnd
  }

  /// The disk of the import hangs: the next run continues from here.
  private mutating func leaveImport(by kind: TransferFailure.Kind) {
    for number in conversations.keys { conversations[number]?.finish = nil }
    if let session = phase.session { endSession(session, by: .interrupted(.receiver, by: kind)) }
    endRun(.failure(TransferFailure(kind, "interrupted")))
  }

  /// Reports the outcome, once all work has ended or its time is up.
  mutating func tendEnd() {
    guard case .finishing(let outcome, let deadline) = phase, workers.isEmpty || now >= deadline else { return }
    phase = .over
    act(.finish(outcome))
  }
}

extension ReceiverEngine.KnownTransfer {
  /// Whether everything had arrived and the import is incomplete.
  var isConcluded: Bool { if case .concluded = standing { true } else { false } }
}
