import MigrationWire
import TestSupport

@testable import MigrationEngine

/// A receiver's engine with a loop and workers around it, which perform its actions in any order
/// and with any result.
///
/// It checks whether every action can be performed, and lists all work that was started and has not
/// ended.
struct ReceiverWalk {
  typealias Engine = ReceiverEngine

  /// The stage of a connection.
  enum Place {
    case lobby
    /// A worker serves it.
    case served
    /// It rests between two actions.
    case resting
    case conversing
    case closing
  }

  /// Started work; one event ends it.
  enum Job: Equatable {
    case takeBack, listen, makeCode, question
    case greet(ConnectionID)
    case awaitShare(ConnectionID)
    case exchange(ConnectionID)
    case keepProof(ConnectionID, isRight: Bool)
    case confirm(ConnectionID)
    case turnAway(ConnectionID)
    case welcome(ConnectionID, ConnectionMode)
    case close(ConnectionID)
    case weigh(SessionNumber, [UInt16])
    case record(SessionNumber)
    case stage(SessionNumber)
    case readLedger(SessionNumber)
    case dropItems(SessionNumber)
    case serve(ConnectionID, SessionNumber)
    case sync(SessionNumber)
    case dial(SessionNumber)
    case gate(SessionNumber)
    case importItems(TransferID)
    case store(TransferID)
    case retake(TransferID)
  }

  /// The progress of a sender on its control connection.
  enum Talk {
    case greeting, planning, waiting
    /// No part runs.
    case between
    case offered, sending, finishing
    /// It has given up the part, and waits for the receiver's answer.
    case failing
    /// The receiver has given up the part, and waits for an answer.
    case failed
    case over
  }

  /// One part of a transfer.
  struct PartName: Hashable {
    let transfer: TransferID
    let part: UInt16
  }

  var engine: Engine
  let keys: ClosedRange<UInt8>
  var dice: Generator
  var now = 0.0
  private(set) var places: [ConnectionID: Place] = [:]
  private(set) var jobs: [Job] = []
  private(set) var talks: [ConnectionID: Talk] = [:]
  /// The verdict that a sender has got, its newest offer, and the transfers that senders know.
  private(set) var verdicts: [ConnectionID: Verdict] = [:]
  private(set) var offers: [ConnectionID: UInt16] = [:]
  private(set) var told: Set<TransferID> = []
  private(set) var senders: [ConnectionID: UInt8] = [:]
  private(set) var sessions: [ConnectionID: SessionNumber] = [:]
  /// The transfer of each session, and the sessions that have sent FINISH.
  private(set) var transfers: [SessionNumber: TransferID] = [:]
  private(set) var imports: [TransferID: UInt16] = [:]
  /// The transfers that a receiver that stays has released, and the state of the disk for each.
  private var released: Set<TransferID> = []
  private(set) var finished: Set<PartName> = []
  let keeps: Bool
  /// Whether everything was imported; and whether a part or an import has failed, or an import hangs,
  /// or nothing could listen.
  private var isImported = false
  private var mayFail = false
  /// Whether something listens: no connection arrives before.
  private var isListening = false
  /// When the user has stopped the run, and when an import has last reported progress.
  private var stoppedAt: Double?
  private var importMovedAt = 0.0
  private var isAnnounced = false
  private(set) var result: TransferOutcome?
  /// The first breach that was found.
  private(set) var broken: String?
  /// How often each kind of action was seen.
  private(set) var seen: [String: Int] = [:]
  private(set) var trail: [String] = []
  /// Whether `seen` and `trail` are kept.
  private let keepsTrail: Bool
  /// The session whose last data the engine wants to know of.
  var looked: SessionNumber?
  var lastConnection: UInt64 = 0
  private var lastEvent: Engine.Event?

  /// Begins with so many senders that may pair, and that may be served at once.
  init(seed: UInt64, senders: UInt8 = 4, keeps: Bool = false, atOnce: Int = 1) {
    // Neighbouring seeds give the same numbers, shifted by one.
    self.init(Generator(seed: seed &* 1_000_003), senders: senders, keeps: keeps, atOnce: atOnce, keepsTrail: true)
  }

  /// Begins with any dice.
  init(
    _ dice: Generator, senders: UInt8 = 4, keeps: Bool = false, atOnce: Int = 1, keepsTrail: Bool = false
  ) {
    self.keys = 1...senders
    self.keeps = keeps
    self.keepsTrail = keepsTrail
    self.dice = dice
    var settings = ReceiverScript.settings()
    settings.greeting.features = [.zstd, .ways]
    settings.asksConsent = Bool.random(using: &self.dice)
    (settings.keeps, settings.atOnce) = (keeps, atOnce)
    settings.asksRestart = Bool.random(using: &self.dice)
    if Int.random(in: 0..<4, using: &self.dice) == 0 { settings.giveUpAfter = 0 }
    engine = Engine(settings)
  }

  mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &dice) == 0 }

  private mutating func fail(_ what: String) { broken = broken ?? what }

  // MARK: Events

  mutating func feed(_ event: Engine.Event) {
    if keepsTrail { trail.append("\(event)") }
    lastEvent = event
    switch event {
    case .imported(let transfer, let result, _, _):
      guard let part = imports.removeValue(forKey: transfer) else { break }
      if case .failure = result {
        mayFail = true
      } else {
        finished.insert(PartName(transfer: transfer, part: part))
        isImported = isDone(transfer)
      }
    case .listening(.failure): mayFail = true
    case .listening(.success): isListening = true
    case .importing: importMovedAt = now
    case .stop: stoppedAt = stoppedAt ?? now
    // A stopped run waits for an import only while that one makes progress.
    case .timePassed:
      if let stoppedAt, isImporting, now >= max(stoppedAt, importMovedAt) + EndLimits.importProgress { mayFail = true }
    default: break
    }
    let actions = engine.handle(event, now: now)
    if result != nil, !actions.isEmpty { fail("something is done after the end") }
    for action in actions { perform(action) }
    if let broken = engine.checkInvariants() { fail(broken) }
    if result == nil, engine.runningWorkers != jobs.count { fail("the engine counts other workers") }
    if let next = engine.nextMoment, next < now - 1e-9, result == nil { fail("a moment has passed unseen") }
  }

  /// Ends started work with an event.
  mutating func end(_ job: Job, _ event: Engine.Event, _ connection: ConnectionID? = nil, _ place: Place? = nil) {
    guard let index = jobs.firstIndex(of: job) else { return }
    jobs.remove(at: index)
    if let connection { places[connection] = place }
    feed(event)
  }

  mutating func arrive(_ key: UInt8) {
    guard isListening else { return }
    lastConnection += 1
    let id = ConnectionID(lastConnection)
    places[id] = .lobby
    senders[id] = key
    // Keys of even numbers come through a relay, now and then past it.
    let own = key % 2 == 0 && !chance(3) ? WayFixture.own : nil
    let remote = Remote(
      host: "h\(key)", network: "n\(key)", mayPair: key != 9, relay: own.map { _ in "relay" }, own: own)
    feed(.arrived(id, remote, chance: dice.next()))
  }

  mutating func leave(_ id: ConnectionID) {
    guard case .lobby = places[id] else { return }
    places[id] = nil
    feed(.departed(id))
  }

  mutating func say(_ message: ControlMessage, on id: ConnectionID, next: Talk) {
    talks[id] = next
    switch message {
    case .offer(let totals): offers[id] = totals.part
    case .failed: mayFail = true
    default: break
    }
    feed(.received(id, message))
  }

  mutating func breakOff(_ id: ConnectionID, _ fault: Fault) {
    talks[id] = nil
    feed(.broke(id, fault))
  }

  /// Repeats the last event, which is now late.
  mutating func again() {
    guard let lastEvent, let worker = Engine.Worker(endedBy: lastEvent), !engine.workers.contains(worker) else {
      return
    }
    let actions = engine.handle(lastEvent, now: now)
    if !actions.isEmpty { fail("an event that comes twice counts twice") }
  }

  // MARK: Actions

  private mutating func note(isAnnounced: Bool) {
    if isAnnounced == self.isAnnounced { fail("it is announced, or withdrawn, twice") }
    self.isAnnounced = isAnnounced
  }

  private mutating func start(_ job: Job) { jobs.append(job) }

  /// An earlier run has known these.
  mutating func remember(_ known: [Engine.KnownTransfer]) {
    for transfer in known {
      told.insert(transfer.identifier)
      finished.formUnion(transfer.finished.keys.map { PartName(transfer: transfer.identifier, part: $0) })
    }
  }

  /// The store reads a released transfer; now and then it is gone.
  mutating func retook(_ transfer: TransferID, _ known: Engine.KnownTransfer?) {
    released.remove(transfer)
    end(.retake(transfer), .retook(transfer, .success(known)))
  }

  private mutating func move(_ id: ConnectionID, from before: [Place], to place: Place?, _ what: String) {
    guard let now = places[id], before.contains(now) else { return fail("\(what) of \(id), which is not there") }
    places[id] = place
  }

  private mutating func perform(_ action: Engine.Action) {
    if keepsTrail { seen["\(action)".split(separator: "(")[0].description, default: 0] += 1 }
    switch action {
    case .takeBack: start(.takeBack)
    case .listen: start(.listen)
    case .announce: note(isAnnounced: true)
    case .withdrawAnnouncement: note(isAnnounced: false)
    case .tell, .tellProgress, .pauseAccepting, .forgetCode: break
    case .finish(let result):
      if self.result != nil { fail("it ends twice") }
      if keeps {
        if case .success = result { fail("what stays ends well") }
      } else if case .failure = result, !mayFail {
        if isImported { fail("what was done fails") }
        if isImporting { fail("what is being imported fails by something else") }
      }
      if isAnnounced { fail("it is announced behind its end") }
      self.result = result
    case .drop(let id): move(id, from: [.lobby, .resting], to: nil, "drop")
    case .greet(let id, _, _):
      move(id, from: [.lobby], to: .served, "greet")
      start(.greet(id))
    case .awaitShare(let id, _):
      move(id, from: [.resting], to: .served, "await a share")
      start(.awaitShare(id))
    case .exchange(let id, _):
      move(id, from: [.resting], to: .served, "exchange")
      start(.exchange(id))
    case .keepProof(let id, let isRight, let until):
      if until <= now { fail("a proof is kept until a moment that has passed") }
      move(id, from: [.resting], to: .served, "keep a proof")
      start(.keepProof(id, isRight: isRight))
    case .confirm(let id, _):
      move(id, from: [.resting], to: .served, "confirm")
      start(.confirm(id))
    case .welcome(let id, let mode, _):
      move(id, from: [.resting], to: .served, "welcome")
      start(.welcome(id, mode))
    case .turnAway(let id, _, _):
      move(id, from: [.resting], to: .served, "turn away")
      start(.turnAway(id))
    case .refuseStream(let id, _):
      move(id, from: [.resting], to: .served, "refuse a stream")
      start(.turnAway(id))
    case .dismiss(let id, _): move(id, from: [.served], to: .served, "dismiss")
    case .makeCode: start(.makeCode)
    case .ask:
      if jobs.contains(.question) { fail("two questions at a time") }
      start(.question)
    case .withdrawQuestion: if !jobs.contains(.question) { fail("no question is asked") }
    case .converse(let id):
      move(id, from: [.resting], to: .conversing, "converse")
      talks[id] = .greeting
    case .say(let id, let message): heard(message, id)
    case .close(let id, _):
      move(id, from: [.conversing], to: .closing, "close")
      talks[id] = nil
      start(.close(id))
    case .hurryClosing(let id, _): move(id, from: [.closing], to: .closing, "hurry to close")
    case .weigh(let number, let transfer, _, let parts, _):
      for (older, other) in transfers where other == transfer && older < number && isWorking(older) {
        fail("an older session works while a plan is judged")
      }
      transfers[number] = transfer
      if released.contains(transfer), !parts.isEmpty { fail("a plan is judged whose transfer was let go") }
      if parts.contains(where: { finished.contains(PartName(transfer: transfer, part: $0)) }) {
        fail("a finished part is judged again")
      }
      start(.weigh(number, parts))
    case .record(let number, let record):
      if released.contains(record.transfer) { fail("a plan is recorded whose transfer was let go") }
      start(.record(number))
    case .stage(let number, let order):
      if imports[order.transfer] != nil { fail("a part is staged beside an import") }
      if isWorking(number, besidesStreams: true) { fail("a part is staged while the one before works") }
      start(.stage(number))
    case .readLedger(let number): start(.readLedger(number))
    case .dropItems(let number, _): start(.dropItems(number))
    case .serve(let id, let number, _):
      move(id, from: [.resting], to: .served, "serve")
      if let newest = transfers.keys.max(), let transfer = transfers[number], transfers[newest] == transfer,
        newest > number
      {
        fail("a stream of an older session joins")
      }
      start(.serve(id, number))
    case .endStream(let id):
      if !jobs.contains(where: { if case .serve(id, _) = $0 { true } else { false } }) { fail("no such stream") }
    case .sync(let number): start(.sync(number))
    case .endSync(let number): if !jobs.contains(.sync(number)) { fail("nothing is synced") }
    case .dial(let number, _, _):
      if jobs.contains(.dial(number)) { fail("two rounds at a time") }
      start(.dial(number))
    case .endDial(let number): if !jobs.contains(.dial(number)) { fail("no round is ended") }
    case .shutGate(let number): start(.gate(number))
    case .openGate, .discardData, .closeGate: break
    case .lookForData(let number): looked = number
    case .importItems(let transfer, let part, let finish, _):
      if imports[transfer] != nil || finished.contains(PartName(transfer: transfer, part: part)) {
        fail("a part is imported twice")
      }
      if released.contains(transfer) { fail("what was let go is imported") }
      imports[transfer] = part
      importMovedAt = now
      if let number = finish?.0 {
        if jobs.contains(.sync(number)) || jobs.contains(.dropItems(number)) || jobs.contains(.gate(number)) {
          fail("an import begins while its session works")
        }
        if transfers.contains(where: {
          $0.value == transfer && $0.key != number && ($0.key > number || isWorking($0.key))
        }) {
          fail("what is imported is not what the FINISH of one session covers")
        }
      }
      start(.importItems(transfer))
    case .interruptImport(let transfer):
      if !jobs.contains(.importItems(transfer)) { fail("no import is interrupted") }
    case .note(let transfer), .forget(let transfer), .discard(let transfer):
      if jobs.contains(where: { if case .store = $0 { true } else { false } }) { fail("the store is told two things") }
      start(.store(transfer))
      if case .discard = action { released.remove(transfer) }
    case .release(let transfer):
      if !released.insert(transfer).inserted { fail("a transfer is let go twice") }
      if transfers.contains(where: { $0.value == transfer && isWorking($0.key) }) {
        fail("a session loses its transfer")
      }
      start(.store(transfer))
    case .retake(let transfer):
      if !released.contains(transfer) { fail("what was not let go is taken back") }
      start(.retake(transfer))
    }
  }

  private var isImporting: Bool { jobs.contains { if case .importItems = $0 { true } else { false } } }

  private func isWorking(_ number: SessionNumber, besidesStreams: Bool = false) -> Bool {
    jobs.contains { job in
      switch job {
      case .weigh(number, _), .record(number), .stage(number), .readLedger(number), .dropItems(number), .sync(number),
        .gate(number):
        true
      case .serve(_, number): !besidesStreams
      default: false
      }
    }
  }

  /// How many parts the plans of a sender have.
  func parts(of key: UInt8) -> Int { Int(key) % 3 + 1 }

  private func isDone(_ transfer: TransferID) -> Bool {
    let key = engine.transfers.last { $0.identifier == transfer }?.client.bytes[0]
    let count = finished.count { $0.transfer == transfer }
    return key.map { count == parts(of: $0) } == true
  }

  private mutating func heard(_ message: ControlMessage, _ id: ConnectionID) {
    guard case .conversing = places[id] else { return fail("something is said on \(id), which is not there") }
    switch message {
    case .verdict(let verdict):
      told.insert(verdict.transfer)
      (verdicts[id], offers[id], talks[id]) = (verdict, nil, .between)
    case .heldEnd: if talks[id] == .offered { talks[id] = .sending }
    case .done: talks[id] = .between
    case .failed(let failed):
      if failed.part != offers[id] { fail("another part than the offered one has failed") }
      mayFail = true
      talks[id] = talks[id] == .failing ? .between : .failed
    case .close: talks[id] = nil
    default: break
    }
  }
}
