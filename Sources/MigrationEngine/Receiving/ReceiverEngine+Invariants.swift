import MigrationWire

/// The receiver's invariants between two events; tests and the simulator check them.
extension ReceiverEngine {
  /// The invariant that does not hold; nil if all hold.
  package func checkInvariants() -> String? {
    brokenPhase ?? brokenKeeping ?? brokenConversation ?? brokenDoor ?? brokenWorker
  }

  private var brokenPhase: String? {
    if isAnnounced, phase.isEnding { return "it is announced behind its end" }
    switch phase {
    case .starting, .open, .over: break
    case .engaged(let transfer, let session):
      guard let transfer = transfers[of: transfer] else { return "it is engaged in a transfer that is not there" }
      if let session {
        guard conversations[session]?.transfer == transfer.identifier else { return "the newest session is not there" }
      } else if !transfer.isImporting {
        return "it is engaged with neither a session nor an import"
      }
    case .away(let transfer, _, let outcome):
      guard let transfer = transfers[of: transfer] else { return "a transfer whose sender is away is not there" }
      switch (transfer.stage, outcome) {
      case (.receiving, .failure), (.concluded, .failure), (.done, .success): break
      default: return "it waits for a sender with the wrong outcome"
      }
    case .finishing: if workers.isEmpty { return "nothing runs, and the run has not ended" }
    }
    let importing = transfers.filter(\.isImporting)
    if importing.count > 1 { return "two imports are running" }
    if let importing = importing.first, !phase.isEnding, phase.transfer != importing.identifier {
      return "an import runs beside another transfer"
    }
    return nil
  }

  private var brokenConversation: String? {
    for (number, conversation) in conversations {
      if !conversation.isEnding, !conversation.isAside, phase.session != number { return "an older session acts" }
      if conversation.isEnding, !workers.isBusy(number), conversation.streams?.served.isEmpty != false {
        return "a session has ended and is still there"
      }
      if conversation.machine.isReceiving, conversation.joinable == nil { return "it receives without an offer" }
      for older in conversations where older.key < number && older.value.transfer == conversation.transfer {
        switch conversation.course {
        case .none, .waiting: break
        default: return "an offer is judged while an older session works"
        }
      }
    }
    return nil
  }

  private var brokenDoor: String? {
    for (id, visitor) in door.all {
      if visitor.isServed != workers.contains(.door(id)) { return "\(id) before READY has no worker, or too many" }
      guard visitor.step == .inside else { continue }
      let isKnown =
        workers.contains(.serve(id)) || workers.contains(.closing(id))
        || conversations.values.contains {
          $0.connection == id && !$0.isEnding || $0.streams?.waiting.contains(id) == true
        }
      if !isKnown { return "\(id) after READY is forgotten" }
    }
    return nil
  }

  private var brokenWorker: String? {
    if (question != nil) != workers.contains(.question) { return "a question and its worker do not agree" }
    for transfer in transfers {
      let isAhead = conversations.values.contains { $0.transfer == transfer.identifier && $0.finish != nil }
      let isUnderWay = workers.contains(.importItems(transfer.identifier))
      if isAhead && isUnderWay || transfer.isImporting != (isAhead || isUnderWay), !phase.isEnding {
        return "an import and its worker do not agree"
      }
    }
    for conversation in conversations.values {
      let served = conversation.streams?.served ?? []
      if served.count > Int(Self.streams) { return "too many streams" }
      if !served.allSatisfy({ workers.contains(.serve($0)) }) { return "a stream has no worker" }
    }
    if phase.isEnding { return nil }
    if !storeTasks.isEmpty, !workers.isStoreBusy, conversations.isEmpty { return "the store does not get its task" }
    return nil
  }
}
