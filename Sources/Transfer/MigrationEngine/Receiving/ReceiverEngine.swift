package import MigrationWire

/// Makes all decisions of a receiver: which senders may connect, how sessions proceed, when a
/// transfer ends (Protocol §4 to §9).
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock.
package struct ReceiverEngine: Engine {
  /// The facts from which the engine starts: the options of the user that concern it, and what this
  /// device and the importer can do.
  package struct Settings: Equatable, Sendable {
    /// This device's label and features.
    package var greeting: Greeting
    /// How many seconds the receiver waits for a sender to reconnect.
    package var giveUpAfter: Double
    /// Whether to ask the user about a new transfer; otherwise the entered code counts as consent.
    package var asksConsent = false
    /// The classes that the options of this run take without a question.
    package var permissions = ArrivalClasses.all
    /// Whether the user can be asked to begin another wait after too many wrong codes; otherwise
    /// they end the run.
    package var asksRestart = false
    /// Whether it stays: receives one transfer after the other, until the user stops it.
    package var keeps = false
    /// How many transfers it serves at the same time; more than one only if it stays.
    package var atOnce = 1
    /// Whether to keep the pairing with a sender that wants that too.
    package var keepsPairings = false
    /// Whether the code was given to this device instead of being made by it: it serves one wait,
    /// and no other code follows it.
    package var hasGivenCode = false
    /// How many seconds pass for codes and guesses in one second of real time: tests accelerate
    /// them.
    package var codeSpeed = 1.0
    /// Whether it also waits at a relay (Protocol §16).
    package var waitsAtRelay = false
    /// How many seconds an import that is broken off may take to clean up.
    package var graceAtTheEnd = 0.0

    package init(greeting: Greeting, giveUpAfter: Double) {
      self.greeting = greeting
      self.giveUpAfter = giveUpAfter
    }
  }

  /// How many unfinished transfers with data a known device may have.
  package static let transfersOfDevice = 8

  /// The most transfers that may be served at the same time.
  package static let mostAtOnce = 16

  /// How many data streams may join a session.
  package static let streams: UInt16 = 16

  let settings: Settings
  var phase = Phase.starting
  /// The user's stop: its kind and its time.
  var stop: (kind: Failure.Kind, at: Double)?
  var transfers = IncomingTransfers()
  /// The sessions that have not ended: the newest, and older ones whose workers still run.
  var sessions: [SessionNumber: ReceiverSession] = [:]
  /// How many sessions this run had.
  var lastSession: UInt64 = 0
  var connections = ReceiverConnections()
  var codes: ReceiverCodes
  /// Whether the last code could not be made.
  var lacksCode = false
  var line = ReceiverLine()
  /// How many addresses of each sender's choosing may still be dialled.
  var addressBudgets: [KeyFingerprint: AddressBudget] = [:]
  /// The transfers that have given way, and until when they leave others their turn.
  var yielding: [TransferID: Double] = [:]
  /// The transfers that wait until others have brought, or given up, what they reserve.
  var reservationWaits: [TransferID: ReservationWait] = [:]
  /// How fast the transfers whose reservations others wait for bring what they reserve.
  var reservationPaces: [TransferID: ReservationPace] = [:]
  /// The question that the user is asked now, and whether it is to end without an answer.
  var question: (subject: QuestionSubject, isWithdrawn: Bool)?
  /// Whether this device may be, and is, announced on its networks (Protocol §4.5).
  var (mayAnnounce, isAnnounced) = (false, false)
  var relayWait: RelayWait
  /// The relay that the user was told about last.
  var toldRelay: String?
  var workers = RunningWorkers()
  private var toldDone: TransferResult?
  /// The actions for the event that is being handled, and the time of that event.
  private var actions: [Action] = []
  private(set) var now = 0.0

  package init(_ settings: Settings) {
    self.settings = settings
    codes = ReceiverCodes(speed: settings.codeSpeed)
    relayWait = RelayWait(isFirst: settings.waitsAtRelay, place: nil)
  }

  /// How many workers were started and have not sent their event, and how many connections are
  /// being closed.
  package var runningWorkers: Int { workers.count }

  /// The transfers that have the receiver's places: a session or an import of them runs, or their
  /// senders may come back.
  package var served: Set<TransferID> { Set(phase.served.map(\.transfer)) }

  /// Whether a session has not ended: it is in conversation, or one of its workers still runs.
  package func isUnderWay(_ session: SessionNumber) -> Bool { sessions[session] != nil }

  /// The next moment at which something may change without an event.
  package var nextMoment: Double? {
    if case .finishing(_, let deadline) = phase { return deadline }
    var moments = sessions.values.compactMap(\.nextMoment)
    for case .away(_, let deadline, _) in phase.served { moments.append(deadline) }
    if let importUntil { moments.append(importUntil) }
    if let expiry = codes.expiry { moments.append(expiry) }
    if let moment = connections.nextMoment(now: now, isEngaged: phase.isEngaged) { moments.append(moment) }
    return moments.min()
  }

  /// Handles an event and returns the actions, in their order.
  package mutating func handle(_ event: Event, now: Double) -> [Action] {
    if case .over = phase { return [] }
    self.now = now
    // The event of a worker that does not run is late, or a duplicate.
    if let worker = Worker(endedBy: event), !workers.end(worker), !isOfAcceptQueue(event) { return [] }
    take(event)
    tend()
    defer { actions = [] }
    return actions
  }

  /// Whether a connection that has no worker has departed.
  private func isOfAcceptQueue(_ event: Event) -> Bool {
    if case .departed(let id) = event { connections[id]?.step == .acceptQueue } else { false }
  }

  /// Adds an action; a worker that it starts counts as running until its event comes.
  mutating func act(_ action: Action) {
    if let worker = Worker(startedBy: action) { workers.start(worker) }
    actions.append(action)
  }

  /// Tells the user an event; of several transfers at a time, also which one it is about.
  mutating func tell(_ event: TransferEvent, of transfer: TransferID? = nil, part: UInt16? = nil) {
    let part = part ?? transfer.flatMap { transfers[of: $0]?.part.number } ?? 0
    let event = if settings.atOnce > 1, let transfer { TransferEvent.of(transfer, event) } else { event }
    act(.tell(event, of: transfer, part: part))
  }

  /// Tells the result of a transfer; in a run that does not stay, each result once.
  mutating func tellDone(_ result: TransferResult, of transfer: TransferID? = nil) {
    if toldDone == result, !settings.keeps { return }
    toldDone = result
    tell(.done(result), of: transfer)
  }

  private mutating func take(_ event: Event) {
    switch event {
    case .begin: act(.takeBack)
    case .tookBack(let known): tookBack(known)
    case .listening(let result): listening(result)
    case .stop(let kind): stopped(kind)
    case .timePassed: break
    case .noticed(let event, let transfer): tell(event, of: transfer)
    case .forgotten(let transfer): forgotten(transfer)
    case .placed(let place): placed(place)
    case .unplaced(let reason): unplaced(reason)
    case .arrived(let id, let remote, let chance): arrived(id, remote, chance)
    case .spoke(let id): connections.heard(id)
    case .departed(let id): departed(id)
    case .outOfDescriptors(let chance): outOfDescriptors(chance)
    case .secured(let id, let key, let isOfDevice): secured(id, key, isOfDevice)
    case .asked(let id, let mode): asked(id, mode)
    case .shared(let id): shared(id)
    case .proved(let id, let isRight): proved(id, isRight)
    case .ready(let id, let identifier): ready(id, identifier)
    case .joining(let id, let join): joining(id, join)
    case .codeMade(let code): codeMade(code)
    case .answered(let answer, let taken, let removals): answered(answer, taken, removals)
    case .received(let id, let message): received(message, on: id)
    case .broke(let id, let fault): broke(id, fault)
    case .drained(let id): drained(id)
    case .closed(let id): connections.forget(id)
    case .planJudged(let number, let result, let session, let consent): planJudged(number, result, session, consent)
    case .recorded(let number, let fault, let isKept): recorded(number, fault, isKept)
    case .staged(let number, let result): staged(number, result)
    case .ledger(let number, let result): ledger(number, result)
    case .dropped(let number, let fault): dropped(number, fault)
    case .streamEnded(let id, let end, let held): streamEnded(id, end, held)
    case .dialed(let number): sessions[number]?.rounds.ended(now: now)
    case .lookedForData(let number, let moment, let held): lookedForData(number, lastAt: moment, held)
    case .gateShut(let number, let fault), .syncEnded(let number, let fault):
      if let fault { failTransfer(of: number, by: fault) }
    case .refused(let transfer, let refusals): refused(transfer, refusals)
    case .importing(let transfer, let progress): importing(transfer, progress)
    case .imported(let transfer, let result, let traffic, let refused):
      imported(transfer, result, traffic, refused: refused)
    case .noted: break
    case .retook(let transfer, let result): retook(transfer, result)
    }
  }

  /// Does everything that follows from the present state, regardless of the event.
  private mutating func tend() {
    tendPhase()
    for number in sessions.keys.sorted() { tendSession(number) }
    tendForgotten()
    tendReservations()
    tendHolding()
    tendCodes()
    tendQuestion()
    tendAnnouncement()
    tendStoreTasks()
    tendConnections()
    tendEnd()
  }
}
