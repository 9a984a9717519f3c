import CWorld
import Foundation
import MigrationEngine
import MigrationTransfer
import MigrationWire

/// What is judged while both ends run.
struct Watch {
  private let acknowledged = Acknowledged()
  /// What was at the destination before anything of this pass could arrive; nil if something may have.
  private var before: Tree?
  private var finishesBefore = 0
  private var isOver = false
  private var hasSenderDied = false

  /// How often a sender has said FINISH.
  var finishes: Int { acknowledged.finishes }

  /// Both users begin.
  mutating func begin() {
    _ = acknowledged.hear()
    before = acknowledged.mayImport ? nil : Tree(Ends.destination).withoutStaging
    finishesBefore = acknowledged.finishes
  }

  /// From here on users forget what is promised.
  mutating func stop() {
    _ = acknowledged.hear()
    isOver = true
  }

  /// The receiver's machine is about to lose its power.
  mutating func receiverLosesPower() {
    _ = acknowledged.hear()
    acknowledged.losePower()
  }

  /// A sender has ended at any moment, and its user looks at what it has left.
  mutating func senderHasDied() { hasSenderDied = true }

  /// What is broken so far.
  mutating func look() -> String? {
    guard !isOver else { return nil }
    if let broken = acknowledged.hear() { return broken }
    if let before, acknowledged.finishes == finishesBefore {
      let there = Tree(Ends.destination).withoutStaging
      if there != before { return "before everything has arrived, \(there.difference(from: before) ?? "")" }
    }
    guard hasSenderDied else { return nil }
    hasSenderDied = false
    return Promises.unrecorded(acknowledged.receipted)
  }
}

extension Promises {
  /// A result that a sender has confirmed, and that its record does not have.
  static func unrecorded(_ receipted: [TransferID: Set<UInt16>]) -> String? {
    let listing = try? TransferStore(home: Array(Ends.oldHome.utf8)).listEverything()
    for listed in listing?.transfers ?? [] {
      for part in receipted[listed.remembered.transfer] ?? []
      where listed.remembered.parts[Int(part)].finished == nil {
        return "the sender has confirmed the result of part \(part), and has no record of it"
      }
    }
    return nil
  }
}

/// What a source had at any time, while its user changes it.
struct Versions {
  private var contents: [String: Set<Data>] = [:]
  /// Whether it has changed since the newest sender began.
  private var isStale = false
  /// How often a sender had said FINISH then.
  private var finishes = 0

  /// The newest sender begins.
  mutating func begin(after finishes: Int) { (isStale, self.finishes) = (false, finishes) }

  /// The source is like this now.
  mutating func note(_ tree: Tree) {
    for (path, item) in tree.items { contents[path, default: []].insert(item.content) }
    isStale = true
  }

  /// What is at the destination must have been at the source, as a whole; and all of it, if nothing has
  /// changed since the sender began that has told what there is.
  func broken(in there: Tree, from source: Tree, after finishes: Int) -> String? {
    if !isStale, finishes > self.finishes, let difference = there.difference(from: source) { return difference }
    return there.items.keys.sorted().first { contents[$0]?.contains(there.items[$0]?.content ?? Data()) != true }
      .map { "\($0) has a content that the source has never had" }
  }
}

extension Course {
  /// A command of a user begins, in one of the later kinds.
  mutating func beginsBesides(_ index: Int) {
    if kind == .parts { world_refuse(nil) }
    if kind == .edited, index == 1 { versions.begin(after: watch.finishes) }
  }

  /// Something happens, in one of the later kinds.
  mutating func harmBesides(_ index: Int) {
    switch kind {
    case .torn:
      cut(for: world_draw(4) > 0 ? 0 : world_draw(20 * Self.second))
    case .stopped:
      guard let process = users[index].process else { return }
      world_ask(process)
      tally.stops += 1
    case .edited:
      // What has not arrived yet is seldom worth it.
      guard !Tree(Ends.destination).staged.items.isEmpty || world_draw(64) == 0 else {
        faults += 1
        return
      }
      if world_draw(4) == 0 {
        restart(1)
      } else {
        tally.edits += 1
        if world_draw(4) == 0 { changes.remove(from: &sources[0]) } else { changes.change(&sources[0]) }
        versions.note(sources[0].tree)
      }
    case .struck:
      if world_draw(3) == 0 { return losePower(0) }
      restart(0)
    case .parts:
      let staged = Tree.names(of: Ends.destination).filter { $0.hasPrefix(".peer-") }
      switch world_draw(4) {
      case 0: restart(index)
      case 1: world_refuse(nil)
      default:
        guard !staged.isEmpty else { return }
        world_refuse("\(Ends.destination)/\(staged[Int(world_draw(UInt64(staged.count)))])")
      }
    case .relayed:
      // Before the devices have a transfer, only users go on.
      guard Promises.isEndUnknown || world_draw(32) == 0 else {
        faults += 1
        return
      }
      harmRelay()
    case .mixed, .beside, .aside, .full, .shut, .unrecorded, .blocks: return
    }
  }
}
