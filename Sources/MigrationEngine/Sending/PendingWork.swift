import MigrationWire

extension SenderEngine {
  /// What actions have begun and events have not ended: workers, the connection, and a look at the window.
  ///
  /// An event of anything else is late, or comes twice, and is dropped.
  struct PendingWork: Sendable {
    enum Item: Hashable, Sendable {
      case walk
      case lookUp
      case question
      case derivation
      case dial
      case connection(ConnectionID)
      case export(SessionNumber)
      case stream(SessionNumber, StreamNumber)
      case finishNote(SessionNumber)
      case look(SessionNumber)
      case record(TransferID)
      case forget(TransferID)
      /// One of those that write down what need not be waited for. There may be several.
      case note

      /// Whether it is a thread's.
      var isWorker: Bool {
        switch self {
        case .connection, .look: false
        case .walk, .lookUp, .question, .derivation, .dial, .export, .stream, .finishNote, .record, .forget,
          .note:
          true
        }
      }

      /// Whose it is; nil for what belongs to no session, or outlives it.
      var session: SessionNumber? {
        switch self {
        case .export(let number), .stream(let number, _), .finishNote(let number), .look(let number): number
        case .walk, .lookUp, .question, .derivation, .dial, .connection, .record, .forget, .note: nil
        }
      }
    }

    private(set) var items: [Item] = []
    private var isPreparingStopped = false

    var isEmpty: Bool { items.isEmpty }
    var workers: Int { items.count(where: \.isWorker) }
    /// Whether walk or question go on, and are not about to end.
    var isPreparing: Bool { !isPreparingStopped && (items.contains(.walk) || items.contains(.question)) }
    var isDialing: Bool { items.contains(.dial) }
    var isForgetting: Bool { items.contains { if case .forget = $0 { true } else { false } } }

    func isGoingOn(_ session: SessionNumber) -> Bool { items.contains { $0.session == session } }

    func isOpen(_ connection: ConnectionID) -> Bool { items.contains(.connection(connection)) }

    /// Whether an event is of something that goes on.
    func expects(_ event: Event) -> Bool { event.item.map { items.contains($0) } ?? true }

    /// An event may end something.
    mutating func end(_ event: Event) {
      guard event.endsItem, let item = event.item, let index = items.firstIndex(of: item) else { return }
      items.remove(at: index)
    }

    /// Actions may begin something.
    mutating func begin(_ actions: [Action]) {
      for action in actions {
        if let item = action.item { items.append(item) }
        if case .stopPreparing = action { isPreparingStopped = true }
      }
    }
  }
}

extension SenderEngine.Action {
  /// What it begins.
  fileprivate var item: SenderEngine.PendingWork.Item? {
    switch self {
    case .walk: .walk
    case .lookUpUnfinished: .lookUp
    case .askCode: .question
    case .deriveSecret: .derivation
    case .dial: .dial
    case .converse(let connection): .connection(connection)
    case .export(let session, _): .export(session)
    case .openStream(let session, let join, _): .stream(session, join.stream)
    case .readWindow(let session): .look(session)
    case .recordDone(let transfer, _, _): .record(transfer)
    case .noteFinish(let session, _, _): .finishNote(session)
    case .note: .note
    case .forget(let transfer): .forget(transfer)
    case .tell, .tellProgress, .finish, .stopPreparing, .stopDialing, .say, .close, .keepHeld, .keepPartial,
      .moveFrames,
      .retire, .forgetStream, .refuse, .finishWindow, .stopSession:
      nil
    }
  }
}

extension SenderEngine.Event {
  /// What it is of; nil for what may come at any time.
  fileprivate var item: SenderEngine.PendingWork.Item? {
    switch self {
    case .walked: .walk
    case .lookedUp: .lookUp
    case .codeEntered: .question
    case .derived: .derivation
    case .dialing, .dialed: .dial
    case .received(let connection, _), .broke(let connection, _), .drained(let connection),
      .closed(let connection, _):
      .connection(connection)
    case .withholding(let session, _), .unsent(let session, _), .exported(let session, _): .export(session)
    case .streamJoined(let session, let stream), .streamEnded(let session, let stream, _): .stream(session, stream)
    case .finishNoted(let session, _): .finishNote(session)
    case .window(let session, _): .look(session)
    case .recorded(let transfer, _): .record(transfer)
    case .noted: .note
    case .forgot(let transfer): .forget(transfer)
    case .begin, .stop, .timePassed: nil
    }
  }

  /// Whether what it is of is over.
  fileprivate var endsItem: Bool {
    switch self {
    case .dialing, .received, .broke, .drained, .withholding, .unsent, .streamJoined: false
    case .walked, .lookedUp, .codeEntered, .derived, .dialed, .closed, .exported, .streamEnded, .finishNoted, .window,
      .recorded, .noted, .forgot, .begin, .stop, .timePassed:
      true
    }
  }
}
