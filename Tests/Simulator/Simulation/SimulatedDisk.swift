import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire

/// The receiver's file system in memory: its visible state, and the state that would survive a
/// power failure.
///
/// Changes of names survive in their order, up to some point; contents survive write by write, or
/// not at all, until they are synced. Journaling file systems promise the same, and no more.
final class SimulatedDisk: @unchecked Sendable {
  // Unchecked: a simulation has one thread.

  /// The new meaning of a name.
  private enum Change {
    case link(Node, [UInt8], Node)
    case unlink(Node, [UInt8])
    case rename(Node, [UInt8], Node, [UInt8])
  }

  let world: World
  let mutation: Mutation?
  /// The destination: its entries are the imported roots.
  let destination: Node
  private var changes: [Change] = []
  private var nextNumber: UInt64 = 1
  /// How many more operations the receiver's process survives; nil without a limit.
  var operationsToLive: Int?
  /// Called when the process dies in the middle of an operation.
  var died: () -> Void = {}
  private(set) var isDead = false
  /// Whether operations may fail now and then.
  var isFailing = false
  /// Whether a file can have several names.
  let hasHardLinks: Bool
  /// Whether a rename that replaces nothing is available.
  let promisesToReplaceNothing: Bool
  /// The limits of the disk.
  let bounds: Bounds?
  /// The existing staging directories, in their order of creation.
  private(set) var areas: [SimulatedArea] = []
  /// Lets other events happen during a slow operation.
  var meanwhile: () -> Void = {}

  init(_ world: World, mutation: Mutation?) {
    self.world = world
    self.mutation = mutation
    hasHardLinks = !world.dice.one(in: 4)
    bounds = .some(world.dice)
    promisesToReplaceNothing = !world.dice.one(in: 3)
    destination = Node(number: 0, kind: .directory)
  }

  func node(_ kind: FileKind) -> Node {
    nextNumber += 1
    return Node(number: nextNumber, kind: kind)
  }

  // MARK: The process

  /// Every operation begins here.
  func operate(mayFail: Bool = true) throws(SystemError) {
    if isDead { throw SystemError(errno: EIO, operation: "live") }
    if let left = operationsToLive {
      operationsToLive = left - 1
      if left <= 0 {
        isDead = true
        died()
        throw SystemError(errno: EIO, operation: "live")
      }
    }
    if mayFail, isFailing, world.dice.one(in: 60) {
      throw SystemError(errno: world.dice.one(in: 2) ? ENOSPC : EIO, operation: "write")
    }
  }

  /// The process is killed at its present operation.
  func kill() { isDead = true }

  /// Another process starts.
  func revive() {
    isDead = false
    operationsToLive = nil
  }

  // MARK: Staging as a whole

  /// The staging directory of a transfer, if it exists.
  func area(of transfer: TransferID) -> SimulatedArea? { areas.first { $0.transfer == transfer } }

  /// Makes the staging directory of a transfer, durably.
  func makeArea(of transfer: TransferID) -> SimulatedArea {
    let area = SimulatedArea(transfer, on: self, tree: node(.directory), journal: node(.regular))
    areas.append(area)
    return area
  }

  func removeArea(of transfer: TransferID) { areas.removeAll { $0.transfer == transfer } }

  /// The end: breaks reference cycles.
  func letGo() { (areas, died, meanwhile) = ([], {}, {}) }

  // MARK: Names

  func link(_ directory: Node, _ name: [UInt8], _ node: Node) {
    directory.entries[name] = node
    changes.append(.link(directory, name, node))
  }

  func unlink(_ directory: Node, _ name: [UInt8]) {
    directory.entries[name] = nil
    changes.append(.unlink(directory, name))
  }

  func rename(_ from: Node, _ name: [UInt8], to: Node, _ newName: [UInt8]) {
    to.entries[newName] = from.entries.removeValue(forKey: name)
    changes.append(.rename(from, name, to, newName))
  }

  // MARK: Durability

  /// Makes everything durable that was there when it began, and perhaps more.
  func synchronizeAll() throws(SystemError) {
    try operate()
    let names = changes.count
    let nodes = everything
    let counts = nodes.map(\.pending.count)
    meanwhile()
    try operate(mayFail: false)
    for (node, count) in zip(nodes, counts) {
      if mutation == .journalBeforeSyncing, !node.isJournal { continue }
      node.commit(min(count, node.pending.count))
    }
    if mutation != .journalBeforeSyncing { commit(min(names, changes.count)) }
  }

  private func commit(_ count: Int) {
    for change in changes.prefix(count) { applyDurably(change) }
    changes.removeFirst(count)
  }

  private func applyDurably(_ change: Change) {
    switch change {
    case .link(let directory, let name, let node): directory.durableEntries[name] = node
    case .unlink(let directory, let name): directory.durableEntries[name] = nil
    case .rename(let from, let name, let to, let newName):
      to.durableEntries[newName] = from.durableEntries.removeValue(forKey: name)
    }
  }

  private var everything: [Node] {
    var found: [Node] = areas.flatMap { [$0.journalNode, $0.tree] } + [destination]
    var index = 0
    while index < found.count {
      for name in found[index].entries.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        if let node = found[index].entries[name] { found.append(node) }
      }
      index += 1
    }
    return found
  }

  /// The power fails: unsynced data may be lost.
  func losePower() {
    commit(changes.isEmpty ? 0 : world.dice.roll(0...changes.count))
    changes = []
    var seen: Set<ObjectIdentifier> = []
    var pending = areas.flatMap { [$0.journalNode, $0.tree] } + [destination]
    while let node = pending.popLast() {
      guard seen.insert(ObjectIdentifier(node)).inserted else { continue }
      node.losePower(world.dice, isTorn: node.isJournal)
      for name in node.entries.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        if let child = node.entries[name] { pending.append(child) }
      }
    }
  }
}

/// The staging directory of one transfer.
final class SimulatedArea: @unchecked Sendable {
  // Unchecked: a simulation has one thread.
  let transfer: TransferID
  let disk: SimulatedDisk
  let tree: Node
  let journalNode: Node

  init(_ transfer: TransferID, on disk: SimulatedDisk, tree: Node, journal: Node) {
    self.transfer = transfer
    self.disk = disk
    self.tree = tree
    journalNode = journal
    journal.isJournal = true
  }
}

extension SimulatedArea: StagingDisk {
  var name: [UInt8] { Array(".peer-simulated".utf8) }
  var journal: any StagedFile { SimulatedFile(journalNode, disk) }
  func places() -> any StagingPlaces { SimulatedPlaces(disk, beneath: tree) }
  func synchronize() throws(SystemError) { try disk.synchronizeAll() }
  func space() -> FileSystemSpace? { nil }
}
