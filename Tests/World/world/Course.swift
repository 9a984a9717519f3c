import CWorld
import Foundation
import MigrationEngine
import MigrationSystem
import MigrationWire

/// One seed: two users want everything on the new device, and start their command again until it is.
struct Course {
  static let second: UInt64 = 1_000_000_000
  var now: UInt64 { world_count().time }
  /// How often a user tries: nothing that the world does lasts that long.
  private static let mostStarts = 40
  /// How long an end may run after the other one has ended.
  private static let longestEnd = 3600 * second

  let kind: Kind
  var tally = Tally()
  var users: [User]
  var between: Between?
  var faults: Int
  private var hasForgotten = false
  /// Whether anything has happened in this pass for which a run may fail.
  var isExcused = false
  /// Whether a disk has lost what was written, and its machine is about to lose its power.
  private var isLosing = false
  private var losses: UInt64 = 0
  /// The room of a disk that is nearly full.
  private var room: UInt64 = 0
  /// How often the user sends: each time what has changed meanwhile, or another source.
  private var passesLeft: Int
  private let streams: UInt32?
  /// The code that the receiver shows.
  private var code = Ends.code
  var watch = Watch()
  var versions = Versions()
  var sources: [Source]
  /// The number of the source that this pass sends.
  var current = 0
  var changes: Changes
  /// What was at the destination before.
  private var before = Tree()
  /// A folder that cannot be read now, and the paths in it that had arrived.
  private var shut: (folder: String, arrived: [String])?

  static func run(_ seed: UInt64, isCalm: Bool, traces: Bool) -> (Tally, String?) {
    world_ground()
    world_begin(seed, traces)
    var course = Course(seed, isCalm: isCalm)
    let broken = course.run() ?? course.settle()
    let counts = world_count()
    course.tally.switches = counts.switches
    course.tally.trace = counts.trace
    return (course.tally, broken)
  }

  private init(_ seed: UInt64, isCalm: Bool) {
    kind = isCalm ? .mixed : Kind.besides(seed) ?? Kind.drawn()
    faults = isCalm ? 0 : kind.faults
    streams = kind == .torn ? 2 + UInt32(world_draw(2)) : [nil, 1, 2, 3][Int(world_draw(4))]
    passesLeft = kind.passes
    sources = [Source(seed, "a", withLarge: kind.hasLarge, withImage: kind.hasImage)]
    if passesLeft > 0 { sources.append(Source(~seed, "b")) }
    changes = Changes(seed: seed, mayHide: kind != .unrecorded)
    users = [
      User(
        name: "receiver", home: Ends.newHome, disk: Disk([Ends.destination, Ends.newHome, Ends.otherHome])),
      User(name: "sender", home: Ends.oldHome, disk: Disk([Ends.source, Ends.oldHome])),
    ]
    if world_draw(3) == 0 { world_slow(200_000_000, Self.second / 2) }
    putBetween(seed)
    prepare()
    send()
  }

  /// Whether both ends remember each other.
  private var remembers: Bool { sources.count > 1 }

  private mutating func prepare() {
    switch kind {
    case .mixed, .shut, .unrecorded, .stopped, .torn, .parts, .struck, .relayed, .blocks: return
    case .edited:
      if world_draw(2) == 0 { world_tick(10_000_000) }
      versions.note(sources[0].tree)
    case .beside:
      // Another home has received into the same folder.
      let process = Ends.start { try Ends.receive(home: Ends.otherHome, port: 47471) }
      _ = world_turn(now + Self.second, 0)
      world_kill(process, false)
    case .aside:
      changes.settle(in: Ends.destination, under: sources[0].roots)
      before = Tree(Ends.destination)
      users[0].disk.look()
    case .full:
      world_slow(Self.second, 2 * Self.second)
      room = UInt64(sources[0].tree.items.values.reduce(0) { $0 + ($1.content.count + 8191) / 4096 * 4096 }) + 65536
      world_narrow(room)
      world_lose_at_sync(world_draw(3) > 0)
    }
  }

  /// The commands of both users.
  private mutating func setCommands() {
    let (source, streams, code, remembers, kind) = (sources[current], streams, code, remembers, kind)
    let existing: Existing? = kind == .aside ? .setAside : nil
    let access = between.map { _ in Ends.access }
    users[0].start = {
      try Ends.receive(
        code: code, remembers: remembers, existing: existing, isStoppable: kind == .stopped, through: access)
    }
    users[1].start = {
      try Ends.send(
        source.roots, of: source.folder, streams: streams, code: code, remembers: remembers, inParts: kind == .parts,
        isStoppable: kind == .stopped, through: access)
    }
  }

  /// Both users begin.
  private mutating func send() {
    setCommands()
    isExcused = kind.mayFail
    for index in users.indices {
      (users[index].starts, users[index].isDone, users[index].wasTold, users[index].processes) = (0, false, false, [])
      users[index].startsAt = now + (index == 0 ? 0 : Self.second + world_draw(2 * Self.second))
    }
    if kind == .stopped { users[Int(world_draw(2))].startsAt = now + 60 * Self.second }
    watch.begin()
  }

  /// Time passes: both users change something, and send once more.
  private mutating func sendAgain() {
    passesLeft -= 1
    tally.passes += 1
    world_refuse(nil)
    // A sender without a record of the end learns it in its next run; what changes now goes with the run behind.
    if users[1].isDone || !Promises.isEndUnknown {
      changes.change(Ends.destination, knowing: &sources)
      current = Int(world_draw(2))
      changes.change(&sources[current])
    }
    for index in users.indices { users[index].disk.look() }
    send()
  }

  private mutating func run() -> String? {
    while true {
      if let broken = watch.look() { return broken }
      for index in users.indices where users[index].startsAt.map({ $0 <= now }) ?? false { start(index) }
      startRelay()
      if users.contains(where: \.isDone), users.allSatisfy({ $0.process == nil && $0.startsAt == nil }) {
        // A second run comes to its end too, or waits in vain. Nothing is to come of the others any more.
        while users.contains(where: { $0.others.values.contains(.again) }) {
          let news = world_turn(now + Self.longestEnd, 0)
          if news == world_moment || news == world_stuck { break }
          if let broken = reap() { return broken }
        }
        for index in users.indices {
          for other in users[index].others.keys.sorted() { world_kill(other, false) }
          users[index].others = [:]
        }
        raiseRelay()
        if let broken = tellAgain() ?? judge() { return broken }
        sources[current].wasSent = true
        if passesLeft == 0 { return endRelay() }
        sendAgain()
        continue
      }
      let starts = (users.map(\.startsAt) + [between?.startsAt]).compactMap { $0 }.min()
      switch world_turn(starts ?? now + Self.longestEnd, pause) {
      case world_moment:
        if starts == nil { return "\(running) does not end" }
      case world_stuck: return "\(running) waits without an end"
      case world_alarm:
        if world_count().losses > losses {
          losses = world_count().losses
          tally.lostWrites += 1
          isLosing = true
        } else {
          faults -= 1
          harm()
          if kind == .aside, faults == 0 { return forgetHalf() }
        }
      default:
        if let broken = reap() { return broken }
      }
    }
  }

  /// How many points pass until something happens; 0 if nothing does.
  private var pause: UInt64 {
    if isLosing { return 1 + world_draw(200) }
    if faults <= 0 { return 0 }
    if kind == .beside, world_draw(2) == 0 {
      world_alarm_at_folder(1 + world_draw(12))
      return 0
    }
    if kind == .unrecorded { return 1 + world_draw(4) }
    if kind == .edited { return 1 + world_draw(64) }
    if kind == .relayed { return 1 + world_draw(UInt64(1) << (4 + world_draw(6))) }
    if kind == .struck {
      world_alarm_at_message(1 + world_draw(48))
      return 0
    }
    return kind == .aside || kind == .shut ? 1 + world_draw(20) : 1 + world_draw(UInt64(1) << (3 + world_draw(11)))
  }

  private var running: String { users.filter { $0.process != nil }.map(\.name).joined(separator: " and ") }

  private mutating func start(_ index: Int) {
    if isLosing { harm() }
    let (user, isForgotten) = (users[index], hasForgotten && users[index].starts > 0)
    users[index].startsAt = nil
    users[index].starts += 1
    beginsBesides(index)
    let process = Ends.start {
      // What one device has forgotten cannot go on: the other one's user is told so.
      if isForgotten { try? Ends.forget(user.home) }
      try user.start()
    }
    users[index].process = process
    users[index].processes.insert(process)
    // Some users start two at once.
    if kind == .mixed, faults > 0, users[index].starts == 1, world_draw(4) == 0 { startOther(.again, index) }
  }

  private mutating func startOther(_ other: Other, _ index: Int) {
    if other == .forget {
      hasForgotten = true
      watch.stop()
    }
    if other == .again || other == .forget { isExcused = true }
    let user = users[index]
    let process = Ends.start {
      switch other {
      case .again: try user.start()
      case .forget: try Ends.forget(user.home)
      case .purge: try Ends.purge(user.home)
      case .forgetElsewhere: try Ends.forget(Ends.otherHome)
      }
    }
    if other != .again { world_favour(process) }
    users[index].others[process] = other
    users[index].processes.insert(process)
    tally.secondProcesses += 1
  }

  /// Takes note of the processes that have ended.
  private mutating func reap() -> String? {
    if let broken = reapRelay() { return broken }
    for index in users.indices {
      let name = users[index].name
      for (process, other) in users[index].others.sorted(by: { $0.key < $1.key }) where world_result(process) >= 0 {
        users[index].others[process] = nil
        if world_left(process) > 0 {
          return "the second \(name) has left \(world_left(process)) threads or descriptors"
        }
        if other == .again, world_result(process) == 0 { users[index].isDone = true }
        if world_result(process) != 0, !isExcused {
          return "the second \(name), to \(other), ends with \(world_result(process)), and nothing has failed"
        }
      }
      guard let process = users[index].process, world_result(process) >= 0 else { continue }
      let (result, left) = (world_result(process), world_left(process))
      users[index].process = nil
      if result == Ends.late { return "the \(name) does not stop" }
      if left > 0 { return "the \(name) has left \(left) threads or descriptors" }
      if result == 0 {
        users[index].isDone = true
        users[index].removed = world_told(process) - 1
      } else if !isExcused {
        return "the \(name) ends with \(result), and nothing has failed"
      } else if let broken = again(index, result) {
        return broken
      }
    }
    return nil
  }

  /// The user starts the command again, if there is a reason.
  mutating func again(_ index: Int, _ result: CInt? = nil) -> String? {
    // The other end has everything, or knows that.
    if users.contains(where: \.isDone) { return nil }
    // What was forgotten after it had arrived, or was told to be there, would be sent again, and its names are
    // taken.
    if result == Failure.Kind.refused.rawValue, hasForgotten || users[1].wasTold, isThere {
      users[index].isDone = true
      return nil
    }
    if kind == .full, result == Failure.Kind.noSpace.rawValue { world_narrow(room) }
    // Three attempts to pair did not come to their end: the receiver is started again and shows a new code.
    if index == 1, result == Failure.Kind.pairing.rawValue {
      code = PairingCode(number: UInt32(world_draw(10_000_000)))
      setCommands()
      kill(0)
      users[0].startsAt = users[0].startsAt ?? now
    }
    // Another command of this user may be at work.
    if users[index].others.values.contains(.again) { users[index].starts -= 1 }
    guard users[index].starts < Self.mostStarts else {
      return "the \(users[index].name) does not succeed: it ends with \(result.map { "\($0)" } ?? "a kill")"
    }
    // A receiver that has lost its relay learns it after a minute, and shows another place then.
    let isAway = between != nil && result == Failure.Kind.pairing.rawValue
    users[index].startsAt = now + world_draw((isAway ? 30 : 5) * Self.second)
    return nil
  }

  private mutating func harm() {
    if isLosing {
      isLosing = false
      for index in users.indices { losePower(index) }
      return
    }
    if between != nil, kind.harmsRelay, world_draw(4) == 0 { return harmRelay() }
    let index = Int(world_draw(2))
    switch kind {
    case .mixed, .blocks: break
    case .beside: return startOther(index == 0 && world_draw(2) == 0 ? .forgetElsewhere : .purge, index)
    case .aside:
      if hasSetAside {
        for index in users.indices { kill(index) }
        faults = 0
      }
      return
    case .full: return
    case .shut: return shutFolder()
    case .torn, .stopped, .edited, .parts, .struck, .relayed: return harmBesides(index)
    case .unrecorded:
      // Something is in place.
      if Tree.names(of: Ends.destination).contains(where: { !$0.hasPrefix(".peer-") }) {
        world_refuse(Ends.newHome)
        faults = 0
      }
      return
    }
    isExcused = true
    switch world_draw(13) {
    case 0, 1, 2:
      restart(index)
    case 3, 4: losePower(index)
    case 5, 6, 7: startOther(Other(rawValue: world_draw(3))!, index)
    case 8, 9, 10: cut(for: 0)
    case 11: cut(for: world_draw(100 * Self.second))
    default:
      world_lose_writes()
      losses += 1
      tally.lostWrites += 1
      isLosing = true
    }
  }

  mutating func kill(_ index: Int) {
    guard let process = users[index].process else { return }
    world_kill(process, false)
    users[index].process = nil
    users[index].wasTold = users[index].wasTold || world_told(process) > 0
    if index == 1 { watch.senderHasDied() }
    tally.kills += 1
  }

  /// A user's process dies, and the user starts another one, if there is a reason.
  mutating func restart(_ index: Int) {
    kill(index)
    _ = again(index)
  }

  /// A connection is cut, or stalls for some time.
  mutating func cut(for time: UInt64) {
    guard world_cut(time) else { return }
    if time == 0 { tally.cuts += 1 } else { tally.stalls += 1 }
  }

  mutating func losePower(_ index: Int) {
    let running = users[index].others.keys.sorted() + (users[index].process.map { [$0] } ?? [])
    for process in running {
      world_kill(process, true)
      users[index].wasTold = users[index].wasTold || world_told(process) > 0
    }
    if index == 0 { watch.receiverLosesPower() }
    users[index].disk.losePower(of: users[index].processes)
    if index == 1 { watch.senderHasDied() }
    (users[index].process, users[index].others, users[index].processes) = (nil, [:], [])
    tally.powerLosses += 1
    if !users[index].isDone, users[index].startsAt == nil { _ = again(index) }
  }

  private static func folder(of path: String) -> String? { path.lastIndex(of: "/").map { String(path[..<$0]) } }

  /// The sender dies, and its next run cannot read one of its folders.
  private mutating func shutFolder() {
    let staged = Tree(Ends.destination).staged
    let arrived = sources[0].tree.items.filter { $0.value.mode & S_IFMT == S_IFREG && staged.items[$0.key] == $0.value }
    // Something must be left to send.
    guard users[1].process != nil, arrived["large"] == nil,
      let folder = arrived.keys.compactMap(Self.folder(of:)).filter({ $0.contains("/") }).min()
    else { return }
    faults = 0
    shut = (folder, arrived.keys.filter { $0.hasPrefix(folder + "/") }.sorted())
    world_say("\(folder) cannot be read any more, and \(shut?.arrived.count ?? 0) items of it have arrived")
    var status = stat()
    lstat("\(sources[0].folder)/\(folder)", &status)
    world_shut(UInt64(status.st_ino))
    restart(1)
  }

  // MARK: What is promised

  /// Whether an import has given something another name.
  private var hasSetAside: Bool {
    Tree.names(of: Ends.destination).contains { !$0.hasPrefix(".peer-") && !sources[0].roots.contains($0) }
  }

  /// A sender that did not live to its own end tells first that everything has arrived. It goes on with a known
  /// device, which has ended.
  private func tellAgain() -> String? {
    guard !users[1].isDone, Promises.isEndUntold else { return nil }
    let result = alone(users[1].start)
    // At a relay nothing tells whether that one will come back: its place there is asked for.
    let lost = between == nil ? Failure.Kind.connectionLost : .pairing
    let hasGoneOn = result == lost.rawValue && !Promises.isEndUntold
    return result == 0 || hasGoneOn ? nil : "the sender does not tell again that everything has arrived"
  }

  private var isThere: Bool { Tree(Ends.destination).withoutStaging.difference(from: sources[0].tree) == nil }

  /// What lies in the folders at last.
  private func judge() -> String? {
    let there = Tree(Ends.destination).withoutStaging
    if let shut {
      let (lost, kept) = (sources[0].tree.without(shut.folder), there.without(shut.folder))
      if let difference = kept.difference(from: lost) { return difference }
      return shut.arrived.first { there.items[$0]?.content != sources[0].tree.items[$0]?.content }.map {
        "\($0) had arrived, and is lost"
      }
    }
    if kind == .edited { return versions.broken(in: there, from: sources[0].tree, after: watch.finishes) }
    if tally.passes > 0 || kind == .aside {
      if let lost = changes.lost(of: sources, in: there) { return lost }
    } else if let difference = there.difference(from: sources[0].tree) {
      return difference
    }
    // Without records no device knows it.
    let hasRecords = kind != .unrecorded && !Promises.hasPairedAgain
    if !isExcused, hasRecords, tally.passes > 0, changes.removed(from: sources[current], number: current) > 0 {
      for user in users where user.removed == 0 { return "the \(user.name) does not say that items were removed" }
    }
    return nil
  }

  /// Both users forget what is unfinished: nothing is left then.
  private mutating func settle() -> String? {
    world_shut(0)
    world_refuse(nil)
    let there = Tree(Ends.destination).withoutStaging
    // A journal that the disk has lost does not show whose its directory is: the users are told so.
    if let broken = Promises.brokenInHomes(isOver: false, mayHaveLeftovers: losses > 0) { return broken }
    for home in [Ends.newHome, Ends.oldHome] {
      let result = alone {
        try Ends.forget(home)
        try Ends.forgetLeftovers(home)
      }
      guard result == 0 else { return "the records in \(home) cannot be forgotten" }
    }
    if let difference = Tree(Ends.destination).difference(from: there) { return "forgotten: \(difference)" }
    for source in sources {
      if let difference = Tree(source.folder).difference(from: source.tree) { return "the source: \(difference)" }
    }
    return Promises.brokenInHomes(isOver: true)
  }

  /// The import has died while something has another name, and is forgotten.
  private mutating func forgetHalf() -> String? {
    watch.stop()
    let result = alone { try Ends.forget(Ends.newHome) }
    let there = Tree(Ends.destination).withoutStaging
    if let lost = changes.lost(of: [], in: there) { return lost }
    guard result == 0, there.difference(from: before) != nil else { return nil }
    // The import may have been complete.
    return there.contains(sources[0].tree) ? nil : "forgotten: \(there.difference(from: before) ?? "")"
  }

  /// Runs one process to its end.
  private func alone(_ body: @escaping () throws -> Void) -> CInt {
    let process = Ends.start(body)
    while world_result(process) < 0 {
      let news = world_turn(now + Self.longestEnd, 0)
      if news == world_moment || news == world_stuck { return -1 }
    }
    return world_result(process)
  }
}
