import MigrationWire

/// Decides which connections of one kind of origin are let in before READY, in which order, and which of
/// them make room (Protocol §A.3).
///
/// A value: time, chance and the progress of connections arrive as events. A connection in the
/// accept queue costs one descriptor; a connection that was let in also has a thread.
package struct Admission: Sendable {
  /// The progress of a connection.
  package enum Stage: Int, Comparable, Sendable {
    /// Its first record has not arrived.
    case silent
    /// Its first record has arrived, and it waits to be let in.
    case waiting
    /// It was let in; the TLS handshake runs.
    case greeting
    /// TLS is established.
    case secured
    /// Its request has arrived.
    case asking
    /// It has a share, and may prove a code.
    case proving

    package static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  /// The most connections of one kind of origin: of strangers, or of addresses at which a known sender was
  /// seen last.
  package struct Capacity: Sendable {
    package let acceptQueue: Int
    package let inside: Int
    /// How many connections are let in within a second while a session runs, and how many at once.
    package let rate: Double
    package let burst: Double
  }

  package static let forStrangers = Capacity(acceptQueue: 256, inside: 64, rate: 20, burst: 20)
  package static let forFamiliar = Capacity(acceptQueue: 64, inside: 32, rate: 100, burst: 100)

  /// How many seconds a connection keeps its place in any case after it was let in, and after each
  /// step.
  package static let grace = 0.1
  /// How many seconds a silent connection may stay in the accept queue while more than half of the
  /// accept queue's places are taken.
  package static let shortPatience = 1.0

  private struct Visitor: Sendable {
    let address: String
    let network: String
    var stage = Stage.silent
    /// When the connection arrived, was let in, or last made progress.
    var moved: Double

    var isInside: Bool { stage >= .greeting }
  }

  /// The number of connections of each address, or of each network, in the accept queue and inside.
  private struct Shares: Sendable {
    private var counts: [String: (acceptQueue: Int, inside: Int)] = [:]

    func all(_ place: String) -> Int { counts[place].map { $0.acceptQueue + $0.inside } ?? 0 }
    func inside(_ place: String) -> Int { counts[place]?.inside ?? 0 }

    mutating func add(_ acceptQueue: Int, _ inside: Int, to place: String) {
      let known = counts[place] ?? (0, 0)
      let sum = (known.acceptQueue + acceptQueue, known.inside + inside)
      counts[place] = sum == (0, 0) ? nil : sum
    }
  }

  /// The first, second and third number to compare; the lowest rank is chosen.
  private typealias Rank = (Int, Int, Int)

  private let places: Capacity
  private var visitors: [ConnectionID: Visitor] = [:]
  private var networks = Shares()
  private var addresses = Shares()
  /// The connections that may be let in while a session runs.
  private var tokens: TokenBucket
  private(set) var inside = 0

  package init(_ places: Capacity) {
    self.places = places
    tokens = TokenBucket(rate: places.rate, capacity: places.burst, level: places.burst, now: 0)
  }

  package var count: Int { visitors.count }
  private var acceptQueue: Int { visitors.count - inside }

  // MARK: The accept queue

  /// A connection has arrived. Returns the connection that is turned away for lack of room, which
  /// may be the new one.
  package mutating func arrive(
    _ id: ConnectionID, from remote: Remote, now: Double, chance: UInt64
  ) -> ConnectionID? {
    let visitor = Visitor(address: remote.host, network: remote.network, moved: now)
    visitors[id] = visitor
    count(visitor, acceptQueue: 1)
    return acceptQueue > places.acceptQueue ? dismissOne(chance: chance) : nil
  }

  /// Turns one connection in the accept queue away; nil when that is empty. It belongs to the network and
  /// the address with most connections; silent connections are chosen first, and chance decides among equals.
  package mutating func dismissOne(chance: UInt64) -> ConnectionID? {
    let chosen = choose(chance) { visitor -> Rank? in
      if visitor.isInside { return nil }
      return (-networks.all(visitor.network), -addresses.all(visitor.address), visitor.stage.rawValue)
    }
    if let chosen { leave(chosen) }
    return chosen
  }

  /// The first record of a connection in the accept queue has arrived.
  package mutating func heard(_ id: ConnectionID) {
    if visitors[id]?.stage == .silent { visitors[id]?.stage = .waiting }
  }

  /// Removes and returns the connections whose time in the accept queue has ended.
  package mutating func expire(now: Double) -> [ConnectionID] {
    let over = visitors.filter { !$0.value.isInside && deadline(of: $0.value) <= now }.keys.sorted()
    for id in over { leave(id) }
    return over
  }

  private func deadline(of visitor: Visitor) -> Double {
    let isPressed = acceptQueue * 2 > places.acceptQueue
    return visitor.moved + (isPressed && visitor.stage == .silent ? Self.shortPatience : ReadyLimits.acceptQueue)
  }

  // MARK: Letting in

  /// Lets one connection in, if one waits and has a place. It belongs to the network and the
  /// address with fewest connections inside; chance decides among equals. Also returns the
  /// connection that has to make room, if any. While a session runs, connections are let in only at the
  /// rate that it tolerates: `isPaced`.
  package mutating func letIn(
    now: Double, isPaced: Bool, chance: UInt64
  ) -> (ConnectionID, evicted: ConnectionID?)? {
    guard !isPaced || tokens.level(now: now) >= 1 else { return nil }
    let chosen = choose(chance) { visitor -> Rank? in
      visitor.stage == .waiting ? (networks.inside(visitor.network), addresses.inside(visitor.address), 0) : nil
    }
    guard let chosen, let newcomer = visitors[chosen] else { return nil }
    var evicted: ConnectionID?
    if inside >= places.inside {
      guard let victim = chooseVictim(for: newcomer, now, chance) else { return nil }
      leave(victim)
      evicted = victim
    }
    if isPaced { tokens.take(1, now: now) }
    count(newcomer, acceptQueue: -1, inside: 1)
    visitors[chosen]?.stage = .greeting
    visitors[chosen]?.moved = now
    return (chosen, evicted)
  }

  /// Chooses the connection inside that gives up its place: its grace has ended, and its network
  /// and address have more than their share.
  private func chooseVictim(for newcomer: Visitor, _ now: Double, _ chance: UInt64) -> ConnectionID? {
    choose(chance) { visitor -> Rank? in
      guard visitor.isInside, visitor.moved + Self.grace <= now, hasMore(visitor, than: newcomer) else {
        return nil
      }
      return (-networks.inside(visitor.network), -addresses.inside(visitor.address), visitor.stage.rawValue)
    }
  }

  /// Whether one connection has more places than its share compared with another: networks are
  /// compared first, and addresses within a network. Connections of one address are equal.
  private func hasMore(_ visitor: Visitor, than other: Visitor) -> Bool {
    if visitor.network != other.network { return networks.inside(visitor.network) > networks.inside(other.network) }
    return visitor.address == other.address || addresses.inside(visitor.address) > addresses.inside(other.address)
  }

  /// The next moment at which something may change without an event: a time in the accept queue or
  /// a grace ends, or a token is available.
  package func nextMoment(now: Double, isPaced: Bool) -> Double? {
    var next: Double?
    var grace: Double?
    var isAnyWaiting = false
    for visitor in visitors.values {
      if visitor.isInside {
        let end = visitor.moved + Self.grace
        if end > now { grace = min(grace ?? end, end) }
      } else {
        let end = deadline(of: visitor)
        next = min(next ?? end, end)
        if visitor.stage == .waiting { isAnyWaiting = true }
      }
    }
    guard isAnyWaiting else { return next }
    var entry: Double? = isPaced ? tokens.moment(of: 1) : nil
    if inside >= places.inside { entry = grace.map { max($0, entry ?? $0) } }
    return entry.map { min($0, next ?? $0) } ?? next
  }

  // MARK: Inside

  /// A connection that was let in has made progress.
  package mutating func advance(_ id: ConnectionID, to stage: Stage, now: Double) {
    guard let visitor = visitors[id], visitor.isInside else { return }
    visitors[id]?.stage = max(visitor.stage, stage)
    visitors[id]?.moved = now
  }

  /// A connection is past READY, was recognized by its key, or has ended.
  package mutating func leave(_ id: ConnectionID) {
    guard let visitor = visitors.removeValue(forKey: id) else { return }
    if visitor.isInside { count(visitor, inside: -1) } else { count(visitor, acceptQueue: -1) }
  }

  private mutating func count(_ visitor: Visitor, acceptQueue: Int = 0, inside: Int = 0) {
    networks.add(acceptQueue, inside, to: visitor.network)
    addresses.add(acceptQueue, inside, to: visitor.address)
    self.inside += inside
  }

  /// Chooses one of the connections with the lowest rank, by chance. Connections without a rank are
  /// never chosen.
  private func choose(_ chance: UInt64, by rank: (Visitor) -> Rank?) -> ConnectionID? {
    var lowest: Rank?
    var equals: [ConnectionID] = []
    for (id, visitor) in visitors {
      guard let its = rank(visitor) else { continue }
      if let known = lowest, its >= known {
        if its == known { equals.append(id) }
      } else {
        lowest = its
        equals = [id]
      }
    }
    if equals.isEmpty { return nil }
    // A dictionary has no order that a replay would reproduce.
    equals.sort()
    return equals[Int(chance % UInt64(equals.count))]
  }
}
