package import MigrationWire

extension ReceiverEngine {
  /// Names work outside of the loop: an action starts it, and one event ends it.
  enum Worker: Hashable, Sendable {
    case takeBack
    case listen
    /// The work on a connection before READY.
    case connection(ConnectionID)
    case makeCode
    case question
    case closing(ConnectionID)
    case judgePlan(SessionNumber)
    case record(SessionNumber)
    case stage(SessionNumber)
    case readLedger(SessionNumber)
    case dropItems(SessionNumber)
    case serve(ConnectionID)
    case dial(SessionNumber)
    case sync(SessionNumber)
    case gate(SessionNumber)
    case importItems(TransferID)
    case store(TransferID)

    /// The worker that an action starts.
    init?(startedBy action: Action) {
      guard let event = ReceiverEngine.end(of: action, by: Failure(.failed, "")) else { return nil }
      self.init(endedBy: event)
    }

    /// The worker that an event ends.
    init?(endedBy event: Event) {
      switch event {
      case .tookBack: self = .takeBack
      case .listening: self = .listen
      case .asked(let id, _), .shared(let id), .proved(let id, _), .ready(let id, _), .joining(let id, _),
        .departed(let id):
        self = .connection(id)
      case .codeMade: self = .makeCode
      case .answered: self = .question
      case .closed(let id): self = .closing(id)
      case .planJudged(let number, _, _, _): self = .judgePlan(number)
      case .recorded(let number, _, _): self = .record(number)
      case .staged(let number, _): self = .stage(number)
      case .ledger(let number, _): self = .readLedger(number)
      case .dropped(let number, _): self = .dropItems(number)
      case .streamEnded(let id, _, _): self = .serve(id)
      case .dialed(let number): self = .dial(number)
      case .syncEnded(let number, _): self = .sync(number)
      case .gateShut(let number, _): self = .gate(number)
      case .imported(let transfer, _, _, _): self = .importItems(transfer)
      case .noted(let transfer), .retook(let transfer, _): self = .store(transfer)
      case .begin, .stop, .timePassed, .noticed, .forgotten, .placed, .unplaced, .arrived, .spoke, .outOfDescriptors,
        .secured,
        .received, .broke,
        .drained, .lookedForData, .refused, .importing:
        return nil
      }
    }

    /// Whether the worker gives the store a task.
    fileprivate var isOfStore: Bool { if case .store = self { true } else { false } }
  }

  package static func end(of action: Action, by fault: Failure) -> Event? {
    switch action {
    case .takeBack: .tookBack(.failure(fault))
    case .listen: .listening(.failure(fault))
    case .greet(let id, _, _), .awaitShare(let id, _), .exchange(let id, _), .keepProof(let id, _, _),
      .confirm(let id, _), .welcome(let id, _, _), .turnAway(let id, _, _), .refuseStream(let id, _):
      .departed(id)
    case .makeCode: .codeMade(.failure(fault))
    case .ask: .answered(nil)
    case .close(let id, _): .closed(id)
    case .judgePlan(let number, _, _, _, _): .planJudged(number, .failure(fault), session: 0)
    case .record(let number, _): .recorded(number, fault)
    case .stage(let number, _): .staged(number, .failure(fault))
    case .readLedger(let number): .ledger(number, .failure(fault))
    case .dropItems(let number, _): .dropped(number, fault)
    // Another stream may find a thread: the connection is closed, as one that was cut.
    case .serve(let id, _, _): .streamEnded(id, .over, held: Tally())
    case .dial(let number, _, _): .dialed(number)
    case .sync(let number): .syncEnded(number, fault)
    case .shutGate(let number): .gateShut(number, fault)
    case .importItems(let transfer, _, _, _): .imported(transfer, .failure(fault), Traffic(), refused: [])
    case .note(let transfer), .forget(let transfer), .discard(let transfer), .release(let transfer): .noted(transfer)
    case .retake(let transfer): .retook(transfer, .failure(fault))
    case .tell, .tellProgress, .finish, .announce, .withdrawAnnouncement, .drop, .pauseAccepting, .dismiss, .forgetCode,
      .withdrawQuestion, .converse, .say, .hurryClosing, .endStream, .endDial, .endSync, .lookForData, .openGate,
      .discardData, .closeGate, .interruptImport:
      nil
    }
  }

  /// The workers that were started and have not sent their event.
  struct RunningWorkers: Sendable {
    private var running: Set<Worker> = []

    var count: Int { running.count }
    var isEmpty: Bool { running.isEmpty }
    /// Whether the store is busy with a task.
    var isStoreBusy: Bool { running.contains(where: \.isOfStore) }

    func contains(_ worker: Worker) -> Bool { running.contains(worker) }

    /// The connections that are being closed, also those whose session has ended.
    var closing: [ConnectionID] {
      running.compactMap { if case .closing(let id) = $0 { id } else { nil } }.sorted()
    }

    mutating func start(_ worker: Worker) {
      let isNew = running.insert(worker).inserted
      precondition(isNew, "a worker is started when the one before it has ended")
    }

    /// Removes a worker, and returns whether it was running.
    mutating func end(_ worker: Worker) -> Bool { running.remove(worker) != nil }

    /// Whether a worker of a session runs, other than those of its streams.
    func isBusy(_ session: SessionNumber) -> Bool {
      [
        Worker.judgePlan(session), .record(session), .stage(session), .readLedger(session), .dropItems(session),
        .sync(session), .gate(session),
      ].contains(where: running.contains)
    }
  }
}
