import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// What the receiving device keeps apart from staging, durably: its store.
struct ReceiverStore {
  let transfer: TransferID
  let client: KeyFingerprint
  let keys: TransferKeys
  let offer: Offer
  var done: Done?
  /// What the sender has left out by name; of a transfer that is done everything that is named as not stored.
  var notStored: [Refusal] = []
  var unsent: UInt64 = 0
  var withheld: UInt64 = 0
}

/// What the sending device keeps of a transfer, durably.
struct SenderEntry {
  let transfer: TransferID
  let key: UInt64
  let receiver: UInt64
  var unsent: UInt64 = 0
  var done: Done?
  var notStored: [Refusal] = []
}

/// Everything that outlives the processes of one simulation, and what is expected of them.
final class Ground {
  /// The archive is cut into small pieces, so that little data makes many frames.
  static let sizes = ArchiveSizes(smallFile: 300, chunk: 700, part: 1_400, fullFrame: 900)
  static let frameCapacity = 2_048

  /// An export that came to its end.
  struct Export {
    let finish: Finish
    let unsent: Int
    /// When the source was listed, and when the export began.
    let listed: Int
    let start: Int
  }

  let world: World
  let mutation: Mutation?
  /// Whether the receiver stays, and how many more transfers it is to take then.
  let keeps: Bool
  var rounds = 2
  let network: Network
  let disk: SimulatedDisk
  let source: SimulatedSource
  let furniture: Furniture
  let announcedRoots: [Root]
  let windowFrames: Int
  /// What is remembered of transfers, the newest first.
  private(set) var storesAtReceiver: [ReceiverStore] = []
  private(set) var entriesAtSender: [SenderEntry] = []
  /// How often the end may still be spoilt.
  var importRisks = 0
  private(set) var hasLostPower = false
  var tally = Faults()
  private(set) var steps = 0
  /// What is to happen when the engines have acted so often.
  private var ambushes: [(count: Int, body: () -> Void)] = []
  private var momentAmbushes: [Moment: [(count: Int, body: () -> Void)]] = [:]
  private var acts = 0

  // MARK: The devices and their users

  /// The processes of the sending device: one, or two that go on with the same transfer.
  var senders: [SimulatedSender] = []
  /// All processes that there were.
  var devices: [Device] = []
  var receiver: SimulatedReceiver?
  /// Until when a device sleeps, and its disk stands still: the sender's, and the receiver's.
  var asleep = [0, 0]
  var stalled = [0, 0]
  /// Until when no connection comes up, and until when another device is at the receiver's address.
  var outage = 0
  var imposture = 0
  /// Whether threads cannot be made now and then.
  var lacksThreads = false
  /// From when on nothing goes wrong any more.
  var calm = 0
  /// What the receiver's user sees.
  var shownCode: PairingCode?
  var senderHost = "10.0.0.2"
  /// Where the receiver is, and where the sender met it last.
  var receiverAddress = "10.0.1.1:1"
  var lastAddress = ""
  /// The addresses that may not pair, until nothing goes wrong any more.
  var forbiddenHosts: Set<String> = []
  /// Whether an import can be undone, as an app's can, and is broken off when the user stops.
  var canUndoImports = false
  /// How long the disk will stand still, from the middle of a sync or a write on.
  var lurkingStalls: [Int] = []
  var isSenderDone = false

  // MARK: What is expected

  private var sent = SentContent()
  var sentTwice: Int { sent.bytesTwice }
  private(set) var allowedTwice = 0
  /// How much was sent in all, and how much of that had arrived when the last sync that succeeded began.
  var sentInAll: Int { sent.bytes }
  private var durableUpTo = 0
  private var finished: [Export] = []
  /// What arrived is being compared with this, and what was concluded last; each with the export that it ends.
  private var concluding: (transfer: TransferID, finish: Finish, export: Export)?
  private(set) var concluded: (transfer: TransferID, finish: Finish, export: Export)?
  /// Which transfers are done, and with which word.
  private(set) var done: [TransferID: Done] = [:]
  /// What the destination could not hold, and how many items that is.
  private(set) var refusedPaths: Set<[UInt8]> = []
  private(set) var notStored: UInt64 = 0
  /// The same, and what the sender has left out for that reason.
  private(set) var notStoredPaths: Set<[UInt8]> = []
  private var promisesOf: [TransferID: Promises] = [:]
  /// What was durable of a transfer when a session was told of it.
  private var durableAt: [SessionID: DurableContent] = [:]
  /// What any sender's user had heard of as not stored before an export found that the source has it no more.
  var goneRefused: Set<[UInt8]> = []
  /// The streams that a stream is the heir of, by session.
  private var ancestors: [SessionID: [UInt32: Set<UInt32>]] = [:]

  init(seed: UInt64, mutation: Mutation?, keeps: Bool = false, keepsTrace: Bool) {
    self.keeps = keeps
    world = World(seed: seed, keepsTrace: keepsTrace)
    self.mutation = mutation
    network = Network(world)
    disk = SimulatedDisk(world, mutation: mutation)
    source = SimulatedSource(world, mutation: mutation)
    windowFrames = world.dice.roll(2...5)
    source.populate()
    furniture = Furniture(disk, like: source)
    announcedRoots = source.top.names.map { Root(kind: .directory, name: $0) }
  }

  var faults: Faults {
    var faults = tally
    faults.changes = source.changes
    return faults
  }

  /// The simulation is over: what holds one another lets go.
  func letGo() {
    world.letGo()
    network.letGo()
    for device in devices { device.letGo() }
    (devices, ambushes, momentAmbushes) = ([], [], [:])
    (senders, receiver) = ([], nil)
    (disk.died, disk.meanwhile, source.reader) = ({}, {}, nil)
  }

  /// Lets one thing happen while something else goes on.
  func stepInside() -> Bool {
    steps += 1
    return world.broken == nil && world.step()
  }

  /// Lets some of what happens at about this time happen while something else goes on at a device, which takes no longer.
  func stepsInside(_ count: Int, beside device: Device) {
    let end = world.now + 20_000
    for _ in 0..<count where device.isAlive && (world.nextTime ?? .max) <= end { _ = stepInside() }
  }

  /// A receiver's worker waits for its disk, which stands still.
  func waitForReceiversDisk(_ receiver: Device) {
    while receiver.isAlive, world.now < stalled[receiver.role.index], stepInside() {}
  }

  /// Lets something happen about where the engines have acted so often.
  func ambush(at count: Int, _ body: @escaping () -> Void) {
    ambushes.append((count, body))
    ambushes.sort { $0.count > $1.count }
  }

  /// Lets something happen about where a moment has come so often.
  func ambush(at moment: Moment, _ count: Int, _ body: @escaping () -> Void) {
    momentAmbushes[moment, default: []].append((count, body))
  }

  /// An engine acts.
  func acted(_ moment: Moment?) {
    acts += 1
    while let last = ambushes.last, last.count <= acts { spring(ambushes.removeLast().body) }
    guard let moment, let waiting = momentAmbushes.removeValue(forKey: moment) else { return }
    momentAmbushes[moment] = waiting.filter { $0.count > 1 }.map { ($0.count - 1, $0.body) }
    for ambush in waiting where ambush.count <= 1 { spring(ambush.body) }
  }

  private func spring(_ body: @escaping () -> Void) {
    world.after(world.dice.one(in: 3) ? 0 : world.dice.roll(0...4_000), body)
  }

  // MARK: What is remembered

  /// The receiver remembers a transfer, if it does not yet.
  func remember(_ order: ReceiverEngine.StagingOrder) -> ReceiverStore {
    if let known = storesAtReceiver.first(where: { $0.transfer == order.transfer }) { return known }
    let offer = order.offer
    let store = ReceiverStore(
      transfer: order.transfer, client: order.client,
      keys: TransferKeys(tagKey: UInt128(world.dice.next()), hashKey: UInt128(world.dice.next())),
      offer: Offer(
        transfer: nil, contents: offer.contents, items: offer.items, bytes: offer.bytes, allocated: offer.allocated,
        flags: offer.flags))
    storesAtReceiver.insert(store, at: 0)
    return store
  }

  func changeStore(_ transfer: TransferID, _ change: (inout ReceiverStore) -> Void) {
    guard let index = storesAtReceiver.firstIndex(where: { $0.transfer == transfer }) else { return }
    change(&storesAtReceiver[index])
  }

  /// Whether the sender has ever written down that all is done.
  private(set) var isDoneRecorded = false
  func recordDone(_ transfer: TransferID, _ done: Done, _ refusals: [Refusal]) {
    isDoneRecorded = true
    changeEntry(transfer) {
      $0.done = done
      $0.notStored = refusals
    }
  }

  func forgetAtReceiver(_ transfer: TransferID) { storesAtReceiver.removeAll { $0.transfer == transfer } }

  func rememberAtSender(_ transfer: TransferID, _ identity: SimulatedSender.Identity) {
    guard !entriesAtSender.contains(where: { $0.transfer == transfer }) else { return }
    // A sender that met another device at the address begins a second transfer, and all of it is sent again.
    if tally.impostors > 0 { allowedTwice += sentInAll }
    entriesAtSender.insert(SenderEntry(transfer: transfer, key: identity.key, receiver: identity.receiver), at: 0)
  }

  func changeEntry(_ transfer: TransferID, _ change: (inout SenderEntry) -> Void) {
    guard let index = entriesAtSender.firstIndex(where: { $0.transfer == transfer }) else { return }
    change(&entriesAtSender[index])
  }

  /// The sender's user sends all of it once more, as a transfer of its own.
  func beginAnother() {
    entriesAtSender = []
    allowedTwice += sentInAll
    furniture.keep(destination)
  }

  func forgetAtSender(_ transfer: TransferID) { entriesAtSender.removeAll { $0.transfer == transfer } }

  /// One key serves all that is unfinished.
  private var lastReceiverKey: UInt64 = 0
  func receiverKey() -> UInt64 {
    if storesAtReceiver.isEmpty || lastReceiverKey == 0 { lastReceiverKey = world.dice.next() | 1 }
    return lastReceiverKey
  }

  // MARK: What happens at the receiver

  func promises(of transfer: TransferID) -> Promises {
    if let known = promisesOf[transfer] { return known }
    let new = Promises(world) { [unowned self] in currentGenerations(transfer) }
    promisesOf[transfer] = new
    return new
  }

  private func currentGenerations(_ transfer: TransferID) -> [ArchivePath: Generation] {
    guard let keys = storesAtReceiver.first(where: { $0.transfer == transfer })?.keys else { return [:] }
    var generations: [ArchivePath: Generation] = [:]
    for (path, version) in source.current {
      guard let path = try? ArchivePath(path) else { continue }
      generations[path] = keys.generation(of: version.fingerprint)
    }
    return generations
  }

  func recovered(_ staging: Staging) {
    if staging.stage != .receiving {
      // The process may have died behind the record of it; now that is durable.
      if concluding?.transfer == staging.transfer { hasConcluded() }
    } else if concluded?.transfer == staging.transfer {
      world.fail("what was concluded counts as incomplete")
    }
    checkNothingNew()
    checkFurniture(destination)
    // What was refused and journaled as the process died was never told.
    refused(staging.refusals(from: 0))
    sent.recovered(staging)
    promises(of: staging.transfer).recovered(staging, keys: staging.keys, hasLostPower: hasLostPower)
    hasLostPower = false
  }

  func losePower() {
    tally.powerLosses += 1
    world.note("the power goes")
    // What was written and not durable may be gone, and is sent again.
    allowedTwice += sentInAll - durableUpTo
    receiver?.die("as the power goes")
    disk.losePower()
    hasLostPower = true
  }

  /// A sync is done that began when so much of what was sent had arrived.
  func synced(_ arrived: Int) { durableUpTo = max(durableUpTo, arrived) }

  /// How many bytes are on their way, and not acknowledged.
  var underWay: Int {
    senders.flatMap { $0.sessions.values.flatMap(\.streams) }.flatMap(\.underWay).reduce(0, +)
  }

  /// The end is near, and now and then the process does not live to see it, or the power goes.
  func riskImport() {
    guard importRisks > 0, world.dice.one(in: 2) else { return }
    importRisks -= 1
    tally.receiverKills += 1
    disk.operationsToLive = world.dice.roll(0...30)
    if world.dice.one(in: 3) { world.after(world.dice.roll(1...1_000)) { [self] in losePower() } }
  }

  /// What arrived is about to be compared with a finish.
  func concludes(_ finish: Finish, _ staging: Staging, without dropped: Set<Mark>, withheld: [Refusal]) {
    let transfer = staging.transfer
    world.note("concludes \(finish.total)")
    promises(of: transfer).finishing(staging, keys: staging.keys)
    guard let export = finished.last(where: { $0.finish == finish }) else {
      return world.fail("something was concluded that was never finished")
    }
    sent.conclude(staging, without: dropped)
    concluding = (staging.transfer, finish, export)
    changeStore(staging.transfer) {
      $0.unsent = finish.unsent
      $0.withheld = finish.withheld
      $0.notStored = withheld
    }
  }

  /// Whether what was concluded last is done. A receiver that stays may be stopped in the middle of what a second process sent.
  var isSettled: Bool { !keeps || concluded.map { done[$0.transfer] != nil } ?? true }

  /// All that was meant has arrived.
  func hasConcluded() {
    // What another transfer brought, whose end a second sender never heard, is old for the next one.
    if let before = concluded?.0, let now = concluding?.0, before != now { furniture.keep(destination) }
    concluded = concluding
  }

  /// What an import begins without.
  func refused(_ staging: Staging) {
    refusedPaths = Set(staging.lastingRefusals.map(\.path.bytes))
    notStored = staging.notStored
    tally.refusals += Int(notStored)
    world.check(notStored <= refusedPaths.count, "\(notStored) items are not stored, \(refusedPaths.count) are named")
    world.check(notStored == 0 || disk.bounds != nil, "a disk that holds everything refuses \(notStored) items")
  }

  func imported(_ transfer: TransferID, _ done: Done, notStored: [Refusal]) {
    world.note("imported")
    world.check(self.done[transfer] ?? done == done, "a transfer is done twice")
    self.done[transfer] = done
    notStoredPaths = Set(notStored.map(\.path.bytes))
    changeStore(transfer) {
      $0.done = done
      $0.notStored = notStored
    }
    promises(of: transfer).fulfilled()
    checkDestination()
  }

  /// The ledger is told: what is durable of it need not be read again.
  func told(_ session: SessionID, _ staging: Staging, _ keys: TransferKeys) {
    durableAt[session] = promises(of: staging.transfer).durableContent(in: staging, keys: keys)
  }

  // MARK: What happens at the sender

  /// An export begins, which reads nothing that its session was told of as durable.
  func watchReading(of accept: Accept) {
    guard mutation == nil else { return }
    source.reader = { [unowned self] path, version, range in
      guard let path = try? ArchivePath(path), let durable = durableAt[accept.session] else { return }
      world.check(
        !durable.has(path, accept.keys.generation(of: version.fingerprint), anyOf: range),
        "\(String(decoding: path.bytes, as: UTF8.self)) \(range) is durable, and read again")
    }
  }

  func exported(_ finish: Finish, unsent: Int, listed: Int, start: Int) {
    finished.append(Export(finish: finish, unsent: unsent, listed: listed, start: start))
  }

  /// So many bytes were under way, and may be sent again.
  func interrupted(underWay bytes: Int) { allowedTwice += bytes }

  /// A frame's entries go out: what went before is counted.
  func sending(_ entries: [UInt8]) {
    var reader = EntryReader(0..<entries.count)
    while let entry = try? reader.next(entries.span) {
      switch entry {
      case .item(let record, let content):
        if record.kind == .hardLink { for promises in promisesOf.values { promises.sendingLink(record.path) } }
        let item = ItemState(path: record.path, generation: record.generation)
        if content != nil { sent.send(item, 0..<record.size) }
      case .chunk(let place, _, _): sent.send(ItemState(path: place.path, generation: place.generation), place.range)
      case .hole: continue
      }
    }
  }

  func letGo(ofContentAt path: ArchivePath) { sent.letGo(at: path) }

  /// The destination cannot hold these: a sender may send of them again before it hears of that.
  func refused(_ refusals: some Sequence<Refusal>) {
    for refusal in refusals { sent.refuse(ItemState(path: refusal.path, generation: refusal.generation)) }
  }

  // MARK: Heirs

  /// What one stream had under way is another one's.
  func moved(_ session: SessionID, from lost: UInt32, to heir: UInt32) {
    let earlier = ancestors[session]?[lost] ?? []
    ancestors[session, default: [:]][heir] = earlier.union([lost])
  }

  /// A stream is about to write: no stream whose frames it carries may write any more.
  func writes(_ stream: IncomingWorker, in session: ReceiverSessionParts) {
    guard let identifier = session.identifier, let known = ancestors[identifier] else { return }
    let lost = known[stream.join.stream] ?? []
    for other in session.streams where other !== stream {
      if lost.contains(other.join.stream) {
        world.check(
          other.worker.hasEnded,
          "stream \(stream.join.stream) writes while \(other.join.stream), which it replaces, lives")
      }
      if known[other.join.stream]?.contains(stream.join.stream) == true, other.machine.writtenFrames > 0 {
        world.fail("stream \(stream.join.stream) writes behind \(other.join.stream), which replaces it")
      }
    }
  }
}
