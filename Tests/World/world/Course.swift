import CWorld
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// One seed: two users want everything on the new device, and start their command again until it is.
struct Course {
  /// A machine, and its user with a command that is started again until it succeeds.
  private struct User {
    let name: String
    let home: String
    var start: () throws -> Void
    var disk: Disk
    /// The running process.
    var process: CInt?
    /// Other commands of this user.
    var others: [CInt: Other] = [:]
    /// All processes since the machine was switched on.
    var processes: Set<CInt> = []
    var startsAt: UInt64?
    var starts = 0
    var isDone = false
    /// Whether nothing was left for another start.
    var isTidy = false
  }

  /// What a second process does.
  private enum Other: UInt64, CaseIterable {
    /// The same command.
    case again
    case forget, purge
  }

  private static let second: UInt64 = 1_000_000_000
  /// How often a user tries: nothing that the world does lasts that long.
  private static let mostStarts = 40
  /// How long an end may run after the other one has ended.
  private static let longestEnd = 3600 * second

  private var tally = Tally()
  private var users: [User]
  private var faults: Int
  private var hasForgotten = false
  /// Whether a disk has lost what was written, and its machine is about to lose its power.
  private var isLosing = false
  /// How often the user sends: each time what has changed meanwhile, or another source.
  private var passesLeft: Int
  private let streams: UInt32?
  private var sources: [Source]
  /// The number of the source that this pass sends.
  private var current = 0
  private var changes: Changes

  static func run(_ seed: UInt64, isCalm: Bool, traces: Bool) -> (Tally, String?) {
    world_ground()
    world_begin(seed, traces)
    var course = Course(seed, isCalm: isCalm)
    let broken = course.run()
    let counts = world_count()
    course.tally.switches = counts.switches
    course.tally.trace = counts.trace
    return (course.tally, broken)
  }

  private init(_ seed: UInt64, isCalm: Bool) {
    faults = isCalm ? 0 : Int(world_draw(6))
    streams = [nil, 1, 2, 3][Int(world_draw(4))]
    passesLeft = world_draw(3) == 0 ? 1 + Int(world_draw(3)) : 0
    sources = [Source(seed, "a")]
    if passesLeft > 0 { sources.append(Source(~seed, "b")) }
    changes = Changes(seed: seed)
    users = [
      User(name: "receiver", home: Ends.newHome, start: {}, disk: Disk([Ends.destination, Ends.newHome])),
      User(name: "sender", home: Ends.oldHome, start: {}, disk: Disk([Ends.source, Ends.oldHome])),
    ]
    send(remembers: passesLeft > 0)
  }

  /// Both users begin.
  private mutating func send(remembers: Bool) {
    let (source, streams) = (sources[current], streams)
    users[0].start = { try Ends.receive(remembers: remembers) }
    users[1].start = { try Ends.send(source.roots, of: source.folder, streams: streams, remembers: remembers) }
    for index in users.indices {
      (users[index].starts, users[index].isDone, users[index].isTidy, users[index].processes) = (0, false, false, [])
      users[index].startsAt = now + (index == 0 ? 0 : Self.second + world_draw(2 * Self.second))
    }
  }

  /// Time passes: both users change something, and send once more.
  private mutating func sendAgain() {
    passesLeft -= 1
    tally.passes += 1
    changes.change(Ends.destination, knowing: &sources)
    current = Int(world_draw(2))
    changes.change(&sources[current])
    for index in users.indices { users[index].disk.look() }
    send(remembers: true)
  }

  private var now: UInt64 { world_count().time }

  private mutating func run() -> String? {
    while true {
      for index in users.indices where users[index].startsAt.map({ $0 <= now }) ?? false { start(index) }
      if users.contains(where: \.isDone), users.allSatisfy({ $0.process == nil && $0.startsAt == nil }) {
        // Nothing is to come of the others any more.
        for user in users { for other in user.others.keys.sorted() { world_kill(other, false) } }
        sources[current].wasSent = true
        if let broken = judge() { return broken }
        if passesLeft == 0 { return nil }
        sendAgain()
        continue
      }
      let starts = users.compactMap(\.startsAt).min()
      let until = starts ?? now + Self.longestEnd
      let points = isLosing ? 1 + world_draw(200) : faults > 0 ? 1 + world_draw(UInt64(1) << (4 + world_draw(10))) : 0
      switch world_turn(until, points) {
      case world_moment:
        if starts == nil { return "\(running) does not end" }
      case world_stuck: return "\(running) waits without an end"
      case world_alarm:
        faults -= 1
        harm()
      default:
        if let broken = reap() { return broken }
      }
    }
  }

  private var running: String { users.filter { $0.process != nil }.map(\.name).joined(separator: " and ") }

  private mutating func start(_ index: Int) {
    if isLosing { harm() }
    let (user, isForgotten) = (users[index], hasForgotten && users[index].starts > 0)
    users[index].startsAt = nil
    users[index].starts += 1
    let process = Ends.start {
      // What one device has forgotten cannot go on: the other one's user is told so.
      if isForgotten { try? Ends.forget(user.home) }
      try user.start()
    }
    users[index].process = process
    users[index].processes.insert(process)
  }

  /// Takes note of the processes that have ended.
  private mutating func reap() -> String? {
    for index in users.indices {
      let name = users[index].name
      for (process, other) in users[index].others.sorted(by: { $0.key < $1.key }) where world_result(process) >= 0 {
        users[index].others[process] = nil
        if world_left(process) > 0 {
          return "the second \(name) has left \(world_left(process)) threads or descriptors"
        }
        if other == .again, world_result(process) == 0 { users[index].isDone = true }
      }
      guard let process = users[index].process, world_result(process) >= 0 else { continue }
      let (result, left) = (world_result(process), world_left(process))
      users[index].process = nil
      if left > 0 { return "the \(name) has left \(left) threads or descriptors" }
      if result == 0 {
        users[index].isDone = true
        users[index].isTidy = true
      } else if let broken = again(index, result) {
        return broken
      }
    }
    return nil
  }

  /// The user starts the command again, if there is a reason.
  private mutating func again(_ index: Int, _ result: CInt? = nil) -> String? {
    // The other end has everything, or knows that.
    if users.contains(where: \.isDone) { return nil }
    // After all, a name is taken by what has arrived, if an end does not know that any more.
    if result == TransferFailure.Kind.refused.rawValue, mayNotKnow, isThere {
      users[index].isDone = true
      return nil
    }
    // Another command of this user may be at work.
    if users[index].others.values.contains(.again) { users[index].starts -= 1 }
    guard users[index].starts < Self.mostStarts else {
      return "the \(users[index].name) does not succeed: it ends with \(result.map { "\($0)" } ?? "a kill")"
    }
    users[index].startsAt = now + world_draw(5 * Self.second)
    return nil
  }

  private mutating func harm() {
    if isLosing {
      isLosing = false
      for index in users.indices { losePower(index) }
      return
    }
    let index = Int(world_draw(2))
    switch world_draw(13) {
    case 0, 1, 2:
      guard let process = users[index].process else { return }
      world_kill(process, false)
      users[index].process = nil
      tally.kills += 1
      _ = again(index)
    case 3, 4: losePower(index)
    case 5, 6, 7:
      let other = Other(rawValue: world_draw(UInt64(Other.allCases.count)))!
      if other == .forget { hasForgotten = true }
      let user = users[index]
      let process = Ends.start {
        switch other {
        case .again: try user.start()
        case .forget: try Ends.forget(user.home)
        case .purge: try Ends.purge(user.home)
        }
      }
      users[index].others[process] = other
      users[index].processes.insert(process)
      tally.secondProcesses += 1
    case 8, 9, 10: if world_cut(0) { tally.cuts += 1 }
    case 11: if world_cut(world_draw(100 * Self.second)) { tally.stalls += 1 }
    default:
      world_lose_writes()
      tally.lostWrites += 1
      isLosing = true
    }
  }

  private mutating func losePower(_ index: Int) {
    let running = users[index].others.keys.sorted() + (users[index].process.map { [$0] } ?? [])
    for process in running { world_kill(process, true) }
    users[index].disk.losePower(of: users[index].processes)
    (users[index].process, users[index].others, users[index].processes) = (nil, [:], [])
    tally.powerLosses += 1
    if !users[index].isDone, users[index].startsAt == nil { _ = again(index) }
  }

  /// Whether an end may have begun anew, beside what an earlier transfer has left.
  private var mayNotKnow: Bool { hasForgotten || tally.powerLosses > 0 || tally.kills > 0 }

  private var isThere: Bool { Tree(Ends.destination).withoutStaging.difference(from: sources[0].tree) == nil }

  /// What lies in the folders at last.
  private func judge() -> String? {
    var there = Tree(Ends.destination)
    // A receiver that was killed behind its last message has not tidied up, and an end may have begun anew.
    if !users[0].isTidy || mayNotKnow || tally.secondProcesses > 0 { there = there.withoutStaging }
    if tally.passes > 0 {
      if let lost = changes.lost(of: sources, in: there) { return lost }
    } else if let difference = there.difference(from: sources[0].tree) {
      return difference
    }
    for source in sources {
      if let difference = Tree(source.folder).difference(from: source.tree) { return "the source: \(difference)" }
    }
    for home in [Ends.oldHome, Ends.newHome] {
      do {
        if let damaged = try TransferStore(home: Array(home.utf8)).list().damaged.first {
          return "the record \(damaged.identifier) in \(home): \(damaged.reason)"
        }
      } catch {
        return "the records in \(home): \(error.message)"
      }
    }
    return nil
  }
}

extension Tree {
  fileprivate var withoutStaging: Tree {
    var tree = self
    tree.items = items.filter { !$0.key.hasPrefix(".peer-") }
    return tree
  }
}
