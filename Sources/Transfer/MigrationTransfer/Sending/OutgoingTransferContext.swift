import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The values that the workers of one transfer share over all its sessions: the keys, the record,
/// and the traffic.
final class OutgoingTransferContext: Sendable {
  let identity: Identity
  /// The other device's key: the pin.
  let receiver: KeyFingerprint
  /// The secret by which both devices meet at relays, where it is known.
  let meeting: [UInt8]?
  /// The traffic of this run.
  let traffic = TrafficCount()
  /// Set when a connection of this run has fallen silent. Packets that are too large for the way
  /// may vanish without an error: later connections have small segments (Protocol §7.4).
  let hasFallenSilent = AtomicFlag()
  /// Whether the receiver was known when the transfer began, or from the pairing on.
  private let isOfDevice: Bool
  /// Keeps other processes from using the key of a kept pairing.
  private let hold: Mutex<SharedDirectory?>
  /// Nil until the transfer is remembered, and again when it has ended.
  private let entry: Mutex<LockedTransferRecord?>

  init(
    _ identity: Identity, receiver: KeyFingerprint, meeting: [UInt8]?, entry: LockedTransferRecord? = nil,
    hold: SharedDirectory? = nil, isOfDevice: Bool = false
  ) {
    self.isOfDevice = isOfDevice
    self.meeting = meeting
    self.identity = identity
    self.receiver = receiver
    self.hold = Mutex(hold)
    self.entry = Mutex(entry)
  }

  /// Finds the transfers of the same source that earlier runs began, newest first, and locks them
  /// for this process; and the known devices.
  static func lookUp(_ setup: SenderSetup) throws -> SenderPerformer.WorkerReport {
    guard let store = setup.store else { return Report(.lookedUp(.success([])), bringing: .unfinished([:])) }
    try store.purge(at: store.time())
    var known: [SenderEngine.EarlierTransfer] = []
    var transfers: [TransferID: OutgoingTransferContext] = [:]
    let identities = try setup.identities()
    for listed in try store.unfinishedSends(of: try setup.origin()) {
      // Another card at the same place is another source.
      let plan = listed.remembered.plan
      guard plan.isContinued(from: identities) else {
        if !listed.isInUse { tellOfUnknownSource(listed.remembered, setup) }
        continue
      }
      // A transfer that another process is sending is left to it.
      guard let entry = try? store.open(listed.remembered.transfer, role: .sender) else { continue }
      let remembered = entry.remembered
      // So is one to a known device to which another process is sending. A result is told without the key,
      // with which this run may begin another transfer.
      let hold: SharedDirectory?
      do throws(Failure) { hold = remembered.isDone ? nil : try store.hold(remembered.peer) } catch { continue }
      known.append(
        SenderEngine.EarlierTransfer(
          identifier: remembered.transfer, receiver: remembered.peer, address: remembered.address,
          lastSeen: remembered.lastSeen, parts: remembered.parts))
      transfers[remembered.transfer] = OutgoingTransferContext(
        try Identity(encoded: remembered.identity), receiver: remembered.peer, meeting: remembered.meeting,
        entry: entry,
        hold: hold)
    }
    let devices = try store.devices(as: .sender, setup.options.knownDevices).map {
      SenderEngine.KnownDevice(
        receiver: $0.peer, host: (try? HostAndPort.parse($0.address, defaultPort: 0).host) ?? "", label: $0.label)
    }
    return Report(.lookedUp(.success(known), devices: devices), bringing: .unfinished(transfers))
  }

  /// Says why a transfer is not continued.
  private static func tellOfUnknownSource(_ transfer: TransferRecord, _ setup: SenderSetup) {
    guard !transfer.plan.hasLastingSources, !transfer.isDone else { return }
    let device = VisibleText.of(transfer.label.isEmpty ? transfer.address : transfer.label)
    setup.observer(
      .notice(
        "an earlier transfer to \(device) is not continued, since nothing tells the file system of its source from "
          + "others; \(DataHint.forgetting(transfer.transfer.hexadecimal)) gives it up"))
  }

  /// A transfer that begins with a known device; nil if that was forgotten meanwhile.
  static func greeting(_ receiver: KeyFingerprint, _ store: TransferStore?) throws -> OutgoingTransferContext? {
    guard let device = store?.device(receiver, as: .sender), let hold = try store?.hold(receiver) else { return nil }
    return OutgoingTransferContext(
      try Identity(encoded: device.identity), receiver: receiver, meeting: device.meeting, hold: hold, isOfDevice: true)
  }

  /// Records the plan before any data is sent, so that another run can continue the transfer: no
  /// received data is without a sender that remembers it. Keeps the pairing at the same time, if
  /// both ends want that and there is room. A device that was forgotten since does not become known
  /// again. Writes to the disk.
  func remember(_ record: SenderEngine.PlanRecord, _ setup: SenderSetup) throws {
    guard let store = setup.store else { return }
    if let entry = entry.withLock({ $0 }) {
      if entry.isForgotten { throw Failure.forgotten }
      return
    }
    try store.changingDevices(orMake: record.keepsPairing) { try remember(record, setup, in: store) }
    if record.keepsPairing { keepOthersAway(store) }
  }

  private func remember(_ record: SenderEngine.PlanRecord, _ setup: SenderSetup, in store: TransferStore) throws {
    let isKnown = store.device(receiver, as: .sender) != nil
    if isOfDevice, !isKnown { throw Failure.forgotten }
    let (now, known) = (Timestamp.coarseNow().seconds, setup.options.knownDevices)
    if record.keepsPairing, isKnown || !known.areExpected {
      _ = try store.keep(
        KnownDevice(
          role: .sender, identity: try identity.encoded(), peer: receiver, label: record.label,
          address: record.address, since: now, lastUsed: now, until: known.end(now: now), meeting: meeting))
    }
    let new = try store.create(
      TransferRecord(
        transfer: record.transfer, role: .sender, identity: try identity.encoded(), peer: receiver,
        label: record.label, address: record.address, started: now, lastSeen: now, total: record.plan.estimate,
        held: Tally(), subject: .sources(try setup.origin()), plan: record.plan.recorded,
        parts: Array(repeating: PartRecord(), count: record.plan.parts.count), meeting: meeting))
    entry.withLock { $0 = new }
    if !record.keepsPairing { try store.unexpect(receiver, as: .sender) }
    try store.noteUse(of: receiver, as: .sender, label: record.label, address: record.address, now: now)
  }

  /// The record that the watch for forgotten devices looks at.
  var watched: LockedTransferRecord? { entry.withLock { $0 } }

  /// This process no longer uses the key.
  func letOthersIn() { hold.withLock { $0 = nil } }

  /// Keeps other processes from using the key, if the device is known by now.
  func keepOthersAway(_ store: TransferStore?) {
    hold.withLock { hold in
      if hold == nil { hold = (try? store?.hold(receiver)) ?? nil }
    }
  }

  /// Changes the record, as far as the disk allows it.
  func update(_ change: (inout TransferRecord) -> Void) {
    try? entry.withLock { $0 }?.update(change)
  }

  /// Records a count of a part, if it is new: the items that FINISH leaves out, or the roots that the
  /// receiver does.
  func note(
    _ count: UInt64, _ path: WritableKeyPath<PartRecord, UInt64>, ofPart part: UInt16
  ) {
    if entry.withLock({ $0 })?.remembered.parts[Int(part)][keyPath: path] == count { return }
    update { remembered in
      remembered.parts[Int(part)][keyPath: path] = count
      remembered.lastSeen = Timestamp.coarseNow().seconds
    }
  }

  /// Records the receiver's DONE for a part. Returns whether the record, if there is one, is durable.
  func finish(_ part: UInt16, _ done: Done, naming refusals: [NotStored]) -> Bool {
    let entry = entry.withLock { $0 }
    do throws(Failure) {
      try entry?.finish(part, done, notStored: refusals)
      return true
    } catch {
      // No later run asks again by a record that was removed.
      return entry?.isGone ?? true
    }
  }

  /// Removes the record.
  func forget() { try? entry.withLock { $0.take() }?.remove() }
}

/// The values that the workers of one session share, and their work.
struct SenderSessionContext: Sendable {
  let number: SessionNumber
  let transfer: OutgoingTransferContext
  /// The TLS context and the address of the control connection, which data streams use too.
  let context: TLSContext
  let address: SocketAddress
  /// How the relay joins it with the receiver, if its address is a relay's.
  let relay: RelayCalling?
  /// The port of the control connection, if it leads through a relay and there may be direct
  /// connections.
  let port: UInt16?
  let queue: SendQueue
  /// Whether the user wants the streams to compress.
  let compression: SenderEngine.CompressionPreference

  /// Has everything of a part read that the receiver does not hold, until all that was read is
  /// written.
  func export(
    _ order: SenderEngine.ExportOrder, without held: HeldItems, _ setup: SenderSetup
  ) throws -> ExportResult {
    let source = setup.sources[Int(order.part)]
    var held = held
    if order.accept.flags.contains(.namesAbsent) { held.nameAbsent() }
    transfer.note(UInt64(order.refusedRoots.count), \.refusedRoots, ofPart: order.part)
    transfer.traffic.begin(order.part)
    // The previous session's memory: a transfer may have thousands of sessions.
    CurrentProcess.returnFreeMemory()
    let settings = ExportSettings(
      listener: queue, keys: order.accept.keys, held: held, traits: order.traits, isRotating: source.isRotating,
      leftOut: order.refusedRoots, blocks: blocks(order, setup), isWhole: order.summary.contents.isReplacedWhole)
    do {
      let result = try source.export(settings, for: order.request) { queue.serve($0) }
      queue.serveNothing()
      try queue.drain()
      return result
    } catch {
      queue.serveNothing()
      try queue.drain()
      throw error
    }
  }

  /// The lists of blocks that were kept for a known device.
  private func blocks(_ order: SenderEngine.ExportOrder, _ setup: SenderSetup) -> BlockStore? {
    guard let sources = order.summary.sources, let folder = setup.store?.blockFolder(transfer.receiver) else {
      return nil
    }
    return BlockStore(
      folder, of: Dictionary(zip(order.summary.contents.roots.map(\.name), sources)) { first, _ in first })
  }

  /// Connects a data stream, joins, and sends the frames that the queue gives it.
  func carry(
    _ join: Join, by route: SenderEngine.StreamRoute, _ wakeup: Wakeup, attempts: Int, _ setup: SenderSetup
  ) -> SenderEngine.StreamEnd {
    var hasJoined = route == .asControl
    do throws(ConnectionError) {
      var connection = try connect(by: route, wakeup)
      try ClientPairing.come(back: .join, on: &connection, until: Dialing.deadline)
      hasJoined = true
      setup.post(
        .streamJoined(number, join.stream, by: route == .asControl ? nil : InternetAddress(connection.remoteAddress)))
      var data = OutgoingData(
        connection, join, queue: queue, compression: compression, patience: setup.options.stallPatience,
        attempts: attempts, isDirect: route != .asControl, traffic: transfer.traffic)
      try data.run()
      return .finished
    } catch {
      if queue.isStopped { return .stopped }
      // Another device may be there, or none: the relay remains.
      guard hasJoined else { return .lost(hasBrought: queue.hasBrought(join.stream)) }
      if error.code == .timedOut { transfer.hasFallenSilent.set() }
      return SenderEngine.StreamEnd(by: error, hasBrought: queue.hasBrought(join.stream))
    }
  }

  private func connect(by route: SenderEngine.StreamRoute, _ wakeup: Wakeup) throws(ConnectionError) -> Connection {
    let hasSmallSegments = transfer.hasFallenSilent.isSet
    let isStopped = { @Sendable in queue.isStopped }
    let dialing = { (relay: RelayCalling?) in
      Dialing(
        context: context, pinned: transfer.receiver, hasSmallSegments: hasSmallSegments, relay: relay,
        isStopped: isStopped)
    }
    switch route {
    case .asControl:
      return try dialing(relay).connect(to: [address], wakeup: wakeup)
    case .address(let address):
      return try dialing(nil).connect(to: [SocketAddress(address)], wakeup: wakeup)
    case .round(let addresses):
      return try DirectDial(
        context: context, receiver: transfer.receiver, hasSmallSegments: hasSmallSegments, port: port ?? 0,
        isStopped: isStopped
      ).run(addresses, wakeup)
    }
  }
}
