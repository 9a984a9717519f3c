import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The receiver's loop: reports events to the engine, and performs its actions. Its thread waits
/// only for its poll.
struct ReceiverLoop: ~Copyable {
  typealias Event = ReceiverEngine.Event
  typealias Action = ReceiverEngine.Action

  /// How a run has ended, and until when its workers are waited for.
  struct End: Sendable {
    let result: Result<TransferResult, TransferFailure>
    let deadline: BootInstant
  }

  let setup: ReceiverSetup
  private var engine: ReceiverEngine
  private var poller: Poller
  var result: Result<TransferResult, TransferFailure>?
  private var stoppedAt: BootInstant?

  // MARK: The door

  var entrance: Entrance?
  /// Where an unfinished transfer's sender expects this device.
  let rememberedPort: UInt16?
  var names: RemoteNames
  /// The connections that workers serve, or that rest between two of them.
  var served: [ConnectionID: ServedConnection] = [:]
  /// Those in the lobby of which the last wait found more.
  private var speaking: [ConnectionID] = []
  /// Whether more may have come than was taken.
  private var isAccepting = false
  /// The secret of the code that was made last.
  var secret: PairingSecret?
  /// Ends the waiting for an answer of the user.
  let questionEnding: Wakeup

  // MARK: Sessions and transfers

  var controls: ControlConnections
  var sessions: [SessionNumber: ReceivingSession] = [:]
  /// The findings of an examination's worker, until the offer is staged.
  var judged: [SessionNumber: JudgedOffer] = [:]
  var transfers: [TransferID: ReceivingTransfer] = [:]
  /// The unfinished transfers of earlier runs, until a session takes them back.
  var entries: [RememberedEntry]

  private init(_ setup: ReceiverSetup, _ handover: Handover<[RememberedEntry]>) throws(SystemError) {
    let entries = handover.take()
    let ending = try Wakeup()
    let poller = try Poller(ofLoop: true)
    self.poller = poller
    questionEnding = ending
    self.setup = setup
    self.entries = entries
    rememberedPort = entries.first?.remembered.destination?.port
    engine = ReceiverEngine(setup.settings)
    names = RemoteNames(mayPair: setup.options.from)
    controls = ControlConnections(setup.clock)
  }

  /// Runs to the end, on a thread that is the loop's alone.
  static func run(_ setup: ReceiverSetup, _ entries: Handover<[RememberedEntry]>) -> End {
    do throws(SystemError) {
      var loop = try ReceiverLoop(setup, entries)
      LoopThread.enter()
      return loop.run()
    } catch {
      return End(result: .failure(Fault(error).failure), deadline: .now())
    }
  }

  private mutating func run() -> End {
    feed(.begin)
    while true {
      if let result { return end(result) }
      do throws(SystemError) {
        try wait()
      } catch {
        return end(.failure(Fault(error).failure))
      }
      takeReports()
      hearLobby()
      acceptArrivals()
      if let due = engine.nextMoment, due <= setup.clock.now { feed(.timePassed) }
      converse()
    }
  }

  /// Reports an event to the engine, and performs its actions in their order.
  mutating func feed(_ event: Event) {
    if result != nil { return }
    for action in engine.handle(event, now: setup.clock.now) { perform(action) }
    forgetSessions()
  }

  /// Releases the values of sessions that have ended; a late worker may have made them.
  private mutating func forgetSessions() {
    sessions = sessions.filter { engine.isUnderWay($0.key) }
    judged = judged.filter { engine.isUnderWay($0.key) }
  }

  /// Tells every worker to end soon, and leaves the rest to one of them: the released values may be
  /// on a disk that stands still.
  private mutating func end(_ result: Result<TransferResult, TransferFailure>) -> End {
    for connection in served.values { connection.dismissal.dismiss(makesRoom: false) }
    if stoppedAt != nil { setup.farewells.dismiss() }
    for session in sessions.values { session.halt() }
    questionEnding.signal()
    let rest = Handover((entries, transfers, sessions))
    (entries, transfers, sessions) = ([], [:], [:])
    try? setup.workers.start("last worker") { _ = rest.take() }
    return End(
      result: result, deadline: setup.clock.instant(Curfew.atTheEnd, after: stoppedAt ?? .now()))
  }

  // MARK: What happens

  private mutating func wait() throws(SystemError) {
    var interests = [Poller.Interest(setup.queue.wakeup.raw, .readable)]
    if let arrivals = entrance?.interest { interests.append(arrivals) }
    let first = interests.count
    let visitors = entrance?.lobby.incomplete ?? []
    interests += visitors.map { Poller.Interest($0.raw, .readable) }
    interests += controls.interests
    _ = try poller.wait(&interests, until: deadline())
    speaking = visitors.indices.filter { !interests[first + $0].ready.isEmpty }.map { visitors[$0].id }
  }

  /// When there is something to do though nothing comes.
  private mutating func deadline() -> BootInstant? {
    if isAccepting || controls.mayHaveMore { return .now() }
    let moments = [engine.nextMoment, controls.nextMoment].compactMap { $0 }.filter(\.isFinite)
    return [moments.min().map { setup.clock.instant($0) }, entrance?.nextMoment].compactMap { $0 }.min()
  }

  private mutating func takeReports() {
    for report in setup.queue.take() {
      if let product = report.product { keep(product) }
      switch report.event {
      case .stop: stoppedAt = stoppedAt ?? .now()
      case .departed(let id), .streamEnded(let id, _, _): served[id] = nil
      default: break
      }
      feed(report.event)
    }
  }

  private mutating func keep(_ product: WorkerReport.Product) {
    switch product {
    case .listening(let socket): entrance = Entrance(socket.take())
    case .secret(let made): secret = made
    case .transfers(let known): for transfer in known { transfers[transfer.identifier] = transfer }
    case .judgement(let session, let offer): judged[session] = offer
    case .session(let session): sessions[session.number] = session
    }
  }

  private mutating func acceptArrivals() {
    isAccepting = false
    for _ in 0..<Entrance.batch {
      switch entrance?.accept() ?? .nothing {
      case .nothing: return
      case .shortage: feed(.outOfDescriptors(chance: .random(in: 0 ... .max)))
      case .connection(let id, let address):
        feed(.arrived(id, names.remote(at: address), chance: .random(in: 0 ... .max)))
        look(at: id)
      }
    }
    isAccepting = true
  }

  private mutating func hearLobby() {
    for id in speaking { look(at: id) }
    speaking = []
  }

  private mutating func look(at id: ConnectionID) {
    guard entrance?.lobby.contains(id) == true, let look = entrance?.lobby.look(at: id) else { return }
    switch look {
    case .incomplete: break
    case .complete: feed(.spoke(id))
    case .worthless:
      _ = entrance?.lobby.remove(id)
      feed(.departed(id))
    }
  }

  private mutating func converse() {
    for (id, news) in controls.step() {
      switch news {
      case .received(let message): feed(.received(id, message))
      case .broke(let fault, _): feed(.broke(id, fault))
      case .drained: feed(.drained(id))
      case .closed: feed(.closed(id))
      }
    }
  }
}
