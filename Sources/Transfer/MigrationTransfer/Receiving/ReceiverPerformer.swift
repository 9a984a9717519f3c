import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Performs the receiver's actions.
final class ReceiverPerformer: Performer {
  typealias Decider = ReceiverEngine
  typealias Event = ReceiverEngine.Event
  typealias WorkerReport = Report<Event, Product>
  typealias ReceiverWorker = Worker<Event, Product>

  enum Product: Sendable {
    case listening(Handover<ListeningSocket>)
    /// The secret of the code that was made.
    case secret(PairingSecret)
    case transfers([IncomingTransferContext])
    case part(SessionNumber, IncomingTransferContext, IncomingPartContext, isCompressible: Bool)
  }

  let setup: ReceiverSetup
  var controls: ControlConnections
  var result: TransferOutcome?
  /// When the run, after its end, stops waiting for its workers.
  private(set) var deadline = BootInstant.now()
  private var stoppedAt: BootInstant?

  // MARK: New connections

  private var listener: ConnectionListener?
  private let relay: RelayLink?
  private let watch: ForgettingWatch
  /// End the rounds of tries to reach senders past the relay.
  private var dials: [SessionNumber: StopSignal] = [:]
  /// The port where an unfinished transfer's sender expects this device.
  private let rememberedPort: UInt16?
  /// The connections that workers serve, or that rest between two workers.
  private var served: [ConnectionID: ServedConnection] = [:]
  /// The secret of the newest code.
  private var secret: PairingSecret?
  /// Ends the wait for the user's answer.
  private let questionEnding: Wakeup

  // MARK: Sessions and transfers

  private var sessions: [SessionNumber: ReceiverSessionContext] = [:]
  /// The data streams of sessions, from their first offer on.
  private var streams: [SessionNumber: StreamCounts] = [:]
  private var transfers: [TransferID: IncomingTransferContext] = [:]
  /// The unfinished transfers of earlier runs, until a session takes them back.
  private var entries: [FoundTransferRecord]

  init(_ setup: ReceiverSetup, _ entries: [FoundTransferRecord]) throws(SystemError) {
    self.setup = setup
    self.entries = entries
    questionEnding = try Wakeup()
    rememberedPort = entries.first?.remembered.port
    controls = ControlConnections(setup.clock)
    relay = try setup.options.relay.map { access throws(SystemError) in try RelayLink(access) }
    try relay?.start()
    watch = try ForgettingWatch { setup.post(.forgotten($0)) }
    for entry in entries.reversed() { setup.meetings.note(entry.remembered.peer, entry.remembered.meeting) }
  }

  func perform(_ action: ReceiverEngine.Action) throws -> ReceiverWorker? {
    switch action {
    case .takeBack:
      // They hold locks, which only the worker and its results have from now on.
      defer { entries = [] }
      let worker = RecoveryWorker(setup: setup, entries: entries)
      return ReceiverWorker("recovery") { try worker.run() }
    case .listen: return ReceiverWorker("listening") { [setup, rememberedPort] in try setup.listen(rememberedPort) }
    case .announce:
      if let address = listener?.address { setup.helpers.announcer?.announce(address) }
      relay?.want(listener?.address)
    case .withdrawAnnouncement:
      setup.helpers.announcer?.withdraw()
      relay?.want(nil)
    case .tell(let event, let transfer, let number):
      let transfer = transfer.flatMap { transfers[$0] }
      setup.observer(event.placed { transfer?.place(of: $0, inPart: number) ?? $0 })
    case .tellProgress(let transfer, let phase, let total, let fraction):
      let arrived = transfers[transfer]?.arrived ?? Arrived()
      setup.tell(.progress(TransferProgress(phase, arrived, of: total, fraction: fraction)), of: transfer)
    case .finish(let result): self.result = result

    case .drop(let id):
      listener?.remove(id)
      served[id] = nil
    case .pauseAccepting(let moment): listener?.rest(until: setup.clock.instant(moment))
    case .greet(let id, let tlsUntil, let helloUntil):
      guard let socket = listener?.remove(id) else { throw Self.released }
      // Before its thread runs: the end of the run must find every connection.
      served[id] = try ServedConnection(id)
      let (tlsUntil, helloUntil) = (setup.clock.instant(tlsUntil), setup.clock.instant(helloUntil))
      return try pair(id) { worker, _ in worker.greet(socket, tlsUntil: tlsUntil, helloUntil: helloUntil) }
    case .awaitShare(let id, let moment): return try pair(id, moment) { $0.awaitShare(until: $1) }
    case .exchange(let id, let moment):
      guard let secret else { return try pair(id) { worker, _ in worker.turnAway(.notPairing) } }
      return try pair(id, moment) { $0.exchange(secret, until: $1) }
    case .keepProof(let id, let isRight, let moment):
      return try pair(id, moment) { $0.keepProof(isRight, until: $1) }
    case .confirm(let id, let moment): return try pair(id, moment) { $0.confirm(until: $1) }
    case .welcome(let id, let mode, let moment): return try pair(id, moment) { $0.welcome(mode, until: $1) }
    case .turnAway(let id, let reason, let place):
      return try pair(id) { worker, _ in worker.turnAway(reason, place: place) }
    case .refuseStream(let id, let close): return try pair(id) { worker, _ in worker.refuse(close) }
    case .dismiss(let id, let makesRoom): served[id]?.dismissal.dismiss(makesRoom: makesRoom)

    case .makeCode:
      // The slow derivation runs once a code, before the code is shown, and never while a connection waits for it.
      let code = setup.options.code ?? .random()
      return ReceiverWorker("code") { Report(.codeMade(.success(code)), bringing: .secret(try code.stretched())) }
    case .forgetCode: secret = nil
    case .ask(let question):
      // One question is asked at a time: the previous one has ended.
      questionEnding.clear()
      return ReceiverWorker("question") { [setup, questionEnding] in setup.ask(question, until: questionEnding) }
    case .withdrawQuestion: questionEnding.signal()

    case .converse(let id):
      if let connection = served.removeValue(forKey: id)?.take() { controls.add(id, connection) }
    case .say(let id, let message): controls.say(id, message)
    case .close(let id, let deadline), .hurryClosing(let id, let deadline): controls.close(id, until: deadline)

    case .judgePlan(let number, let id, let plan, let parts, let client):
      setup.tell(.transfer(id), of: id)
      return staging("judging", number, id) { try $0.judgePlan(plan, parts, from: client) }
    case .record(let number, let record):
      let port = listener?.address.port ?? 0
      return staging("record", number, record.transfer) { try $0.record(record, port: port) }
    case .stage(let number, let order):
      let counts = streams[number] ?? StreamCounts()
      streams[number] = counts
      return staging("staging", number, order.transfer) { try $0.stage(order, counts) }
    case .readLedger(let number):
      let part = try session(number).part
      return ReceiverWorker("ledger") { Report(.ledger(number, .success(part.nextLedgerPage()))) }
    case .dropItems(let number, let marks):
      let part = try session(number).part
      return ReceiverWorker("dropping") {
        part.staging.drop(marks)
        return Report(.dropped(number, nil))
      }
    case .serve(let id, let number, _):
      let (session, connection) = (try session(number), try connection(id))
      return ReceiverWorker("stream") { [setup] in
        session.receive(on: connection, setup)
        return nil
      }
    case .dial(let number, let addresses, let port): return dial(number, addresses, from: port)
    case .endDial(let number): dials[number]?.set()
    case .endStream(let id): served[id]?.dismissal.dismiss(makesRoom: false)
    case .sync(let number):
      let part = try session(number).part
      return ReceiverWorker("sync") {
        try part.syncer.run()
        return Report(.syncEnded(number, nil))
      }
    case .endSync(let number): sessions[number]?.part.syncer.stop()
    case .lookForData(let number):
      let moment = sessions[number]?.part.gate.lastLeft.map { setup.clock.seconds($0) }
      setup.post(.lookedForData(number, lastAt: moment, held: sessions[number]?.transfer.held ?? Tally()))
    case .shutGate(let number):
      try sessions[number]?.part.gate.shut()
      setup.post(.gateShut(number, nil))
    case .openGate(let number): sessions[number]?.part.gate.open()
    case .discardData(let number):
      sessions[number]?.part.gate.discard()
      streams[number]?.settle()
    case .closeGate(let number): sessions[number]?.part.gate.close()

    case .importItems(let id, let part, let finish, let unsent):
      if finish == nil { setup.tell(.transfer(id), of: id) }
      let conclusion = finish.flatMap { number, finish in
        sessions[number].map { (part: $0.part, streams: $0.streams, finish: finish) }
      }
      let worker = ImportWorker(
        setup: setup, transfer: transfer(id), part: part, conclusion: conclusion, unsent: unsent)
      return ReceiverWorker("import") { worker.run() }
    case .interruptImport(let id): transfer(id).interruptImport()
    case .note(let id): return tend(transfer(id)) { transfer, _ in transfer.noteProgress() }
    case .forget(let id): return forget(transfer(id))
    // An empty transfer.
    case .discard(let id): return forget(remove(id))
    case .release(let id):
      return tend(remove(id)) { transfer, setup in
        transfer.releaseStaging()
        _ = transfer.releaseEntry()
        // Old tombstones are removed here too, since no other moment recurs.
        if let store = setup.store { try? store.purge(at: store.time()) }
        CurrentProcess.returnFreeMemory()
      }
    case .retake(let id):
      let worker = RecoveryWorker(setup: setup)
      return ReceiverWorker("recovery") { try worker.retake(id) }
    }
    return nil
  }

  func keep(_ product: Product) {
    switch product {
    case .listening(let socket): listener = ConnectionListener(socket.take(), mayPair: setup.options.from)
    case .secret(let made): secret = made
    case .transfers(let known): for transfer in known { transfers[transfer.identifier] = transfer }
    case .part(let number, let transfer, let part, let isCompressible):
      if let session = sessions[number] { return session.begin(part) }
      sessions[number] = ReceiverSessionContext(
        of: transfer, isCompressible: isCompressible, part, streams[number] ?? StreamCounts())
    }
  }

  func note(_ event: Event) {
    switch event {
    case .stop: stoppedAt = stoppedAt ?? .now()
    case .departed(let id), .streamEnded(let id, _, _): served[id] = nil
    case .dialed(let number): dials[number] = nil
    default: break
    }
  }

  /// Releases the values of sessions that have ended; a late worker may have made them.
  func settle(with engine: ReceiverEngine) {
    relay?.meet(setup.meetings.secrets)
    sessions = sessions.filter { engine.isUnderWay($0.key) }
    streams = streams.filter { engine.isUnderWay($0.key) }
    setup.reservedRoom.keep(engine.reserving)
    watch.look(at: transfers.compactMap { identifier, transfer in transfer.entry.map { (identifier, $0) } })
  }

  /// Leaves the release of everything to a worker: it may be on a disk that does not respond.
  func end() {
    for connection in served.values { connection.dismissal.dismiss(makesRoom: false) }
    if stoppedAt != nil { setup.failedStreams.dismiss() }
    for session in sessions.values { session.halt() }
    for dial in dials.values { dial.set() }
    questionEnding.signal()
    relay?.end()
    watch.end()
    let rest = Handover((entries, transfers, sessions))
    (entries, transfers, sessions) = ([], [:], [:])
    try? setup.workers.start("last worker") { _ = rest.take() }
    deadline = setup.clock.instant(EndLimits.workers, after: stoppedAt ?? .now())
  }

  // MARK: Connections

  /// The worker of a step on a connection before READY, which ends at a moment.
  private func pair(
    _ id: ConnectionID, _ moment: Double = 0,
    _ step: @escaping @Sendable (PairingWorker, BootInstant) -> WorkerReport
  ) throws -> ReceiverWorker {
    let worker = PairingWorker(setup: setup, served: try connection(id))
    let deadline = setup.clock.instant(moment)
    return ReceiverWorker("connection") { step(worker, deadline) }
  }

  private func connection(_ id: ConnectionID) throws(Failure) -> ServedConnection {
    guard let connection = served[id] else { throw Self.released }
    return connection
  }

  // MARK: Sessions

  /// A session, which the engine names from `staged` to its end.
  private func session(_ number: SessionNumber) throws(Failure) -> ReceiverSessionContext {
    assert(sessions[number] != nil, "a session is here for as long as its workers")
    guard let session = sessions[number] else { throw Self.released }
    return session
  }

  /// Weighs a plan, records it, or stages a part of it, for a session.
  private func staging(
    _ name: String, _ number: SessionNumber, _ identifier: TransferID,
    _ body: @escaping @Sendable (PlanWorker) throws -> WorkerReport
  ) -> ReceiverWorker {
    let worker = PlanWorker(setup: setup, session: number, transfer: transfer(identifier))
    return ReceiverWorker(name) { try body(worker) }
  }

  /// Reaches the sender past the relay, if it has an address: each connection arrives as others do.
  private func dial(_ number: SessionNumber, _ addresses: [InternetAddress], from port: UInt16) -> ReceiverWorker {
    let (relay, stop) = (relay, StopSignal())
    dials[number] = stop
    return ReceiverWorker("dial") {
      let wakeup = try Wakeup()
      let waking = stop.waking(wakeup)
      defer { extendLifetime(waking) }
      let race = Race(
        addresses: addresses.map { SocketAddress($0) }, isRound: true, port: .shared(port),
        patience: DirectRounds.length,
        wakeup: wakeup, isStopped: { stop.isSet })
      if !stop.isSet, var running = try? Race.Running(race) {
        while let socket = try? running.next() { relay?.add(.reached(Handover(socket))) }
      }
      return Report(.dialed(number))
    }
  }

  /// The failure of work on something that this program has lost: a mistake of the program.
  private static var released: Failure { Failure(.failed, "the session was released while it was still running") }

  // MARK: Transfers

  /// The values that the workers of a transfer share; new values for a new transfer.
  private func transfer(_ identifier: TransferID) -> IncomingTransferContext {
    if let known = transfers[identifier] { return known }
    let new = IncomingTransferContext(identifier)
    transfers[identifier] = new
    return new
  }

  /// Gives the store a task about a transfer.
  private func tend(
    _ transfer: IncomingTransferContext, _ body: @escaping @Sendable (IncomingTransferContext, ReceiverSetup) -> Void
  ) -> ReceiverWorker {
    ReceiverWorker("store") { [setup] in
      body(transfer, setup)
      return Report(.noted(transfer.identifier))
    }
  }

  /// The sender knows the result of each part: nothing of one that has failed is needed.
  private func forget(_ transfer: IncomingTransferContext) -> ReceiverWorker {
    transfers[transfer.identifier] = nil
    return tend(transfer) { transfer, setup in
      transfer.removeStaging(setup.importers.area, in: setup.store)
      transfer.forget(in: setup.store)
      if setup.options.keeps { CurrentProcess.returnFreeMemory() }
    }
  }

  /// Removes a transfer with its sessions. The worker releases it: it may be on a disk that does not
  /// respond. A later session can take it back as soon as the worker has ended, also while a stream's
  /// last messages still hold the session.
  private func remove(_ identifier: TransferID) -> IncomingTransferContext {
    sessions = sessions.filter { $0.value.transfer.identifier != identifier }
    defer { transfers[identifier] = nil }
    return transfer(identifier)
  }

  // MARK: Arriving connections

  var interests: [Poller.Interest] {
    (listener?.interests() ?? []) + (relay.map { [Poller.Interest($0.noticed.raw, .readable)] } ?? [])
  }

  var nextArrival: BootInstant? { listener?.nextMoment }

  func takeArrivals(_ interests: ArraySlice<Poller.Interest>, _ report: (Event) -> Void) {
    if let relay, interests.last?.ready.isEmpty == false { for news in relay.take() { take(news, relay, report) } }
    for id in listener?.speaking(interests) ?? [] { look(at: id, report) }
    listener?.beginBatch()
    while let arrival = listener?.accept() {
      switch arrival {
      case .shortage: report(.outOfDescriptors(chance: .random(in: 0 ... .max)))
      case .connection(let id, let remote): arrive((id, remote), report)
      }
    }
  }

  private func take(_ news: RelayLink.News, _ relay: RelayLink, _ report: (Event) -> Void) {
    switch news {
    case .placed(let place): report(.placed(place))
    case .unplaced(let reason): report(.unplaced(reason))
    case .arrived(let socket, let caller, let own):
      arrive(listener?.add(socket.take(), at: caller, through: relay.access, own), report)
    case .reached(let socket): listener?.add(reached: socket.take())
    }
  }

  private func arrive(_ arrival: (id: ConnectionID, remote: Remote)?, _ report: (Event) -> Void) {
    guard let (id, remote) = arrival else { return }
    report(.arrived(id, remote, chance: .random(in: 0 ... .max)))
    look(at: id, report)
  }

  private func look(at id: ConnectionID, _ report: (Event) -> Void) {
    switch listener?.look(at: id) ?? .incomplete {
    case .incomplete: break
    case .complete:
      if let remote = listener?.takeReached(id) { report(.arrived(id, remote, chance: .random(in: 0 ... .max))) }
      report(.spoke(id))
    case .worthless:
      listener?.remove(id)
      if listener?.takeReached(id) == nil { report(.departed(id)) }
    }
  }
}
