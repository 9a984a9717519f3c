import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The receiver's durable record of a transfer, apart from its staging directories.
struct ReceiverStore {
  struct Part {
    /// The key of its staging, and the offer with which that began.
    var begun: (keys: TransferKeys, offer: Offer)?
    /// Whether everything of it has arrived, so that its import may have begun.
    var isConcluded = false
    var done: Done?
    /// The named items that the sender has left out; of a finished part, every item named as not
    /// stored.
    var notStored: [NotStored] = []
    var unsent: UInt64 = 0
    var withheld: UInt64 = 0
  }

  let transfer: TransferID
  let client: KeyFingerprint
  let plan: Plan
  var parts: [Part]
  /// The part that ran last.
  var newest: UInt16 = 0
}

/// The sender's durable record of a transfer.
struct SenderEntry {
  struct Part {
    var unsent: UInt64 = 0
    var done: Done?
    var notStored: [NotStored] = []
  }

  let transfer: TransferID
  let key: UInt64
  let receiver: UInt64
  var parts: [Part]
}

/// What may happen once to a part, so that it fails at one end.
enum PartFault: CaseIterable {
  /// The receiver has no room for it: at its verdict, or its offer.
  case room
  case export
  /// A write of its data fails at the receiver.
  case writing
  case importing
  /// Its import fails for good.
  case unfit
}

/// The state that outlives the processes of one simulation, and the expectations of the checks.
final class Scene {
  /// The archive is cut into small pieces, so that little data makes many frames.
  static let sizes = ArchiveSizes(smallFile: 300, chunk: 700, part: 1_400, fullFrame: 900)
  static let frameCapacity = 2_048

  /// An export that ended.
  struct Export {
    let part: UInt16
    let finish: Finish
    let unsent: Int
    /// When the source was listed, and when the export began.
    let listed: Int
    let start: Int
  }

  let world: World
  let mutation: Mutation?
  /// Whether the receiver stays, and how many more transfers it then receives.
  let keeps: Bool
  var rounds = 2
  /// How many senders it serves at once.
  let atOnce: Int
  /// Whether both users keep pairings, and the keys of the kept one at each end.
  let keepsPairings: Bool
  /// The relay between the devices.
  let relay: String?
  var keptAtSender: SimulatedSender.Identity?
  var keptAtReceiver: Set<KeyFingerprint> = []
  /// The sender's durable count of the tries of codes.
  var codes = CountedCodes()
  let network: Network
  let disk: SimulatedDisk
  let source: SimulatedSource
  let existingItems: ExistingItems
  /// The roots of each part of the plan.
  let parts: [[Root]]
  /// The part that the receiver never takes, and why.
  private var unwanted: UInt16?
  private var unwantedBy = Fault.Code.otherApp
  /// The names of the parts that have failed for good.
  private var failedForGood: Set<TransferID> = []
  /// What is still to happen to parts.
  var partFaults: [PartFault] = []
  let windowFrames: Int
  /// The records of transfers, the newest first.
  private(set) var storesAtReceiver: [ReceiverStore] = []
  private(set) var entriesAtSender: [SenderEntry] = []
  /// How many more faults may occur during an import.
  var importRisks = 0
  /// How often the power had failed when the staging of a part was made, or last taken back.
  private var powerLosses: [TransferID: Int] = [:]
  var tally = Faults()
  private(set) var steps = 0
  /// Faults to trigger after so many actions of the engines.
  private var ambushes: [(count: Int, body: () -> Void)] = []
  private var momentAmbushes: [Moment: [(count: Int, body: () -> Void)]] = [:]
  private var acts = 0

  // MARK: The devices and their users

  /// The sender's processes: one, or two that continue the same transfer.
  var senders: [SimulatedSender] = []
  /// All processes so far.
  var devices: [Device] = []
  var receiver: SimulatedReceiver?
  /// Until when a device sleeps, and until when its disk hangs: the sender's, then the receiver's.
  var asleep = [0, 0]
  var stalled = [0, 0]
  /// Until when no connection is possible, and until when another device has the receiver's
  /// address.
  var outage = 0
  var imposture = 0
  /// Whether creating threads fails now and then.
  var lacksThreads = false
  /// The time after which there are no more faults.
  var calm = 0
  /// The code that the receiver's user sees.
  var shownCode: PairingCode?
  var senderHost = "10.0.0.2"
  /// The receiver's present address, and its address when the sender last met it.
  var receiverAddress = "10.0.1.1:1"
  var lastAddress = ""
  /// The addresses that may not pair, until there are no more faults.
  var forbiddenHosts: Set<String> = []
  /// Whether an import can be undone, like that of an app, and is broken off when the user stops
  /// the run.
  var canUndoImports = false
  /// The lengths of future hangs of the disk, each of which begins in the middle of a sync or a
  /// write.
  var lurkingStalls: [Int] = []
  var isSenderDone = false

  // MARK: Expectations

  private var sent = SentContent()
  var sentTwice: Int { sent.bytesTwice }
  private(set) var allowedTwice = 0
  /// The amount sent so far, and how much of it had arrived when the last successful sync began.
  var sentInAll: Int { sent.bytes }
  private var durableUpTo = 0
  private var finished: [Export] = []
  /// The export whose FINISH is being compared with the received data, and the last one of each part
  /// that was concluded; each with the name of the part in its transfer.
  private var concluding: [TransferID: Export] = [:]
  private(set) var concluded: [UInt16: (name: TransferID, export: Export)] = [:]
  /// The finished parts of each transfer, with their DONE.
  private(set) var done: [TransferID: [UInt16: Done]] = [:]
  private(set) var doneBefore: Set<TransferID> = []
  /// The names of the parts whose DONE the sender has ever recorded.
  private(set) var recorded: Set<TransferID> = []
  /// The items of each part that the destination could not hold, their number, and all that are not
  /// stored, with those that the sender has left out for that reason.
  private(set) var refusedPaths: [UInt16: Set<[UInt8]>] = [:]
  private(set) var notStored: [UInt16: UInt64] = [:]
  private(set) var notStoredPaths: [UInt16: Set<[UInt8]>] = [:]
  /// The items that a user of the sender, and of the receiver, was told as not stored.
  var toldRefused: [Set<[UInt8]>] = [[], []]
  /// By the names of parts.
  private var promisesOf: [TransferID: Promises] = [:]
  /// The durable content of a part when its ledger was sent to a session.
  private var durableAt: [SessionID: [UInt16: DurableContent]] = [:]
  /// The items reported to any sender's user as not stored, and that the source no longer had
  /// at a later export.
  var goneRefused: Set<[UInt8]> = []
  /// The streams that a stream is the heir of, by session.
  private var ancestors: [SessionID: [UInt32: Set<UInt32>]] = [:]

  init(seed: UInt64, mutation: Mutation?, keeps: Bool = false, keepsTrace: Bool) {
    self.keeps = keeps
    atOnce = keeps && !seed.isMultiple(of: 2) ? 3 : 1
    world = World(seed: seed, keepsTrace: keepsTrace)
    self.mutation = mutation
    network = Network(world)
    disk = SimulatedDisk(world, mutation: mutation)
    source = SimulatedSource(world, mutation: mutation)
    windowFrames = world.dice.roll(2...5)
    keepsPairings = keeps && world.dice.one(in: 2)
    relay = world.dice.one(in: 3) ? "relay" : nil
    source.populate()
    existingItems = ExistingItems(disk, like: source)
    parts = Self.split(source.top.names.map { Root(kind: .directory, name: $0) }, world.dice)
    if parts.count > 1, world.dice.one(in: 5) {
      let codes: [Fault.Code] = [.otherApp, .unknownKind, .noSpace]
      unwanted = UInt16(world.dice.roll(0...parts.count - 1))
      unwantedBy = codes[world.dice.roll(0...2)]
    }
  }

  /// Splits roots among one to three parts.
  private static func split(_ roots: [Root], _ dice: Dice) -> [[Root]] {
    let count = min(roots.count, dice.one(in: 4) ? 1 : dice.one(in: 4) ? 3 : 2)
    return roots.enumerated().reduce(into: Array(repeating: [], count: count)) { parts, root in
      parts[root.offset < count ? root.offset : dice.roll(0...count - 1)].append(root.element)
    }
  }

  /// Whether a fault that was to come comes now.
  func strikes(_ fault: PartFault) -> Bool {
    guard let index = partFaults.firstIndex(of: fault) else { return false }
    partFaults.remove(at: index)
    tally.partFaults += 1
    return true
  }

  var faults: Faults {
    var faults = tally
    faults.changes = source.changes
    return faults
  }

  /// The simulation has ended: breaks reference cycles.
  func letGo() {
    world.letGo()
    network.letGo()
    for device in devices { device.letGo() }
    (devices, ambushes, momentAmbushes) = ([], [], [:])
    (senders, receiver) = ([], nil)
    disk.letGo()
    source.reader = nil
  }

  /// Lets one event happen in the middle of another operation.
  func stepInside() -> Bool {
    steps += 1
    return world.broken == nil && world.step()
  }

  /// Lets up to `count` events of about this time happen in the middle of a device's operation,
  /// which takes no longer for that.
  func stepsInside(_ count: Int, beside device: Device) {
    let end = world.now + 20_000
    for _ in 0..<count where device.isAlive && (world.nextTime ?? .max) <= end { _ = stepInside() }
  }

  /// A receiver's worker waits for its hanging disk.
  func waitForReceiversDisk(_ receiver: Device) {
    while receiver.isAlive, world.now < stalled[receiver.role.index], stepInside() {}
  }

  /// Triggers something after about so many actions of the engines.
  func ambush(at count: Int, _ body: @escaping () -> Void) {
    ambushes.append((count, body))
    ambushes.sort { $0.count > $1.count }
  }

  /// Triggers something at about the given occurrence of a step.
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

  // MARK: Records

  /// The receiver records a plan, if it has no record of it yet.
  func remember(_ record: ReceiverEngine.PlanRecord) {
    guard store(of: record.transfer) == nil else { return }
    storesAtReceiver.insert(
      ReceiverStore(
        transfer: record.transfer, client: record.client, plan: Plan(record.plan.parts),
        parts: Array(repeating: ReceiverStore.Part(), count: parts.count)), at: 0)
  }

  func store(of transfer: TransferID) -> ReceiverStore? { storesAtReceiver.first { $0.transfer == transfer } }

  /// The receiver records that a part begins; returns the keys of its staging.
  func begin(_ order: ReceiverEngine.StagingOrder) -> TransferKeys {
    let known = store(of: order.transfer)?.parts[Int(order.part)].begun
    let begun = known ?? (keys: TransferKeys(hashKey: UInt128(world.dice.next())), offer: order.offer)
    changeStore(order.transfer) {
      $0.newest = order.part
      $0.parts[Int(order.part)].begun = begun
    }
    return begun.keys
  }

  func changeStore(_ transfer: TransferID, _ change: (inout ReceiverStore) -> Void) {
    guard let index = storesAtReceiver.firstIndex(where: { $0.transfer == transfer }) else { return }
    change(&storesAtReceiver[index])
  }

  /// Changes the receiver's record of a part.
  private func changeStore(ofPart name: TransferID, _ change: (inout ReceiverStore.Part) -> Void) {
    for store in storesAtReceiver {
      guard let part = parts.indices.first(where: { store.transfer.ofPart(UInt16($0)) == name }) else { continue }
      changeStore(store.transfer) { change(&$0.parts[part]) }
    }
  }

  func recordDone(_ transfer: TransferID, _ part: UInt16, _ done: Done, _ refusals: [NotStored]) {
    recorded.insert(transfer.ofPart(part))
    changeEntry(transfer) {
      $0.parts[Int(part)].done = done
      $0.parts[Int(part)].notStored = refusals
    }
  }

  func forgetAtReceiver(_ transfer: TransferID) { storesAtReceiver.removeAll { $0.transfer == transfer } }

  func rememberAtSender(_ transfer: TransferID, _ identity: SimulatedSender.Identity) {
    guard !entriesAtSender.contains(where: { $0.transfer == transfer }) else { return }
    // A sender that met another device at the address begins a second transfer and sends everything
    // again.
    if tally.impostors > 0 { allowedTwice += sentInAll }
    entriesAtSender.insert(
      SenderEntry(
        transfer: transfer, key: identity.key, receiver: identity.receiver,
        parts: Array(repeating: SenderEntry.Part(), count: parts.count)), at: 0)
  }

  func changeEntry(_ transfer: TransferID, _ change: (inout SenderEntry) -> Void) {
    guard let index = entriesAtSender.firstIndex(where: { $0.transfer == transfer }) else { return }
    change(&entriesAtSender[index])
  }

  /// The sender's user sends everything once more, as a new transfer.
  func beginAnother() {
    (entriesAtSender, doneBefore) = ([], Set(done.keys))
    allowedTwice += sentInAll
    existingItems.keep(destination)
  }

  func forgetAtSender(_ transfer: TransferID) { entriesAtSender.removeAll { $0.transfer == transfer } }

  /// One key serves all unfinished transfers.
  private var lastReceiverKey: UInt64 = 0
  func receiverKey() -> UInt64 {
    if storesAtReceiver.isEmpty && !keepsPairings || lastReceiverKey == 0 { lastReceiverKey = world.dice.next() | 1 }
    return lastReceiverKey
  }

  // MARK: Events at the receiver

  func promises(of staging: Staging) -> Promises {
    if let known = promisesOf[staging.transfer] { return known }
    let keys = staging.keys
    let new = Promises(world) { [unowned self] in currentGenerations(keys) }
    promisesOf[staging.transfer] = new
    return new
  }

  private func currentGenerations(_ keys: TransferKeys) -> [ArchivePath: Generation] {
    var generations: [ArchivePath: Generation] = [:]
    for (path, version) in source.current {
      guard let path = try? ArchivePath(path) else { continue }
      generations[path] = keys.generation(of: version.fingerprint)
    }
    return generations
  }

  func recovered(_ staging: Staging, ofPart part: UInt16) {
    if staging.stage != .receiving {
      // The process may have died after it had recorded this; now the record is durable.
      hasConcluded(staging.transfer)
    } else if concluded[part]?.name == staging.transfer {
      world.fail("a concluded transfer counts as incomplete")
    }
    checkNothingNew()
    checkExistingItems(destination)
    // Items that were refused and journaled when the process died were never reported.
    refused(staging.refusals(from: 0))
    sent.recovered(staging)
    promises(of: staging).recovered(staging, keys: staging.keys, hasLostPower: hasLostPower(staging.transfer))
    powerLosses[staging.transfer] = tally.powerLosses
  }

  func losePower() {
    tally.powerLosses += 1
    world.note("the power goes")
    // Data that was written and not durable may be lost, and is sent again.
    allowedTwice += sentInAll - durableUpTo
    receiver?.die("as the power goes")
    disk.losePower()
  }

  /// Whether the power has failed since the staging of a part was made, or last taken back.
  func hasLostPower(_ name: TransferID) -> Bool { tally.powerLosses > powerLosses[name] ?? 0 }

  /// A sync has ended; `arrived` is the amount that had arrived when it began.
  func synced(_ arrived: Int) { durableUpTo = max(durableUpTo, arrived) }

  /// How many bytes are sent and not acknowledged.
  var underWay: Int {
    senders.flatMap { $0.sessions.values.flatMap(\.streams) }.flatMap(\.underWay).reduce(0, +)
  }

  /// Near the end of a transfer, the process is killed now and then, or the power fails.
  func riskImport() {
    guard importRisks > 0, world.dice.one(in: 2) else { return }
    importRisks -= 1
    tally.receiverKills += 1
    disk.operationsToLive = world.dice.roll(0...30)
    if world.dice.one(in: 3) { world.after(world.dice.roll(1...1_000)) { [self] in losePower() } }
  }

  /// The received data is about to be compared with a FINISH.
  func concludes(
    _ part: UInt16, _ finish: Finish, _ staging: Staging, without dropped: Set<Mark>, withheld: [NotStored]
  ) {
    world.note("concludes \(finish.total)")
    promises(of: staging).finishing(staging, keys: staging.keys)
    guard let export = finished.last(where: { $0.part == part && $0.finish == finish }) else {
      return world.fail("a FINISH was concluded that no export ended with")
    }
    sent.conclude(staging, without: dropped)
    concluding[staging.transfer] = export
    changeStore(ofPart: staging.transfer) {
      $0.unsent = finish.unsent
      $0.withheld = finish.withheld
      $0.notStored = withheld
      $0.isConcluded = true
    }
  }

  /// All items of the FINISH have arrived.
  func hasConcluded(_ name: TransferID) {
    guard let export = concluding[name] else { return }
    // If a second sender never learned the end of another transfer, the items of that transfer are
    // old for the next one.
    if let before = concluded[export.part], before.name != name { existingItems.keep(destination(ofPart: export.part)) }
    concluded[export.part] = (name, export)
  }

  /// The items that an import leaves out.
  func refused(_ staging: Staging, ofPart part: UInt16) {
    let paths = Set(staging.lastingRefusals.map(\.path))
    refusedPaths[part] = paths
    notStored[part] = staging.notStored
    tally.refusals += Int(staging.notStored)
    world.check(staging.notStored <= paths.count, "\(staging.notStored) items are not stored, \(paths.count) are named")
    if disk.bounds == nil {
      let refused = paths.filter { !existingItems.keepsOut($0) }
      world.check(refused.isEmpty, "a disk that holds everything refuses \(refused.count) items")
    }
  }

  func imported(_ transfer: TransferID, _ part: UInt16, _ done: Done, _ staging: Staging, notStored: [NotStored]) {
    world.note("imported")
    world.check(self.done[transfer]?[part] == nil, "a part is done twice")
    self.done[transfer, default: [:]][part] = done
    notStoredPaths[part] = Set(notStored.map(\.path))
    changeStore(ofPart: staging.transfer) {
      $0.done = done
      $0.notStored = notStored
    }
    promises(of: staging).fulfilled()
    checkDestination(ofPart: part)
  }

  /// The ledger was sent: its durable content need not be read again.
  func told(_ session: SessionID, _ part: UInt16, _ staging: Staging) {
    durableAt[session, default: [:]][part] = promises(of: staging).durableContent(in: staging, keys: staging.keys)
  }

  /// Whether a result is that of a transfer, as the receiver knows it: each part is finished or has
  /// failed. Since then, another process may have brought more parts.
  func isKnown(_ result: TransferResult, mayLack: Bool = false) -> Bool {
    done.values.contains { done in
      (0..<1 << parts.count).contains { choice in
        let chosen = done.filter { choice >> $0.key & 1 == 1 }
        return chosen.values.reduce(Tally()) { $0.adding($1.total) } == result.total
          && chosen.values.reduce(0) { $0 + $1.notStored } == result.notStored
          && parts.count - chosen.count == result.failedParts && (mayLack || chosen.count == done.count)
      }
    }
  }

  /// Whether every part that the receiver wants has arrived since another transfer began.
  var hasBroughtAll: Bool {
    let brought = Set(done.filter { !doneBefore.contains($0.key) }.values.flatMap(\.keys))
    return parts.indices.allSatisfy { UInt16($0) == unwanted || brought.contains(UInt16($0)) }
  }

  func names(ofPartsOf transfer: TransferID) -> [TransferID] { parts.indices.map { transfer.ofPart(UInt16($0)) } }

  /// A part is refused or fails, for good or not; nil if it is taken.
  func ends(_ name: TransferID, by code: Close.Code?) {
    let resumable: Set<Close.Code> = [
      .interrupted, .noSpace, .storage, .importFailed, .exportFailed, .silent, .notInstalled, .appInUse,
    ]
    if let code, !resumable.contains(code) { failedForGood.insert(name) } else { failedForGood.remove(name) }
  }

  /// The data of a part is discarded.
  func discards(_ name: TransferID) {
    let mayGo = failedForGood.contains(name) || promisesOf.removeValue(forKey: name)?.isEmpty ?? true
    world.check(mayGo, "received data is discarded")
  }

  /// The staging of a part is made; it had none.
  func stages(_ name: TransferID) {
    world.check(promisesOf[name]?.isEmpty ?? true, "the data of a part is lost")
    powerLosses[name] = tally.powerLosses
  }

  /// The reason why a part is never taken.
  func refusal(ofPart part: UInt16) -> Fault? { part == unwanted ? Fault(unwantedBy, "it is not wanted") : nil }

  // MARK: Events at the sender

  /// An export begins. It must not read any content that its session's ledger listed as durable.
  func watchReading(of session: SenderSessionParts) {
    guard mutation == nil else { return }
    source.reader = { [unowned self] path, version, range in
      guard let path = try? ArchivePath(path), let order = session.order,
        let durable = durableAt[session.identifier]?[order.part]
      else { return }
      world.check(
        !durable.has(path, order.accept.keys.generation(of: version.fingerprint), anyOf: range),
        "\(String(decoding: path.bytes, as: UTF8.self)) \(range) is durable, and was read again")
    }
  }

  func exported(_ export: Export) { finished.append(export) }

  /// So many bytes were unacknowledged, and may be sent again.
  func interrupted(underWay bytes: Int) { allowedTwice += bytes }

  /// A frame's entries are sent: counts content that was sent before.
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

  /// The destination cannot hold these items: a sender may send some of them again before it learns
  /// this.
  func refused(_ refusals: some Sequence<NotStored>) {
    for item in refusals {
      guard let generation = item.generation, let path = try? ArchivePath(item.path) else { continue }
      sent.refuse(ItemState(path: path, generation: generation))
    }
  }

  // MARK: Heirs

  /// The heir of a stream takes over its unacknowledged frames.
  func moved(_ session: SessionID, from lost: UInt32, to heir: UInt32) {
    let earlier = ancestors[session]?[lost] ?? []
    ancestors[session, default: [:]][heir] = earlier.union([lost])
  }

  /// A stream is about to write: no stream whose frames it carries may still write.
  func writes(_ stream: IncomingWorker, in session: ReceiverSessionParts) {
    guard let known = ancestors[session.identifier] else { return }
    let lost = known[stream.join.stream] ?? []
    for other in session.streams where other !== stream {
      if lost.contains(other.join.stream) {
        world.check(
          other.worker.hasEnded,
          "stream \(stream.join.stream) writes while \(other.join.stream), which it replaces, still runs")
      }
      if known[other.join.stream]?.contains(stream.join.stream) == true, other.machine.writtenFrames > 0 {
        world.fail("stream \(stream.join.stream) writes after \(other.join.stream), which replaces it")
      }
    }
  }
}
