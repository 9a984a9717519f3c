import MigrationWire

@testable import MigrationEngine

/// The receiver's invariants between two events.
extension ReceiverEngine {
  /// The invariant that does not hold; nil if all hold.
  func checkInvariants() -> String? {
    brokenPhase ?? brokenStaying ?? brokenReservations ?? brokenSession ?? brokenConnections ?? brokenWorker
  }

  private var brokenPhase: String? {
    if isAnnounced, phase.isEnding { return "it is announced behind its end" }
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

  /// The invariant of a receiver that stays that does not hold; nil if all hold.
  private var brokenStaying: String? {
    guard settings.keeps else {
      return sessions.values.contains(where: \.isAside) ? "a session steps aside in a run that does not stay" : nil
    }
    if phase.isEnding { return nil }
    if transfers.count(where: \.isDone) > Self.rememberedDone + sessions.count { return "too many are remembered" }
    for session in sessions.values where session.isAside && !session.isEnding {
      if let transfer = transfers[of: session.transfer], transfer.outcome == nil {
        return "a session steps aside too early"
      }
    }
    for place in phase.served {
      guard let transfer = transfers[of: place.transfer] else { continue }
      if transfer.isDone, sessions.values.allSatisfy({ !$0.conversation.isOver }) {
        return "it is engaged in a finished transfer"
      }
      if transfer.holding == .released { return "it is engaged in a released transfer" }
    }
    if transfers.contains(where: isResting) { return "it holds a transfer that it does not need" }
    return nil
  }
  /// The invariant of waiting transfers that does not hold; nil if it holds.
  private var brokenReservations: String? {
    for (transfer, _) in reservationWaits
    where sessions.values.contains(where: { $0.transfer == transfer && $0.isTalking }) {
      return "a transfer waits for reservations and is served"
    }
    return nil
  }

  private var brokenSession: String? {
    for (number, session) in sessions {
      if !session.isEnding, !session.isAside, phase[number] == nil { return "an older session acts" }
      if session.isEnding, !workers.isBusy(number), session.streams?.served.isEmpty != false {
        return "a session has ended and is still there"
      }
      if session.conversation.isStreaming, session.streams == nil { return "it receives without an offer" }
      if session.isTalking, let broken = brokenStage(number, session) { return broken }
      for older in sessions where older.key < number && older.value.transfer == session.transfer {
        switch session.stage {
        case .none where !session.conversation.isRunning, .waiting: break
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
    if conversation.isFinishing, !transfer.isImporting { return "a session waits for an import that does not run" }
    let (fits, waits): (Bool, Bool) =
      switch session.stage {
      case .none: (!conversation.isPlanned && !conversation.isOffered, true)
      case .waiting:
        (
          conversation.isPlanned,
          transfer.holding != .held
            || sessions.contains { $0.key != number && $0.value.transfer == transfer.identifier }
        )
      case .judgingPlan: (conversation.isPlanned, workers.contains(.judgePlan(number)))
      case .asking: (conversation.isPlanned, question != nil)
      case .recording: (conversation.isPlanned, workers.contains(.record(number)))
      case .due: (conversation.isOffered, transfer.isImporting || workers.isBusy(number))
      case .staging: (conversation.isOffered, workers.contains(.stage(number)))
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
