import MigrationEngine
import MigrationWire

/// Changes at the edge of an engine, which make the real engine behave as if it had one mistake.
protocol Mistakes {
  associatedtype Decider: Engine
  /// The events that the engine gets instead of one.
  mutating func events(for event: Decider.Event) -> [Decider.Event]
  /// The actions that are performed instead of others.
  mutating func actions(for actions: [Decider.Action]) -> [Decider.Action]
  /// The events that the engine gets although they have not happened.
  mutating func takeFalseEvents() -> [Decider.Event]
}

extension Mistakes {
  mutating func takeFalseEvents() -> [Decider.Event] { [] }
}

/// The mistakes of a receiver.
struct ReceiverMistakes: Mistakes {
  typealias Decider = ReceiverEngine

  private let mutation: Mutation?
  /// The open control connections, the newest last, and those that were closed.
  private var conversations: [ConnectionID] = []

  init(_ mutation: Mutation?) { self.mutation = mutation }

  mutating func events(for event: ReceiverEngine.Event) -> [ReceiverEngine.Event] {
    guard let mutation else { return [event] }
    return change(event, mutation)
  }

  private mutating func change(_ event: ReceiverEngine.Event, _ mutation: Mutation) -> [ReceiverEngine.Event] {
    switch (mutation, event) {
    case (.forgetWhomAnHeirReplaces, .joining(let id, let join)):
      return [.joining(id, Join(session: join.session, stream: join.stream))]
    case (.loseStopBetweenSessions, .stop) where conversations.isEmpty: return []
    case (.forgetFailedSync, .syncEnded(let number, .some)): return [.syncEnded(number, nil)]
    case (.loseOutcomeOfImport, .imported) where conversations.isEmpty: return []
    case (.concludeAnotherSession, .received(let id, .finish(let finish))):
      return [.received(conversations.last ?? id, .finish(finish))]
    case (.judgeFinishedPart, .tookBack(.success(let known))): return [.tookBack(.success(known.map(Self.unfinished)))]
    case (.countPresentSenderAsAway, .closed(let id)):
      return [event] + (conversations.last.map { $0 == id ? [] : [.broke($0, Fault(.connection, "mistaken"))] } ?? [])
    default: return [event]
    }
  }

  /// A transfer of which no part is finished.
  private static func unfinished(_ known: ReceiverEngine.KnownTransfer) -> ReceiverEngine.KnownTransfer {
    ReceiverEngine.KnownTransfer(
      identifier: known.identifier, client: known.client, plan: known.plan, part: known.part, held: known.held,
      refusals: known.refusals, withheld: known.withheld, concluded: known.concluded)
  }

  private var falseEvents: [ReceiverEngine.Event] = []

  mutating func takeFalseEvents() -> [ReceiverEngine.Event] {
    defer { falseEvents = [] }
    return falseEvents
  }

  mutating func actions(for actions: [ReceiverEngine.Action]) -> [ReceiverEngine.Action] {
    guard let mutation else { return actions }
    var isSuperseded = false
    for action in actions {
      if case .converse(let id) = action {
        isSuperseded = !conversations.isEmpty || actions.count > 2
        conversations.append(id)
      }
      if case .close(let id, _) = action { conversations.removeAll { $0 == id } }
    }
    if mutation == .writeFailedPart { return actions.filter { if case .discardData = $0 { false } else { true } } }
    guard mutation == .leaveOlderSessionUnfenced, isSuperseded else { return actions }
    return actions.filter { action in
      switch action {
      case .closeGate: return false
      case .endSync(let session): falseEvents.append(.syncEnded(session, nil))
      case .endStream(let id): falseEvents.append(.streamEnded(id, .over, held: Tally(items: 1, bytes: 1)))
      default: return true
      }
      return false
    }
  }
}

/// The mistakes of a sender.
struct SenderMistakes: Mistakes {
  typealias Decider = SenderEngine

  private let mutation: Mutation?
  private var conversations = 0
  private var falseEvents: [SenderEngine.Event] = []

  init(_ mutation: Mutation?) { self.mutation = mutation }

  mutating func events(for event: SenderEngine.Event) -> [SenderEngine.Event] {
    if mutation == .loseStopBetweenSessions, case .stop = event, conversations == 0 { return [] }
    return [event]
  }

  mutating func takeFalseEvents() -> [SenderEngine.Event] {
    defer { falseEvents = [] }
    return falseEvents
  }

  mutating func actions(for actions: [SenderEngine.Action]) -> [SenderEngine.Action] {
    guard let mutation else { return actions }
    return actions.filter { action in
      switch (mutation, action) {
      case (.loseStopBetweenSessions, .converse): conversations += 1
      case (.loseStopBetweenSessions, .close): conversations -= 1
      case (.offerTooEarly, .abandonExport(let number)):
        falseEvents.append(.exported(number, .failure(Fault(.device, "mistaken"))))
      case (.forgetFinishedPart, .recordDone(let transfer, _, _, _)):
        falseEvents.append(.recorded(transfer, Traffic(), isWritten: true))
        return false
      default: break
      }
      return true
    }
  }
}
