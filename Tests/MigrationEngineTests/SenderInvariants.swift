import MigrationWire

@testable import MigrationEngine

extension SenderEngine {
  /// The invariant that does not hold; nil when all hold.
  func checkInvariants() -> String? {
    let items = work.items
    let unique = items.filter { $0.kind != .note }
    if Set(unique).count != unique.count {
      return "the same work runs twice"
    }
    if case .over = phase { return nil }
    if let broken = brokenPreparation(items) ?? brokenSession(items) { return broken }
    return isStuck(items) ? "nothing runs, and nothing is awaited" : nil
  }

  private func brokenPreparation(_ items: [PendingWork.Item]) -> String? {
    let steps: [PendingWork.Item.Kind] = [.lookUp, .search, .choice, .probe, .question, .derivation, .dial]
    var isEnding = false
    var expected: PendingWork.Item.Kind?
    switch phase {
    case .lookingUp: expected = .lookUp
    case .looking: expected = .search
    case .choosing: expected = .choice
    case .probing: expected = .probe
    case .askingCode: expected = .question
    case .deriving: expected = .derivation
    case .dialing: expected = .dial
    // The work may be ending.
    case .finishing: isEnding = true
    case .idle, .waiting, .inSession, .closing, .counting, .over: break
    }
    for step in steps where !isEnding && items.contains(where: { $0.kind == step }) != (step == expected) {
      return "\(step) does not fit the phase"
    }
    if case .idle = phase { return items.isEmpty ? nil : "work runs before the beginning" }
    let mustWalk = facts.summaries == nil && abandoned == nil && !isEnding
    return mustWalk && !items.contains { $0.kind == .walk } ? "the source is not walked" : nil
  }

  private func brokenSession(_ items: [PendingWork.Item]) -> String? {
    let (running, connection): (SessionNumber?, ConnectionID?) =
      switch phase {
      case .inSession(let session, _): (session.number, session.connection)
      case .closing(let end), .counting(let end): (end.session, end.connection)
      case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting, .finishing,
        .over:
        (nil, nil)
      }
    let isFinishing = if case .finishing = phase { true } else { false }
    if items.contains(where: { $0.session != nil && $0.session != running }) && !isFinishing {
      return "a worker of an older session still runs"
    }
    for case let open? in items.map(\.connection) where open != connection && !isFinishing {
      return "\(open) is open without a session"
    }
    switch phase {
    case .inSession(let session, _):
      if !work.isOpen(session.connection) { return "a session has no connection" }
      let isRecording = items.contains { $0.kind == .record }
      if isRecording != (session.done != nil) { return "DONE is not being recorded" }
      if let broken = session.brokenInvariant(items) { return broken }
      let workers = items.compactMap(\.stream)
      return session.streams?.brokenInvariant(workers)
    case .counting(let end):
      return items.contains { $0.kind == .look && $0.session == end.session } ? nil : "the window is not read"
    case .finishing: return endDeadline == nil && !work.isForgetting ? "the end has no deadline" : nil
    case .idle, .lookingUp, .looking, .choosing, .probing, .askingCode, .deriving, .dialing, .waiting, .closing, .over:
      return nil
    }
  }

  /// Whether no event can come that changes anything.
  private func isStuck(_ items: [PendingWork.Item]) -> Bool {
    if case .idle = phase { return false }
    return nextMoment == nil && items.allSatisfy { $0.kind == .note || $0.kind == .walk }
  }
}

extension StreamPlan {
  /// The invariant of the streams that does not hold, given the streams with workers; nil when all
  /// hold.
  func brokenInvariant(_ workers: [StreamNumber]) -> String? {
    let started = streams.filter { $0.due == nil }.map(\.number)
    if started.sorted() != workers.sorted() { return "a stream's worker is not known" }
    if streams.count(where: { $0.state == .joining && !$0.isTrying }) > 2 { return "too many streams are on their way" }
    // Each stream that does not stay has frames to finish: its own, or a broken stream's.
    if !streams.allSatisfy({ $0.stays || $0.state == .joined || $0.replaces != nil }) {
      return "a stream that carries nothing is opened though it is not to stay"
    }
    return streams.count <= limit ? nil : "there are more streams than the receiver takes"
  }
}

extension SenderSession {
  /// The invariant of the running part that does not hold, given the pending work; nil when all hold.
  func brokenInvariant(_ items: [SenderEngine.PendingWork.Item]) -> String? {
    var (isPlanned, worksForPart) = (false, false)
    for item in items where item.session == number {
      switch item.kind {
      case .planRecord: isPlanned = true
      case .export, .finishNote: worksForPart = true
      default: break
      }
    }
    if worksForPart != isWorking { return "the worker of a part is not known" }
    if conversation.isBetween, !isOver, !isPlanned, !isWorking, done == nil { return "a session waits for nothing" }
    return nil
  }
}

extension StreamPlan {
  func hasJoined(_ number: StreamNumber) -> Bool { streams.contains { $0.number == number && $0.state == .joined } }
}
