import MigrationArchive
import MigrationDiscovery
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Performs the sender's actions.
final class SenderPerformer: Performer {
  typealias Decider = SenderEngine
  typealias Event = SenderEngine.Event
  typealias WorkerReport = Report<Event, Product>
  typealias SenderWorker = Worker<Event, Product>

  enum Product: Sendable {
    /// The transfers that earlier runs began.
    case unfinished([TransferID: OutgoingTransferContext])
    /// The devices that a search has found, in the engine's order.
    case nearby([NearbyDevice])
    /// The receiver's addresses, beginning with the address that answered first.
    case addresses([SocketAddress])
    case pairing(Dial.PairingKeys)
    case met(Dial.MetReceiver)
    /// The place that the user has typed in front of the code.
    case place(RelayPlace?)
  }

  let setup: SenderSetup
  private var answers: [Event] = []
  var controls = ControlConnections(LoopClock())
  var result: TransferOutcome?
  private let walkStop = StopSignal()
  /// Ends the wait for the user's answer.
  private let unasked: Wakeup
  /// Ends the running worker of `look`, `probe` or `dial` when it is set.
  private var dialStop: StopSignal?
  private var lastConnection: UInt64 = 0

  private var pairing: Dial.PairingKeys?
  private var nearby: [NearbyDevice] = []
  private var probed: [SocketAddress] = []
  /// Whether those are a relay's, and the place there that the user has typed.
  private var isRelayProbed = false
  private var typedPlace: RelayPlace?
  private var transfers: [TransferID: OutgoingTransferContext] = [:]
  /// The receiver that the last successful dial has reached.
  private var met: Dial.MetReceiver?
  /// The ledger of a session, until its export begins.
  private var held: [SessionNumber: HeldItems] = [:]
  private var sessions: [SessionNumber: SenderSessionContext] = [:]

  private let watch: ForgettingWatch?

  init(_ setup: SenderSetup) throws(SystemError) {
    self.setup = setup
    unasked = try Wakeup()
    watch = try? ForgettingWatch { _ in setup.post(.forgotten) }
  }

  func perform(_ action: SenderEngine.Action) throws -> SenderWorker? {
    switch action {
    case .walk: return walk()
    case .lookUpUnfinished:
      return SenderWorker("look up") { [setup] in try OutgoingTransferContext.lookUp(setup) }
    case .choose(let found):
      return SenderWorker("question") { [setup, unasked] in
        Report(.chosen(.success(try setup.choice(found, unasked.raw))))
      }
    case .askCode(let device):
      return SenderWorker("question") { [setup, unasked] in
        let typed = try setup.code(device, unasked.raw)
        return Report(.codeEntered(.success(typed.code)), bringing: .place(typed.place))
      }
    case .stopPreparing:
      walkStop.set()
      unasked.signal()
    case .deriveSecret(let code):
      return SenderWorker("derive") { [store = setup.store] in
        let tries = try store.map { try CodeTries(of: code, in: $0) }
        let keys = Dial.PairingKeys(secret: try code.stretched(), identity: try Identity.generate(), tries: tries)
        return Report(.derived(nil), bringing: .pairing(keys))
      }
    case .tell(let event, let part):
      setup.observer(event.placed { setup.sources[Int(part)].places?.place(of: $0) ?? $0 })
    case .tellProgress(let number, let phase, let total, let fraction):
      let arrived = sessions[number]?.queue.progress ?? Arrived()
      setup.observer(.progress(TransferProgress(phase, arrived, of: total, fraction: fraction)))
    case .finish(let result): self.result = result

    case .look: return look()
    case .probe(let place):
      // No earlier transfer continues here: others may take it, and this run may greet its device.
      transfers = [:]
      return probe(place)
    case .dial(let purpose, let place): return dial(purpose, at: place)
    case .stopDialing: dialStop?.set()

    case .converse(let id): if let connection = met?.connection.takeIfThere() { controls.add(id, connection) }
    case .say(let id, let message): controls.say(id, message)
    case .close(let id, let deadline), .hurryClosing(let id, let deadline): controls.close(id, until: deadline)

    case .beginLedger(let number): held[number] = HeldItems()
    case .keepHeld(let number, let page): held[number, default: HeldItems()].add(page)
    case .keepPartial(let number, let partial): held[number, default: HeldItems()].add(partial)
    case .recordPlan(let number, let record):
      setup.observer(.transfer(record.transfer))
      guard let met else { preconditionFailure("a session begins when the receiver is met") }
      transfers[record.transfer] = met.transfer
      return SenderWorker("remember") { [setup] in
        try met.transfer.remember(record, setup)
        return Report(.planRecorded(number, record.transfer, nil))
      }
    case .export(let number, let order): return export(number, order)
    case .abandonExport(let number): sessions[number]?.queue.abandonPart()
    case .openStream(let number, let join, let attempts, let route):
      return try openStream(number, join, attempts, route)
    case .moveFrames(let number, let lost, let replacement): sessions[number]?.queue.lost(lost, replacedBy: replacement)
    case .retire(let number, let stream): sessions[number]?.queue.retire(stream)
    case .forgetStream(let number, let stream): sessions[number]?.queue.ended(stream)
    case .refuse(let number, let mark): sessions[number]?.queue.refuse(mark)
    case .finishWindow(let number): sessions[number]?.queue.finish()
    case .stopSession(let number): sessions[number]?.queue.stop()
    case .readWindow(let number): answers.append(.window(number, sessions[number]?.queue.counts() ?? .init()))

    // If the disk does not take the record of a transfer, the old record stays.
    case .noteFinish(let number, let id, let part, let finish):
      let transfer = transfers[id]
      // Items without content take time as well.
      transfer?.traffic.begin()
      return SenderWorker("remember") {
        transfer?.note(finish.unsent, \.unsent, ofPart: part)
        return Report(.finishNoted(number, id, nil))
      }
    case .recordDone(let id, let part, let done, let refusals):
      let transfer = transfers[id]
      transfer?.traffic.end()
      let traffic = transfer?.traffic.amount ?? Traffic()
      return SenderWorker("remember") {
        Report(.recorded(id, traffic, isWritten: transfer?.finish(part, done, naming: refusals) ?? true))
      }
    case .note(let id, let arrived, let total, let address):
      return SenderWorker("remember") { [transfer = transfers[id]] in
        transfer?.update { remembered in
          if arrived != Tally() { remembered.held = arrived }
          remembered.total = total
          remembered.address = address
          remembered.lastSeen = Timestamp.coarseNow().seconds
        }
        return Report(.noted(id))
      }
    case .forget(let id):
      return SenderWorker("remember") { [transfer = transfers.removeValue(forKey: id)] in
        transfer?.forget()
        return Report(.forgot(id))
      }
    }
    return nil
  }

  func takeAnswers() -> [Event] {
    defer { answers = [] }
    return answers
  }

  func keep(_ product: Product) {
    switch product {
    case .unfinished(let known): transfers = known
    case .nearby(let devices): nearby = devices
    case .addresses(let addresses): probed = addresses
    case .pairing(let keys): pairing = keys
    case .met(let receiver):
      met = receiver
      // The code works once: its secret is wiped.
      pairing = nil
      // The dial has shown which of several transfers is meant.
      transfers = transfers.filter { $0.value === receiver.transfer }
    case .place(let place): typedPlace = place
    }
  }

  func note(_ event: ControlLink.Event) {
    switch event {
    // The same code ends a session that gives way or waits: then everything has arrived there.
    case .received(.close(let close), isUnheard: true) where close.code == .silent:
      met?.transfer.hasFallenSilent.set()
    case .broke(_, isSilent: true): met?.transfer.hasFallenSilent.set()
    case .received, .broke, .drained, .closed: break
    }
  }

  /// Looks whether the user forgets the receiver, from the record of the plan on.
  func settle(with engine: SenderEngine) {
    watch?.look(at: CollectionOfOne(met?.transfer.watched).compactMap { $0.map { (0, $0) } })
  }

  func end() {
    walkStop.set()
    unasked.signal()
    watch?.end()
    dialStop?.set()
    for session in sessions.values { session.queue.stop() }
  }

  // MARK: Before a session

  private func walk() -> SenderWorker {
    let (setup, sources, stop) = (setup, setup.sources, walkStop)
    return SenderWorker("walk") {
      let summaries = try setup.identified(try sources.map { try $0.prepare(until: stop) })
      // As long as a later one, which names the transfer.
      guard Plan(summaries.map { Part($0) }, continuing: 0).fits else {
        throw Failure(
          .source, "there are too many sources for one transfer", hint: "Send the folder that they are in.")
      }
      return Report(.walked(.success(summaries)))
    }
  }

  private func look() -> SenderWorker {
    let (search, stop) = (setup.search, renewDialStop())
    return SenderWorker("look") {
      let devices =
        try search?.look(for: SenderEngine.searchLength, unless: stop).filter { !$0.addresses.isEmpty } ?? []
      let known = devices.map {
        DeviceAddress(
          name: $0.label, host: $0.addresses[0].hostDescription, port: $0.addresses[0].port, instance: $0.instance)
      }
      return Report(.found(.success(known), spread: .random(in: 0...1)), bringing: .nearby(devices))
    }
  }

  private func probe(_ place: SenderEngine.DialTarget) -> SenderWorker {
    let label: String? =
      switch (place, setup.options.target) {
      case (.found(let index), _): nearby[index].label
      case (_, .host(_, let label)): label
      case (_, .nearby), (_, .relay): nil
      }
    isRelayProbed = place == .relay || setup.options.target == .relay
    let probe = Probe(route: route(to: place), label: label, stop: renewDialStop())
    return SenderWorker("probe") { probe.run() }
  }

  private func dial(_ purpose: SenderEngine.Purpose, at place: SenderEngine.DialTarget) -> SenderWorker {
    // The previous session has ended.
    sessions = [:]
    held = [:]
    lastConnection += 1
    let keys: Dial.Keys
    switch purpose {
    case .pair:
      guard let pairing else { preconditionFailure("the secret is derived before there is a connection") }
      keys = .pairing(pairing)
      met?.transfer.letOthersIn()
    case .resume(let id):
      if let id { setup.observer(.transfer(id)) }
      guard let transfer = id.map({ transfers[$0] }) ?? met?.transfer else {
        preconditionFailure("a transfer is known before it is continued")
      }
      keys = .transfer(transfer)
    case .greet(let receiver): keys = .device(receiver)
    }
    let dial = Dial(
      connection: ConnectionID(lastConnection), route: route(to: place), keys: keys, stop: renewDialStop())
    let setup = setup
    return SenderWorker("dial") { dial.run(setup) }
  }

  private func renewDialStop() -> StopSignal {
    let stop = StopSignal()
    dialStop = stop
    return stop
  }

  /// The addresses of a place.
  private func route(to place: SenderEngine.DialTarget) -> Dialing.Route {
    let relay = setup.options.relay
    switch (place, setup.options.target) {
    case (.probed, _):
      // The code's form says which is meant.
      guard let relay, isRelayProbed || typedPlace != nil else { return .known(probed) }
      return .relayed(relay, typedPlace)
    case (.found(let index), _): return .known(nearby[index].addresses)
    case (.address(let text), _):
      guard let relay, RelayAccess.isAddress(text) else { return .remembered(text) }
      return .relayed(relay, nil)
    case (.target, .host(let host, _)): return .resolved(host, first: met?.address)
    case (.relay, _), (.target, .relay):
      guard let relay else { preconditionFailure("a relay is known before it is dialled") }
      return .relayed(relay, nil)
    case (.target, .nearby): preconditionFailure("a target is a host that the user has named")
    }
  }

  // MARK: A session

  /// Begins the export of a part, and creates the values that the session's workers share.
  private func export(_ number: SessionNumber, _ order: SenderEngine.ExportOrder) -> SenderWorker {
    let session = session(number, order)
    session.queue.beginPart(
      of: order.summary.isEstimate ? nil : order.summary.total.bytes, isCompressible: order.isCompressible)
    let held = held.removeValue(forKey: number) ?? HeldItems()
    let setup = setup
    return SenderWorker("export") {
      Report(.exported(number, .success(try session.export(order, without: held, setup))))
    }
  }

  private func session(_ number: SessionNumber, _ order: SenderEngine.ExportOrder) -> SenderSessionContext {
    if let session = sessions[number] { return session }
    guard let met else { preconditionFailure("a session begins when the receiver is met") }
    let setup = setup
    let session = SenderSessionContext(
      number: number, transfer: met.transfer, context: met.context, address: met.address,
      relay: met.relay.flatMap { relay in
        met.transfer.meeting.map { RelayCalling(access: relay, errand: .meet(RelayMeeting(ofSecret: $0))) }
      }, port: met.own?.port,
      queue: SendQueue(window: order.window, limit: setup.options.limit) { unsent in
        setup.post(.unsent(number, unsent))
      }, compression: setup.options.compression)
    sessions[number] = session
    return session
  }

  private func openStream(
    _ number: SessionNumber, _ join: Join, _ attempts: Int, _ route: SenderEngine.StreamRoute
  ) throws -> SenderWorker {
    guard let session = sessions[number] else { preconditionFailure("streams are opened when the export has begun") }
    let wakeup = try Wakeup()
    // Before its thread runs: a stop finds it.
    session.queue.register(join.stream, wakeup)
    let setup = setup
    return SenderWorker("stream \(join.stream)") {
      Report(.streamEnded(number, join.stream, session.carry(join, by: route, wakeup, attempts: attempts, setup)))
    }
  }
}
