import MigrationArchive
import MigrationSystem
import MigrationWire

/// Everything that outlives the processes of one simulation, and what is expected of them.
final class Ground {
  /// The archive is cut into small pieces, so that little data makes many frames.
  static let sizes = FramePacker.Sizes(smallFile: 300, chunk: 700, fullFrame: 900)
  static let frameCapacity = 2_048

  let world: World
  let mutation: Mutation?
  let network: Network
  let disk: SimulatedDisk
  let source: SimulatedSource
  let furniture: Furniture
  let announcedRoots: [Root]
  let windowFrames: Int
  var store: ReceiverStore?
  var senderKnows: TransferID?
  /// How often the end may still be spoilt.
  var importRisks = 0
  private(set) var promises: Promises!
  private(set) var hasLostPower = false

  private(set) var sender: SenderDriver?
  private(set) var receiver: ReceiverDriver?
  var tally = Faults()
  private(set) var steps = 0

  /// What was sent, and how much of it more than once.
  private var sentOnce: [[UInt8]: ByteRanges] = [:]
  private(set) var sentTwice = 0
  private(set) var allowedTwice = 0
  private var finish: Finish?
  /// What the destination could not hold, and how many items that is.
  private var refusedPaths: Set<[UInt8]> = []
  private var notStored: UInt64 = 0
  private var finishUnsent = 0
  private var finishStart = 0
  private var finishListed = 0
  private(set) var isSenderDone = false
  private(set) var isReceiverDone = false

  init(seed: UInt64, mutation: Mutation?, keepsTrace: Bool) {
    world = World(seed: seed, keepsTrace: keepsTrace)
    self.mutation = mutation
    network = Network(world)
    disk = SimulatedDisk(world, mutation: mutation)
    source = SimulatedSource(world, mutation: mutation)
    windowFrames = world.dice.roll(2...5)
    source.populate()
    furniture = Furniture(disk, like: source)
    announcedRoots = source.top.names.map { Root(kind: .directory, name: $0) }
    promises = Promises(world) { [unowned self] in currentGenerations }
  }

  private var currentGenerations: [ArchivePath: Generation] {
    guard let keys = store?.keys else { return [:] }
    var generations: [ArchivePath: Generation] = [:]
    for (path, version) in source.current {
      guard let path = try? ArchivePath(path) else { continue }
      generations[path] = keys.generation(of: version.fingerprint)
    }
    return generations
  }

  var faults: Faults {
    var faults = tally
    faults.changes = source.changes
    return faults
  }

  /// Lets one thing happen while something else goes on.
  func stepInside() -> Bool {
    steps += 1
    return world.broken == nil && world.step()
  }

  // MARK: Processes

  func startSender() {
    guard sender == nil, !isSenderDone else { return }
    sender = SenderDriver(self)
  }

  func startReceiver() {
    guard receiver == nil, !isReceiverDone || !isSenderDone else { return }
    receiver = ReceiverDriver(self)
    if receiver?.isAlive == false { receiver = nil }
  }

  func senderDied(_ sender: SenderDriver) {
    interrupted()
    self.sender = nil
    world.after(world.dice.roll(1_000...400_000)) { [self] in startSender() }
  }

  func receiverDied(_ receiver: ReceiverDriver) {
    interrupted()
    self.receiver = nil
    world.after(world.dice.roll(1_000...400_000)) { [self] in startReceiver() }
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

  /// How much was sent in all, and how much of that when the last sync that succeeded began.
  private(set) var sentInAll = 0
  private var durableUpTo = 0

  // MARK: What happens

  func recovered(_ staging: Staging) {
    checkFurniture(destination)
    guard let keys = store?.keys else { return }
    promises.recovered(staging, keys: keys, hasLostPower: hasLostPower)
    hasLostPower = false
  }

  func interrupted() { allowedTwice += windowFrames * Self.frameCapacity }

  /// A frame's entries go out: what went before is counted.
  func sending(_ entries: [UInt8]) {
    var reader = EntryReader(0..<entries.count)
    while let entry = try? reader.next(entries.span) {
      switch entry {
      case .item(let record, let content):
        if record.kind == .hardLink { promises.sendingLink(record.path) }
        if content != nil { send(record.path, record.generation, 0..<record.size) }
      case .chunk(let place, _, _): send(place.path, place.generation, place.range)
      case .hole: continue
      }
    }
  }

  private func send(_ path: ArchivePath, _ generation: Generation, _ range: Range<UInt64>) {
    var key = path.bytes
    withUnsafeBytes(of: generation) { key += $0 }
    var ranges = sentOnce[key, default: ByteRanges()]
    let before = ranges.count
    ranges.insert(range)
    sentOnce[key] = ranges
    sentTwice += range.count - Int(ranges.count - before)
    sentInAll += range.count
  }

  /// The end is near, and now and then the process does not live to see it, or the power goes.
  func riskImport() {
    guard importRisks > 0, world.dice.one(in: 2) else { return }
    importRisks -= 1
    tally.receiverKills += 1
    disk.operationsToLive = world.dice.roll(0...30)
    if world.dice.one(in: 3) { world.after(world.dice.roll(1...1_000)) { [self] in losePower() } }
  }

  /// A sync is done that began when so much was sent.
  func synced(_ sent: Int) { durableUpTo = max(durableUpTo, sent) }

  func exported(_ finish: Finish, unsent: Int, listed: Int, start: Int) {
    self.finish = finish
    finishUnsent = unsent
    finishStart = start
    finishListed = listed
  }

  func concluded(_ finish: Finish) { world.note("concluded \(finish.total)") }

  func imported() {
    world.note("imported")
    promises.fulfilled()
    checkDestination()
  }

  func receiverFinished() {
    isReceiverDone = true
    receiver = nil
    world.note("receiver is done")
  }

  /// What an import begins without.
  func refused(_ staging: Staging) {
    refusedPaths = Set(staging.refusals(from: 0).map(\.path.bytes))
    notStored = staging.notStored
    tally.refusals += Int(notStored)
    world.check(notStored <= refusedPaths.count, "\(notStored) items are not stored, \(refusedPaths.count) are named")
    world.check(notStored == 0 || disk.bounds != nil, "a disk that holds everything refuses \(notStored) items")
  }

  /// `refused` is what the sender has heard of in the session in which it heard DONE.
  func senderFinished(_ done: Done, exportStart: Int, refused: Set<[UInt8]>) {
    world.check(done.notStored == store?.done?.notStored, "the sender was told another number of items not stored")
    world.check(refused == refusedPaths, "the sender has not heard of all that is not stored")
    isSenderDone = true
    sender = nil
    world.check(store?.done != nil, "the sender was told done, and it is not")
  }

  /// Tells what is in the journal, for whoever has to find out why it was refused.
  func noteJournal() {
    guard world.trace.keepsAll, let key = store?.keys.journalKey else { return }
    let bytes = disk.journalNode.state.data
    var position = 0
    while position < bytes.count,
      let (record, length) = try? JournalRecord.read(
        bytes.span.extracting(position...), position: UInt64(position), key: key)
    {
      world.note("  \(position) \(Self.brief(record))")
      position += length
    }
    let later = JournalRecord.greatestSyncMark(
      bytes.span.extracting(min(position, bytes.count)...), position: UInt64(position), key: key)
    world.note("  ends at \(position) of \(bytes.count), vouched for later: \(later.map(String.init) ?? "nothing")")
  }

  private static func brief(_ record: JournalRecord) -> String {
    switch record {
    case .item(let item, _): return "item \(text(item.path)) \(short(item.generation)) \(item.size)"
    case .range(let place, _): return "range \(text(place.path)) \(short(place.generation)) \(place.range)"
    case .sealed(let item): return "sealed \(text(item.path)) \(short(item.generation)) \(item.size)"
    case .discarded(let path): return "discarded \(text(path))"
    case .discardedTree(let path): return "discardedTree \(text(path))"
    default: return "\(record)"
    }
  }

  /// Tells what is in a frame.
  func noteEntries(_ body: [UInt8]) {
    guard world.trace.keepsAll else { return }
    var reader = EntryReader(Limits.dataHeader..<body.count)
    while let entry = try? reader.next(body.span) {
      switch entry {
      case .item(let record, let content):
        let kind = content == nil ? "\(record.kind)" : "whole"
        world.note("  arrives \(kind) \(Self.text(record.path)) \(Self.short(record.generation)) \(record.size)")
      case .chunk(let place, _, _), .hole(let place, _):
        world.note("  arrives \(Self.text(place.path)) \(Self.short(place.generation)) \(place.range)")
      }
    }
  }

  private static func text(_ path: ArchivePath) -> String { String(decoding: path.bytes, as: UTF8.self) }
  private static func short(_ generation: Generation) -> String {
    String(UInt16(truncatingIfNeeded: generation), radix: 16)
  }

  /// Makes the journal say that all of it is durable.
  func vouchForJournal() {
    guard let key = store?.keys.journalKey else { return }
    let bytes = disk.journalNode.state.data
    var position = 0
    while position < bytes.count,
      let (_, length) = try? JournalRecord.read(
        bytes.span.extracting(position...), position: UInt64(position), key: key)
    {
      position += length
    }
    var writer = ByteWriter()
    JournalRecord.synced(upTo: UInt64(position)).write(to: &writer, position: UInt64(position), key: key)
    disk.journalNode.write(.data(position, writer.bytes))
    disk.journalNode.commit(disk.journalNode.pending.count)
  }
}

/// How often what went wrong.
public struct Faults: Sendable {
  public var cuts = 0
  public var streamCuts = 0
  public var senderKills = 0
  public var receiverKills = 0
  public var powerLosses = 0
  public var changes = 0
  public var diskErrors = 0
  /// Items that the disk could not hold.
  public var refusals = 0
  /// How many of the receiver's deaths came between the finished archive and its answer.
  public var importKills = 0

  public init() {}

  public mutating func add(_ other: Faults) {
    cuts += other.cuts
    streamCuts += other.streamCuts
    senderKills += other.senderKills
    receiverKills += other.receiverKills
    powerLosses += other.powerLosses
    changes += other.changes
    diskErrors += other.diskErrors
    refusals += other.refusals
    importKills += other.importKills
  }
}

extension Version {
  /// What the generation of this version is made of.
  var fingerprint: SourceFingerprint {
    SourceFingerprint(
      fileSystem: 77, inode: inode, size: UInt64(kind == .regular ? data.count : 10), modified: ItemTime(modified),
      changed: ItemTime(changed))
  }
}

extension Ground {
  /// What is at the destination must be what the source had: each file one version of itself, and one that was there when
  /// the last export began or later; and all of it, if nothing changed since it was listed.
  func checkDestination() {
    guard let finish else { return world.fail("something was imported without a finish") }
    let all = destination
    checkFurniture(all)
    let arrived = all.filter { !furniture.isOld($0.key, $0.value) }
    if furniture.existing == .refuse || furniture.existing == .keepBoth {
      world.check(
        arrived.count + Int(notStored) == Int(finish.total.items),
        "\(arrived.count) items arrived, \(notStored) were refused, \(finish.total.items) were sent")
    }
    for (path, node) in arrived.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let name = String(decoding: path, as: UTF8.self)
      let versions = source.history(of: furniture.original(of: path))
      let same = versions.filter { $0.version.matches(node, ignoringTimes: mutation == .ignoreFingerprint) }
      if same.isEmpty {
        world.note(
          "arrived: \(node.kind) \(node.state.mode) \(String(describing: node.state.modified)) \(node.state.data.count)"
        )
        for (version, until) in versions {
          let differences = zip(version.data, node.state.data).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
          world.note(
            "version until \(until): \(version.kind) \(version.mode) \(version.modified) \(version.data.count), "
              + "differs at \(differences.count) from \(differences.first ?? -1) to \(differences.last ?? -1)")
        }
      }
      world.check(!same.isEmpty, "\(name) is no version that the source ever had")
      world.check(
        same.isEmpty || same.contains { $0.until >= finishStart }, "\(name) is a version from before the last export")
    }
    if source.lastChange < finishListed, finishUnsent == 0 {
      let names = Set(all.keys.map(furniture.original))
      for path in source.current.keys.sorted(by: { $0.lexicographicallyPrecedes($1) })
      where !names.contains(path) && !furniture.blocks(path) && !refusedPaths.contains(path) {
        world.fail("\(String(decoding: path, as: UTF8.self)) is missing")
      }
      if disk.hasHardLinks, furniture.existing == .refuse { checkLinks(arrived) }
    }
  }

  /// What was at the destination is there, or something whole is in its place.
  private func checkFurniture(_ arrived: [[UInt8]: Node]) {
    furniture.check(arrived) { path, node in
      source.history(of: path).contains {
        $0.version.matches(node, ignoringTimes: mutation == .ignoreFingerprint)
      }
    }
  }

  /// Names that lead to one file at the source lead to one file here.
  private func checkLinks(_ arrived: [[UInt8]: Node]) {
    var first: [UInt64: Node] = [:]
    for (path, version) in source.current.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      guard version.kind == .regular, let node = arrived[path] else { continue }
      if let other = first.updateValue(node, forKey: version.inode), other !== node {
        world.fail("\(String(decoding: path, as: UTF8.self)) is no link any more")
      }
    }
  }

  private var destination: [[UInt8]: Node] {
    var found: [[UInt8]: Node] = [:]
    var pending = disk.destination.entries.map { ($0.key, $0.value) }
    while let (path, node) = pending.popLast() {
      found[path] = node
      for (name, child) in node.entries { pending.append((path + [UInt8(ascii: "/")] + name, child)) }
    }
    return found
  }
}

extension Version {
  /// The extended metadata, as the disk keeps it.
  private var attributes: [[UInt8]: [UInt8]] {
    var attributes = Dictionary(extended.attributes.map { ($0.name, $0.value) }) { one, _ in one }
    if !extended.accessList.isEmpty {
      attributes[SimulatedPlaces.listName(.access)] = SimulatedPlaces.bytes(extended.accessList)
    }
    if !extended.defaultAccessList.isEmpty {
      attributes[SimulatedPlaces.listName(.default)] = SimulatedPlaces.bytes(extended.defaultAccessList)
    }
    return attributes
  }

  fileprivate func matches(_ node: Node, ignoringTimes: Bool) -> Bool {
    guard kind == node.kind, attributes == node.state.attributes else { return false }
    let modified = ignoringTimes ? node.state.modified : modified
    switch kind {
    case .regular: return data == node.state.data && mode & 0o1777 == node.state.mode && modified == node.state.modified
    case .symbolicLink: return target == node.target && modified == node.state.modified
    default: return mode & 0o1777 == node.state.mode && modified == node.state.modified
    }
  }
}
