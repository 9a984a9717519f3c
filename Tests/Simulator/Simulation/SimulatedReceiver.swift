import MigrationArchive
import MigrationEngine
import MigrationWire

/// One process of the receiver.
final class SimulatedReceiver: EngineDevice<ReceiverEngine, ReceiverMistakes> {
  typealias Engine = ReceiverEngine

  /// This process's record of a transfer.
  final class Transfer {
    let identifier: TransferID
    /// The newest part, and its staging directory.
    private(set) var part: UInt16 = 0
    private(set) var staging: Staging?
    /// How many of its refusals the engine knows.
    var told = 0
    /// The items that the newest session's sender has dropped.
    var dropped: Set<Mark> = []
    var isImporting = false
    /// Whether the user has stopped an import that can be undone.
    var isBrokenOff = false

    init(_ identifier: TransferID) { self.identifier = identifier }

    func staging(ofPart part: UInt16) -> Staging? { self.part == part ? staging : nil }

    func keep(_ staging: Staging, ofPart part: UInt16) { (self.staging, self.part, told) = (staging, part, 0) }

    func releaseStaging() { staging = nil }
  }

  let disk: SimulatedDisk
  private var lastConnection: UInt64 = 0
  /// Every connection of this process.
  var connections: [ConnectionID: SimulatedConnection] = [:]
  /// The worker of each connection.
  var hands: [ConnectionID: Worker] = [:]
  var spoken: Set<ConnectionID> = []
  var transfers: [TransferID: Transfer] = [:]
  var sessions: [SessionNumber: ReceiverSessionParts] = [:]
  var dials: [SessionNumber: Worker] = [:]
  /// The transfer and the newest part of each conversation, and the items of it that were refused.
  var talks: [ConnectionID: (transfer: TransferID, part: UInt16, refused: Set<NotStored>)] = [:]
  /// The key by which the other ends know this device.
  private(set) var key: UInt64 = 0
  var code: PairingCode?
  var question: Worker?
  var isSyncing = false
  var isWriting = false
  /// Until when no connection is accepted.
  private var pausedUntil = 0
  var hasImported = false
  var hasListened = false
  /// The transfers with data that could not be made durable.
  var unsynced: Set<TransferID> = []
  /// The items reported to this device's user as not stored.
  var toldRefused: Set<[UInt8]> = []
  /// How many proofs of a code this device's user knows to be compared, right and wrong ones.
  var comparisons = 0
  /// How many seconds a sender may stay away, and when the last message of one arrived.
  let patience: Double
  var lastHeard = 0.0
  /// The same, of each transfer.
  var lastHeardOf: [TransferID: Double] = [:]
  /// When the import last made progress; counted from the sender's last message.
  var importMovedAt: Int?

  init(_ scene: Scene) {
    disk = scene.disk
    let greeting = Greeting(role: .receiver, label: "", software: "", features: scene.features)
    var settings = Engine.Settings(greeting: greeting, giveUpAfter: scene.patience())
    settings.keeps = scene.keeps
    settings.atOnce = scene.atOnce
    settings.keepsPairings = scene.keepsPairings
    settings.asksConsent = scene.world.dice.one(in: 3)
    settings.asksRestart = scene.world.dice.one(in: 3)
    patience = settings.giveUpAfter
    super.init(Engine(settings), ReceiverMistakes(scene.mutation), scene, .receiver)
    disk.revive()
    disk.died = { [self] in die("in the middle of an operation") }
    disk.meanwhile = { [self] in meanwhile() }
    key = scene.receiverKey()
    world.note("the receiver starts, and waits \(settings.giveUpAfter) s")
  }

  // MARK: The engine

  override var runningWorkers: Int { workers.count + links.values.count(where: \.isClosing) }

  override func note(_ event: Engine.Event) { watch(event) }

  override func performed() {
    scene.checkNothingNew()
    checkPromptness(movedAt: importMovedAt)
  }

  override func perform(_ action: Engine.Action) {
    check(action)
    scene.acted(action.moment)
    switch action {
    case .takeBack: takeBack()
    case .listen: listen()
    // Discovery is no part of the simulated world; the engine's invariants check the times of
    // announcements.
    case .announce, .withdrawAnnouncement: break
    case .tell(let event, _, _): told(event)
    case .tellProgress: break
    case .finish(let result): finish(result)
    case .drop(let id): forget(id)
    case .pauseAccepting(let moment): pausedUntil = world.now + world.delay(until: moment)
    case .greet, .awaitShare, .exchange, .keepProof, .confirm, .welcome, .turnAway, .refuseStream, .dismiss:
      performAtDoor(action)
    case .makeCode: makeCode()
    case .forgetCode: scene.shownCode = nil
    case .ask(let asked): ask(asked)
    case .withdrawQuestion: question?.end()
    case .converse(let id): converse(id, connections[id])
    case .say(let id, let message): links[id]?.say(message)
    case .close(let id, let deadline), .hurryClosing(let id, let deadline): links[id]?.close(until: deadline)
    case .weigh, .record, .stage, .readLedger, .dropItems, .serve, .endStream, .dial, .endDial, .sync, .endSync,
      .lookForData, .shutGate,
      .openGate, .discardData, .closeGate:
      performInSession(action)
    case .importItems, .interruptImport, .note, .forget, .discard, .release, .retake: performForTransfer(action)
    }
  }

  // MARK: Connections

  private func listen() {
    let worker = begin("listen")
    run(after: world.dice.roll(1...500)) { [self] in
      if lacksThread { return end(worker) { [self] in feed(.listening(.failure(Fault(.device, "no port")))) } }
      end(worker) { [self] in
        guard !isFinished else { return }
        scene.network.accept = { [weak self] wire, host in self?.accept(wire, host) }
        feed(.listening(.success(Listening(addresses: ["10.0.0.1"], port: 1, isAnnounced: true))))
      }
    }
  }

  private func accept(_ wire: Wire, _ host: String) {
    lastConnection += 1
    let id = ConnectionID(lastConnection)
    let connection = SimulatedConnection(id, wire, .server, of: self)
    connections[id] = connection
    run(after: max(0, pausedUntil - world.now)) { [self] in
      guard !isFinished else { return connection.close() }
      if world.dice.one(in: 400) { feed(.outOfDescriptors(chance: world.dice.next())) }
      let relay = world.dice.one(in: 4) ? nil : scene.relay
      let remote = Remote(
        host: host, network: host, mayPair: scene.mayPair(host), relay: relay, own: relay == nil ? nil : scene.ownWays)
      feed(.arrived(id, remote, chance: world.dice.next()))
      guard connections[id] === connection, hands[id] == nil else { return }
      connection.read { [self] in lookAtLobby(connection) }
    }
  }

  /// A connection waits in the lobby for its first record, or its end.
  private func lookAtLobby(_ connection: SimulatedConnection) {
    let id = connection.id
    guard connections[id] === connection, hands[id] == nil, links[id] == nil else { return }
    if let first = connection.first, first != HandshakeMessage.Kind.clientHello.rawValue {
      forget(id)
      return feed(.departed(id))
    }
    if connection.count >= HandshakeMessage.size, spoken.insert(id).inserted { feed(.spoke(id)) }
    guard connections[id] === connection, hands[id] == nil, links[id] == nil else { return }
    if connection.isEnded {
      forget(id)
      feed(.departed(id))
    }
  }

  /// A connection has ended on this end.
  func forget(_ id: ConnectionID) {
    connections.removeValue(forKey: id)?.close()
    spoken.remove(id)
  }

  override func words(_ event: Engine.Event) -> String {
    guard case .weighed(let number, .success(let parts), let session, _) = event else { return "\(event)" }
    return "weighed(\(number), \(parts.sorted { $0.key < $1.key }), \(session))"
  }

  override func closed(_ id: ConnectionID) { forget(id) }

  // MARK: The user

  private func told(_ event: TransferEvent) {
    switch event.plain {
    case .code(let code, _, _): scene.shownCode = code
    case .notStored(let item, _) where !item.isOfSender:
      toldRefused.insert(item.path)
      scene.toldRefused[1].insert(item.path)
    case .paired(_, _, isKnown: false), .wrongCode: comparisons += 1
    case .done where scene.keeps: checkDone()
    case .failed(let failure):
      if case .of(let transfer, _) = event { checkFailed(failure, of: transfer) } else { checkFailed(failure, of: nil) }
    default: break
    }
  }

  private func makeCode() {
    let worker = begin("code")
    let code = PairingCode(number: UInt32(world.dice.roll(0...9_999_999)))
    run(after: world.dice.roll(100...20_000)) { [self] in
      let isMade = !lacksThread
      if isMade { self.code = code }
      end(worker) { [self] in
        feed(.codeMade(isMade ? .success(code) : .failure(Fault(.device, "no thread"))))
      }
    }
  }

  /// The user answers after a while, if the question is still open then.
  private func ask(_ asked: Engine.Question) {
    world.check(question == nil, "two questions are open at once")
    let worker = begin("question")
    question = worker
    let answer = { [self] (isWanted: Bool?) in
      guard question === worker else { return }
      question = nil
      end(worker) { [self] in feed(.answered(isWanted)) }
    }
    worker.whenTold = { answer(nil) }
    run(after: world.dice.roll(1_000...3_000_000)) { [self] in
      answer(scene.isCalm || !world.dice.one(in: 10))
    }
  }

  // MARK: The end

  private func finish(_ result: TransferOutcome) {
    world.note("the receiver ends: \(result)")
    checkEnd(result)
    finish()
    scene.network.accept = nil
    scene.shownCode = nil
  }

  override func letGo() {
    super.letGo()
    for session in sessions.values { session.streams = [] }
    (connections, hands, dials) = ([:], [:], [:])
    (transfers, sessions, question) = ([:], [:], nil)
  }

  override func gone() {
    scene.network.accept = nil
    scene.shownCode = nil
    let isImporting = transfers.values.contains(where: \.isImporting)
    // A worker that waits for the disk ends with its process.
    disk.kill()
    for connection in connections.values.sorted(by: { $0.id < $1.id }) {
      if isFinished { connection.close() } else { connection.abandon() }
    }
    connections = [:]
    scene.checkNothingNew()
    scene.receiverIsGone(whileImporting: isImporting && !isFinished)
  }
}
