package import MigrationWire

/// Decides everything that a receiver does: who may come, what becomes of a session, when a transfer is over (Protocol §4 to §9).
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock.
package struct ReceiverEngine: Sendable {
  package struct Settings: Sendable {
    /// What this device is called, and what it can do.
    package var greeting: Greeting
    /// For how many seconds a sender that was lost may stay away.
    package var giveUpAfter: Double
    /// Whether the user is asked about a new transfer; else the code that was entered is consent enough.
    package var asksConsent = false
    /// Whether the user can be asked to begin another wait when too many wrong codes were entered; else that ends the run.
    package var asksRestart = false
    /// Whether it takes one transfer after the other, until the user stops it.
    package var keeps = false
    /// Whether the code was given to this device, instead of made by it: it serves one wait, and no other code follows it.
    package var hasGivenCode = false
    /// How many seconds pass for codes and guesses while one passes for everything else: tests hurry them.
    package var codeSpeed = 1.0
    /// For how many seconds an import that is broken off may clear up.
    package var graceAtTheEnd = 0.0

    package init(greeting: Greeting, giveUpAfter: Double) {
      self.greeting = greeting
      self.giveUpAfter = giveUpAfter
    }
  }

  /// That the user ends the run, and how.
  struct Stop: Sendable {
    let kind: TransferFailure.Kind
    let at: Double
  }

  /// How many data streams may be joined in a session.
  package static let streams: UInt16 = 16

  let settings: Settings
  var phase = ReceiverPhase.starting
  var stop: Stop?
  /// The transfers whose import an earlier run began, for when this one listens: one, or all in their turn where it stays.
  var concluded: [TransferID] = []
  /// What may be continued here, and what is received now, in the order in which it came.
  var transfers: [IncomingTransfer] = []
  /// The sessions that are not over: the newest, and older ones whose workers have not ended.
  var conversations: [SessionNumber: Conversation] = [:]
  /// How many sessions there were.
  var lastSession: UInt64 = 0
  var door = ReceiverDoor()
  var codes: ReceiverCodes
  /// Whose pairing took a code of this wait, the last one.
  var paired: TransferID?
  var question: StandingQuestion?
  /// Whether this device can be made known on its networks, and whether it is.
  var canBeAnnounced = false
  var isAnnounced = false
  /// What the store is still to be told, one thing at a time.
  var storeTasks: [StoreTask] = []
  var workers = RunningWorkers()
  /// What is done about the event that is being handled, and when it happened.
  private var actions: [Action] = []
  private(set) var now = 0.0

  package init(_ settings: Settings) {
    self.settings = settings
    codes = ReceiverCodes(speed: settings.codeSpeed)
  }

  /// How many workers were started whose event has not come, and how many connections are being closed.
  package var runningWorkers: Int { workers.count }

  /// Whether a session is not over: it talks, or one of its workers has not ended.
  package func isUnderWay(_ session: SessionNumber) -> Bool { conversations[session] != nil }

  /// When something may be different without an event.
  package var nextMoment: Double? {
    if case .finishing(_, let deadline) = phase { return deadline }
    var moments = conversations.values.compactMap(\.nextMoment)
    if case .away(_, let deadline, _) = phase { moments.append(deadline) }
    if let importUntil { moments.append(importUntil) }
    if isInviting, let expiry = codes.expiry { moments.append(expiry) }
    if let moment = door.nextMoment(now: now, isEngaged: phase.isEngaged) { moments.append(moment) }
    return moments.min()
  }

  /// An event has happened; what is done about it, in this order.
  package mutating func handle(_ event: Event, now: Double) -> [Action] {
    if case .over = phase { return [] }
    self.now = now
    // What ends a worker that does not run is late, or came twice.
    if let worker = Worker(endedBy: event), !workers.end(worker) { return [] }
    take(event)
    tend()
    defer { actions = [] }
    return actions
  }

  /// Does something; one that starts a worker is known until its event comes.
  mutating func act(_ action: Action) {
    if let worker = Worker(startedBy: action) { workers.start(worker) }
    actions.append(action)
  }

  mutating func tell(_ event: TransferEvent) { act(.tell(event)) }

  private mutating func take(_ event: Event) {
    switch event {
    case .begin: act(.takeBack)
    case .tookBack(let known): tookBack(known)
    case .listening(let result): listening(result)
    case .stop(let kind): stopped(kind)
    case .timePassed: break
    case .noticed(let event): tell(event)
    case .arrived(let id, let remote, let chance): arrived(id, remote, chance)
    case .spoke(let id): door.heard(id)
    case .departed(let id): departed(id)
    case .outOfDescriptors(let chance): outOfDescriptors(chance)
    case .secured(let id, let key): secured(id, key)
    case .asked(let id, let mode): asked(id, mode)
    case .shared(let id): shared(id)
    case .proved(let id, let isRight): proved(id, isRight)
    case .ready(let id, let identifier): ready(id, identifier)
    case .joining(let id, let join): joining(id, join)
    case .codeMade(let code): codeMade(code)
    case .answered(let answer): answered(answer)
    case .received(let id, let message): received(message, on: id)
    case .broke(let id, let fault): broke(id, fault)
    case .drained(let id): drained(id)
    case .closed(let id): door.forget(id)
    case .examined(let number, let result): examined(number, result)
    case .staged(let number, let result): staged(number, result)
    case .ledger(let number, let result): ledger(number, result)
    case .dropped(let number, let fault): dropped(number, fault)
    case .streamEnded(let id, let end, let held): streamEnded(id, end, held)
    case .gateShut(let number, let fault), .syncEnded(let number, let fault):
      if let fault { failTransfer(of: number, by: fault) }
    case .refused(let transfer, let refusals): refused(transfer, refusals)
    case .importing(let transfer, let progress): importing(transfer, progress)
    case .imported(let transfer, let result, let traffic, let differing, let refused):
      imported(transfer, result, traffic, differing: differing, refused: refused)
    case .noted: break
    case .retook(let transfer, let result): retook(transfer, result)
    }
  }

  /// Does what follows from what is so now, whatever has led to it.
  private mutating func tend() {
    tendPhase()
    for number in conversations.keys.sorted() { tendConversation(number) }
    tendKeeping()
    tendCodes()
    tendQuestion()
    tendAnnouncement()
    tendStoreTasks()
    tendDoor()
    tendEnd()
  }
}
