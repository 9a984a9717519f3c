import MigrationArchive
import MigrationEngine
import MigrationTransfer
import MigrationWire

/// One process of the sender.
final class SimulatedSender: EngineDevice<SenderEngine, SenderMistakes> {
  typealias Engine = SenderEngine

  /// The key of this device, and the key that it expects.
  struct Identity {
    let key: UInt64
    var receiver: UInt64
  }

  private var lastConnection: UInt64 = 0
  /// The connections at READY that the engine knows.
  var connections: [ConnectionID: SimulatedConnection] = [:]
  var sessions: [SessionNumber: SenderSessionParts] = [:]
  /// The tree and the roots of each part.
  var walks: [(tree: SourceTree, roots: [SimulatedDirectory])] = []
  /// When the source was listed.
  private(set) var listed = 0
  /// The keys that this process pairs with, and those of the transfers that it continues.
  var paired: Identity
  var identities: [TransferID: Identity] = [:]
  var dialer: Worker?
  /// The items reported to this device's user as not stored.
  private(set) var toldRefused: Set<[UInt8]> = []
  /// Those of them that the source no longer had at the export.
  private(set) var goneRefused: Set<[UInt8]> = []
  private var refusedItems: [[UInt8]: NotStored] = [:]
  private var preparers: [Worker] = []
  private(set) var code: UInt64 = 0
  /// Whether this process has proved a code.
  private var hasProved = false
  /// Whether another process acts for the same transfer.
  var hasTwin = false
  /// Whether another device had the receiver's address.
  var hasMetStranger = false
  /// Whether the receiver has sent the reason of its end.
  private(set) var isTold = false
  /// The newest verdict, the part that is offered, and those taken that have no result yet.
  var verdict: Verdict?
  /// The receiver's process that has judged.
  private(set) var judge: ObjectIdentifier?
  var offered: UInt16?
  var pending: Set<UInt16> = []
  /// The parts whose DONE the newest session has brought, and those of them that this process could
  /// not record.
  var heardDone: Set<UInt16> = []
  var unwritten: Set<UInt16> = []
  /// Whether it has reported a result that lacks parts.
  private(set) var lacksParts = false
  let began: Int

  /// How many seconds the receiver may stay away, and when this sender last made progress.
  let patience: Double
  var lastProgress: Double
  /// The results of the last search: the receiver's address then, or nil for another device.
  var found: [String?] = []
  /// The device at the place that was last probed.
  var probed = DialedDevice.receiver
  /// Whether the two devices know each other: only then is a lost connection restored.
  var isReturning = false

  init(_ scene: Scene) {
    let dice = scene.world.dice
    let greeting = Greeting(role: .sender, label: "", software: "", features: scene.features)
    patience = scene.patience()
    lastProgress = scene.world.seconds
    began = scene.world.now
    var settings = Engine.Settings(
      greeting: greeting, target: dice.one(in: 3) ? nil : "10.0.0.1",
      streams: dice.one(in: 2) ? nil : UInt32(dice.roll(1...4)),
      giveUpAfter: patience)
    settings.keepsPairing = scene.keepsPairings
    paired = Identity(key: dice.next() | 1, receiver: 0)
    super.init(Engine(settings), SenderMistakes(scene.mutation), scene, .sender)
    world.note("the sender starts")
  }

  // MARK: The engine

  /// An event in words that are the same in each run; the order of a dictionary is not.
  override func words(_ event: Engine.Event) -> String {
    guard case .window(let session, var counts) = event else { return "\(event)" }
    let frames = counts.framesOfStream.sorted { $0.key < $1.key }
    counts.framesOfStream = [:]
    return "window(\(session), \(counts), \(frames))"
  }

  override func note(_ event: Engine.Event) {
    scene.check(event.fault, at: .sender, of: self)
    noteRefused(event)
    switch event {
    case .received(_, .close(let close)): if close.code != .silent { isTold = true }
    case .received(_, .verdict(let verdict)):
      self.verdict = verdict
      judge = scene.receiver.map(ObjectIdentifier.init)
      (heardDone, unwritten) = ([], [])
      pending = Set(
        verdict.parts.indices.filter { if case .taken = verdict.parts[$0] { true } else { false } }.map { UInt16($0) })
    case .received(_, .failed(let failed)): pending.remove(failed.part)
    case .received(_, .done):
      guard let offered else { break }
      heardDone.insert(offered)
      pending.remove(offered)
    case .recorded(_, _, isWritten: false): if let offered { unwritten.insert(offered) }
    default: break
    }
  }

  override func performed() { checkPromptness() }

  /// The list of items reported as not stored begins anew with each ledger, and the source may no
  /// longer have some of them.
  private func noteRefused(_ event: Engine.Event) {
    switch event {
    case .received(_, .heldEnd):
      toldRefused = toldRefused.filter { scene.part(of: $0) != offered }
      goneRefused = goneRefused.filter { scene.part(of: $0) != offered }
      refusedItems = [:]
    case .received(_, .notStored(let item)): refusedItems[item.path] = item
    // Items that the sender itself leaves out for that reason are in the archive.
    case .unsent(_, let item): if item.reason.party == .destination { refusedItems[item.path] = nil }
    case .exported(let number, .success(let exported)):
      guard let keys = sessions[number]?.order?.accept.keys else { return }
      let stale = Set(exported.stale)
      for (path, item) in refusedItems where item.mark(keys).map(stale.contains) == true {
        goneRefused.insert(path)
        scene.goneRefused.insert(path)
      }
    default: break
    }
  }

  override func perform(_ action: Engine.Action) {
    check(action)
    scene.acted(action.moment)
    switch action {
    case .walk: walk()
    case .lookUpUnfinished: lookUp()
    case .look: look()
    case .choose(let found): choose(found)
    case .probe(let place):
      isReturning = false
      probe(at: place)
    case .askCode: askCode()
    case .deriveSecret(let code): derive(code)
    case .stopPreparing: for worker in preparers { worker.end() }
    case .tell(.notStored(let item, _), _) where !item.isOfSender:
      toldRefused.insert(item.path)
      scene.toldRefused[0].insert(item.path)
    case .tell(.done(let result), _):
      lacksParts = result.failedParts > 0
      if !lacksParts { scene.senderIsContent(self) }
    case .tell, .tellProgress: break
    case .finish(let result): finish(result)
    case .dial(let purpose, let place):
      isReturning = purpose != .pair
      dial(purpose, at: place)
    case .stopDialing: dialer?.end()
    case .converse(let id): converse(id, connections[id])
    case .say(let id, let message): links[id]?.say(message)
    case .close(let id, let deadline), .hurryClosing(let id, let deadline): links[id]?.close(until: deadline)
    case .beginLedger, .keepHeld, .keepPartial, .recordPlan, .export, .abandonExport, .openStream, .moveFrames, .retire,
      .forgetStream, .refuse, .finishWindow, .stopSession, .noteFinish, .readWindow:
      performInSession(action)
    case .recordDone(let transfer, let part, let done, let refusals): record(transfer, part, done, refusals)
    case .note(let transfer, _, _, _): note("note", .noted(transfer)) {}
    case .forget(let transfer):
      note("forget", .forgot(transfer)) { [self] in
        // A twin forgets its copy of the record; the other one's record of each DONE stays.
        let isDone = scene.entriesAtSender.contains {
          $0.transfer == transfer && $0.parts.allSatisfy { $0.done != nil }
        }
        if !(hasTwin && isDone) { scene.forgetAtSender(transfer) }
      }
    }
  }

  // MARK: Preparing

  private func prepare(_ name: StaticString, _ delay: Int, _ body: @escaping (_ isTold: Bool) -> Engine.Event) {
    let worker = begin(name)
    preparers.append(worker)
    var isOver = false
    let finish = { [self] (isTold: Bool) in
      guard !isOver else { return }
      isOver = true
      let event = body(isTold)
      preparers.removeAll { $0 === worker }
      end(worker) { [self] in feed(event) }
    }
    worker.whenTold = { finish(true) }
    onDisk(after: delay) { finish(false) }
  }

  /// Chooses one of the devices that a search has found: mostly the receiver.
  private func choose(_ nearby: [DeviceAddress]) {
    prepare("choose", world.dice.roll(1_000...1_000_000)) { [self] isTold in
      if isTold || lacksThread { return .chosen(.failure(TransferFailure(.interrupted, "interrupted"))) }
      let right = found.firstIndex { $0 != nil } ?? 0
      return .chosen(.success(world.dice.one(in: 5) ? world.dice.roll(0...nearby.count - 1) : right))
    }
  }

  private func walk() {
    prepare("walk", world.dice.roll(1...20_000)) { [self] isTold in
      if isTold || lacksThread { return .walked(.failure(Fault(.device, "the walk was stopped"))) }
      listed = world.now
      walks = scene.parts.map { scene.source.walk($0.map(\.name)) }
      return .walked(
        .success(
          zip(scene.parts, walks).map { roots, walk in
            SourceSummary(contents: .folders(roots), total: walk.tree.total, allocated: walk.tree.allocated)
          }))
    }
  }

  private func lookUp() {
    prepare("look up", world.dice.roll(1...5_000)) { [self] isTold in
      if lacksThread { return .lookedUp(.failure(Fault(.device, "no thread"))) }
      for entry in scene.entriesAtSender {
        identities[entry.transfer] = Identity(key: entry.key, receiver: entry.receiver)
      }
      return .lookedUp(
        .success(
          scene.entriesAtSender.map {
            Engine.UnfinishedTransfer(
              identifier: $0.transfer, receiver: KeyFingerprint(number: $0.receiver), address: scene.lastAddress,
              parts: $0.parts.map { .init(unsent: $0.unsent, done: $0.done, refusals: $0.notStored) })
          }),
        devices: scene.keptAtSender.map {
          [Engine.KnownDevice(receiver: KeyFingerprint(number: $0.receiver), host: "10.0.0.1", label: "")]
        } ?? [])
    }
  }

  /// The user reads the code from the other device, sooner or later, and may misread it.
  private func askCode() {
    let worker = begin("ask the code")
    preparers.append(worker)
    var isOver = false
    let answer = { [self] (result: Result<PairingCode, TransferFailure>) in
      guard !isOver else { return }
      isOver = true
      preparers.removeAll { $0 === worker }
      end(worker) { [self] in feed(.codeEntered(result)) }
    }
    worker.whenTold = { answer(.failure(TransferFailure(.interrupted, "interrupted"))) }
    waitForCode(60) { answer($0) }
  }

  private func waitForCode(_ left: Int, _ body: @escaping (Result<PairingCode, TransferFailure>) -> Void) {
    run(after: world.dice.one(in: 6) ? world.dice.roll(1_000...1_000_000) : world.dice.roll(100...10_000)) { [self] in
      if let shown = scene.shownCode {
        let isMistaken = !scene.isCalm && world.dice.one(in: 8)
        body(.success(isMistaken ? PairingCode(number: UInt32(world.dice.roll(0...9_999_999))) : shown))
      } else if left == 0, world.now > 60_000_000 || world.dice.one(in: 4) {
        body(.failure(TransferFailure(.pairing, "the user has no code")))
      } else {
        waitForCode(max(0, left - 1), body)
      }
    }
  }

  private func derive(_ code: PairingCode) {
    let worker = begin("derive")
    run(after: world.dice.roll(1...5_000)) { [self] in
      self.code = code.number
      let fault =
        lacksThread
        ? Fault(.device, "no thread")
        : scene.codes.isUsedUp(code.number) ? Fault(.pairing, "the code is used up") : nil
      end(worker) { [self] in feed(.derived(fault)) }
    }
  }

  /// Spends a try of the code, unless none is left.
  func spendTry() -> Bool {
    guard scene.codes.spend(code) else { return false }
    world.check(!scene.codes.isBroken, "a code was proved too often")
    world.check(!hasProved, "one run proves a code twice")
    hasProved = true
    return true
  }

  // MARK: The control connection

  func newConnection(_ wire: Wire) -> SimulatedConnection {
    lastConnection += 1
    return SimulatedConnection(ConnectionID(lastConnection), wire, .client, of: self)
  }

  override func closed(_ id: ConnectionID) { connections[id] = nil }

  override var spread: Double { Double(world.dice.next() >> 11) / Double(1 << 53) }

  // MARK: Records

  private func note(_ name: StaticString, _ event: Engine.Event, _ body: @escaping () -> Void) {
    let worker = begin(name)
    onDisk(after: world.dice.roll(1...1_000)) { [self] in
      body()
      end(worker) { [self] in feed(event) }
    }
  }

  private func record(_ transfer: TransferID, _ part: UInt16, _ done: Done, _ refusals: [NotStored]) {
    let worker = begin("record")
    onDisk(after: world.dice.roll(1...3_000)) { [self] in
      let isWritten = !lacksThread
      if isWritten { scene.recordDone(transfer, part, done, refusals) }
      end(worker) { [self] in feed(.recorded(transfer, Traffic(), isWritten: isWritten)) }
    }
  }

  // MARK: The end

  private func finish(_ result: TransferOutcome) {
    world.note("the sender ends: \(result)")
    checkEnd(result)
    for session in sessions.values { end(session) }
    finish()
  }

  override func letGo() {
    super.letGo()
    for session in sessions.values { (session.streams, session.source, session.listener) = ([], nil, nil) }
    (connections, sessions) = ([:], [:])
    (dialer, preparers, walks) = (nil, [], [])
  }

  override func gone() {
    for session in sessions.values { end(session) }
    for connection in allConnections {
      if isFinished { connection.close() } else { connection.abandon() }
    }
    connections = [:]
    scene.senderIsGone(self)
  }

  private var allConnections: [SimulatedConnection] {
    (Array(connections.values) + sessions.values.flatMap { $0.streams.compactMap(\.connection) })
      .sorted { $0.id < $1.id }
  }
}
