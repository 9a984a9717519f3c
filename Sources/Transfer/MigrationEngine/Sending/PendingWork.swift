package import MigrationWire

extension SenderEngine {
  /// The work that actions have begun and events have not ended: workers, the connection, and a
  /// read of the window.
  ///
  /// Every other event is late or a duplicate, and is dropped.
  struct PendingWork: Sendable {
    struct Item: Hashable, Sendable {
      enum Kind: Sendable {
        case walk, lookUp, search, choice, probe, question, derivation, dial, connection, export, stream, finishNote
        case planRecord, look, record, forget
        /// There may be several of these for a transfer.
        case note
      }

      let kind: Kind
      var connection: ConnectionID?
      /// The session that it belongs to; nil for work that belongs to no session, or outlives it.
      var session: SessionNumber?
      var stream: StreamNumber?
      /// The transfer about which it writes a record.
      var transfer: TransferID?

      /// Whether a thread does it.
      var isWorker: Bool { kind != .connection && kind != .look }
    }

    private(set) var items: [Item] = []
    /// The records of a transfer that wait for the one being written: an earlier record must not
    /// overtake a later one.
    private var heldBack: [Action] = []
    private var isPreparingStopped = false

    var isEmpty: Bool { items.isEmpty }
    var workers: Int { items.count(where: \.isWorker) - heldBack.count }
    /// Whether walk, choice or question are running, and are not about to end.
    var isPreparing: Bool { !isPreparingStopped && items.contains { [.walk, .choice, .question].contains($0.kind) } }
    /// Whether a worker is on its way to the receiver.
    var isDialing: Bool { items.contains { [.search, .probe, .dial].contains($0.kind) } }
    var isForgetting: Bool { items.contains { $0.kind == .forget } }

    func isGoingOn(_ session: SessionNumber) -> Bool { items.contains { $0.session == session } }

    func isOpen(_ connection: ConnectionID) -> Bool { items.contains { $0.connection == connection } }

    /// Whether an event belongs to pending work.
    func expects(_ event: Event) -> Bool { event.item.map { items.contains($0) } ?? true }

    /// An event may end work.
    mutating func end(_ event: Event) {
      guard event.endsItem, let item = event.item, let index = items.firstIndex(of: item) else { return }
      items.remove(at: index)
    }

    /// Actions may begin work; returns the actions to perform now.
    @discardableResult
    mutating func begin(_ actions: [Action]) -> [Action] {
      var begun: [Action] = []
      for action in actions {
        let item = action.item
        if let transfer = item?.transfer, items.contains(where: { $0.transfer == transfer }) {
          heldBack.append(action)
        } else {
          begun.append(action)
        }
        if let item { items.append(item) }
        if case .stopPreparing = action { isPreparingStopped = true }
      }
      return begun
    }

    /// Returns the actions that were held back and are performed now, because an event has ended
    /// the work before them.
    mutating func release(after event: Event) -> [Action] {
      guard event.endsItem, let transfer = event.item?.transfer,
        let index = heldBack.firstIndex(where: { $0.item?.transfer == transfer })
      else { return [] }
      return [heldBack.remove(at: index)]
    }
  }
}

extension SenderEngine {
  package static func end(of action: Action, by fault: Failure) -> Event? {
    switch action {
    case .walk: .walked(.failure(fault))
    case .lookUpUnfinished: .lookedUp(.failure(fault))
    case .look: .found(.failure(fault), spread: 0)
    case .choose: .chosen(.failure(fault))
    case .probe: .probed(.failure(fault))
    case .askCode: .codeEntered(.failure(fault))
    case .deriveSecret: .derived(fault)
    case .dial: .dialed(.failure(.failed(fault)), spread: 0)
    case .converse(let connection): .closed(connection, spread: 0)
    case .export(let session, _): .exported(session, .failure(fault))
    case .openStream(let session, let join, _, _): .streamEnded(session, join.stream, .failed(fault))
    case .readWindow(let session): .window(session, WindowCounts())
    case .recordDone(let transfer, _, _, _): .recorded(transfer, nil, isWritten: false)
    case .recordPlan(let session, let record): .planRecorded(session, record.transfer, fault)
    case .noteFinish(let session, let transfer, _, _): .finishNoted(session, transfer, fault)
    case .note(let transfer, _, _, _): .noted(transfer)
    case .forget(let transfer): .forgot(transfer)
    case .tell, .tellProgress, .finish, .stopPreparing, .stopDialing, .say, .close, .hurryClosing, .beginLedger,
      .keepHeld, .keepPartial, .moveFrames, .retire, .forgetStream, .refuse, .finishWindow, .stopSession,
      .abandonExport:
      nil
    }
  }
}

extension SenderEngine.Action {
  /// The work that the action begins.
  fileprivate var item: SenderEngine.PendingWork.Item? { SenderEngine.end(of: self, by: Failure(.failed, ""))?.item }
}

extension SenderEngine.Event {
  /// The work that the event belongs to; nil for an event that may come at any time.
  fileprivate var item: SenderEngine.PendingWork.Item? {
    switch self {
    case .walked: .init(kind: .walk)
    case .lookedUp: .init(kind: .lookUp)
    case .found: .init(kind: .search)
    case .chosen: .init(kind: .choice)
    case .probed: .init(kind: .probe)
    case .codeEntered: .init(kind: .question)
    case .derived: .init(kind: .derivation)
    case .dialing, .dialed: .init(kind: .dial)
    case .received(let connection, _), .broke(let connection, _), .drained(let connection),
      .closed(let connection, _):
      .init(kind: .connection, connection: connection)
    case .unsent(let session, _), .exported(let session, _): .init(kind: .export, session: session)
    case .streamJoined(let session, let stream, _), .streamEnded(let session, let stream, _):
      .init(kind: .stream, session: session, stream: stream)
    case .finishNoted(let session, let transfer, _):
      .init(kind: .finishNote, session: session, transfer: transfer)
    case .planRecorded(let session, let transfer, _):
      .init(kind: .planRecord, session: session, transfer: transfer)
    case .window(let session, _): .init(kind: .look, session: session)
    case .recorded(let transfer, _, _): .init(kind: .record, transfer: transfer)
    case .noted(let transfer): .init(kind: .note, transfer: transfer)
    case .forgot(let transfer): .init(kind: .forget, transfer: transfer)
    case .begin, .stop, .forgotten, .timePassed: nil
    }
  }

  /// Whether the event ends its work.
  fileprivate var endsItem: Bool {
    switch self {
    case .dialing, .received, .broke, .drained, .unsent, .streamJoined: false
    case .walked, .lookedUp, .found, .chosen, .probed, .codeEntered, .derived, .dialed, .closed, .exported,
      .streamEnded, .finishNoted, .planRecorded, .window, .recorded, .noted, .forgot, .begin, .stop, .forgotten,
      .timePassed:
      true
    }
  }
}
