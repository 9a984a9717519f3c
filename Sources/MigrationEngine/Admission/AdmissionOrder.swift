/// The connections of one kind of origin before READY: those in the accept queue, those inside, and
/// the choice of the connection that makes room.
///
/// A value; time and chance arrive with the events.
struct AdmissionOrder: Sendable {
  typealias Ticket = Admission.Ticket
  typealias Stage = Admission.Stage

  private struct Visitor: Sendable {
    let address: Int
    let network: Int
    var stage = Stage.silent
    /// When the connection arrived, was let in, or last made progress.
    var moved: Double

    var isInside: Bool { stage >= .greeting }
  }

  /// The first, second and third number to compare; the lowest rank is chosen.
  private typealias Rank = (Int, Int, Int)

  private let places: Admission.Capacity
  private var visitors: [Ticket: Visitor] = [:]
  private var networks = AdmissionShares<String>()
  private var addresses = AdmissionShares<String>()
  private var tokens: Tokens
  private(set) var inside = 0

  init(_ places: Admission.Capacity) {
    self.places = places
    tokens = Tokens(rate: places.rate, burst: places.burst)
  }

  var count: Int { visitors.count }
  private var acceptQueue: Int { visitors.count - inside }

  // MARK: The accept queue

  /// A connection has arrived. Returns the connection that is turned away for lack of room, which
  /// may be the new one.
  mutating func arrive(_ ticket: Ticket, _ origin: Admission.Origin, now: Double, chance: UInt64) -> Ticket? {
    visitors[ticket] = Visitor(
      address: addresses.arrive(origin.address), network: networks.arrive(origin.network), moved: now)
    return acceptQueue > places.acceptQueue ? dismissOne(chance) : nil
  }

  /// Turns one connection in the accept queue away. It belongs to the network and the address with
  /// most connections; silent connections are chosen first, and chance decides among equals.
  mutating func dismissOne(_ chance: UInt64) -> Ticket? {
    let chosen = choose(chance) { visitor -> Rank? in
      if visitor.isInside { return nil }
      return (-networks[visitor.network].all, -addresses[visitor.address].all, visitor.stage.rawValue)
    }
    if let chosen { leave(chosen) }
    return chosen
  }

  /// The first record of a connection in the accept queue has arrived.
  mutating func heard(_ ticket: Ticket) {
    if visitors[ticket]?.stage == .silent { visitors[ticket]?.stage = .waiting }
  }

  /// Removes and returns the connections whose time in the accept queue has ended.
  mutating func expire(now: Double) -> [Ticket] {
    let over = visitors.filter { !$0.value.isInside && deadline(of: $0.value) <= now }.keys.sorted()
    for ticket in over { leave(ticket) }
    return over
  }

  private func deadline(of visitor: Visitor) -> Double {
    let isPressed = acceptQueue * 2 > places.acceptQueue
    return visitor.moved + (isPressed && visitor.stage == .silent ? Admission.shortPatience : ReadyLimits.acceptQueue)
  }

  // MARK: Letting in

  /// Lets one connection in, if one waits and has a place. It belongs to the network and the
  /// address with fewest connections inside; chance decides among equals. Also returns the
  /// connection that has to make room, if any.
  mutating func letIn(now: Double, isPaced: Bool, chance: UInt64) -> (Ticket, evicted: Ticket?)? {
    let chosen = choose(chance) { visitor -> Rank? in
      visitor.stage == .waiting ? (networks.inside(visitor.network), addresses.inside(visitor.address), 0) : nil
    }
    guard let chosen, let newcomer = visitors[chosen], !isPaced || tokens.isThere(now: now) else { return nil }
    var evicted: Ticket?
    if inside >= places.inside {
      guard let victim = chooseVictim(for: newcomer, now, chance) else { return nil }
      leave(victim)
      evicted = victim
    }
    if isPaced { tokens.take() }
    networks.enter(newcomer.network)
    addresses.enter(newcomer.address)
    inside += 1
    visitors[chosen]?.stage = .greeting
    visitors[chosen]?.moved = now
    return (chosen, evicted)
  }

  /// Chooses the connection inside that gives up its place: its grace has ended, and its network
  /// and address have more than their share.
  private func chooseVictim(for newcomer: Visitor, _ now: Double, _ chance: UInt64) -> Ticket? {
    choose(chance) { visitor -> Rank? in
      guard visitor.isInside, visitor.moved + Admission.grace <= now, hasMore(visitor, than: newcomer) else {
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
  func nextMoment(now: Double, isPaced: Bool) -> Double? {
    var next: Double?
    var grace: Double?
    var isAnyWaiting = false
    for visitor in visitors.values {
      if visitor.isInside {
        let end = visitor.moved + Admission.grace
        if end > now { grace = min(grace ?? end, end) }
      } else {
        let end = deadline(of: visitor)
        next = min(next ?? end, end)
        if visitor.stage == .waiting { isAnyWaiting = true }
      }
    }
    guard isAnyWaiting else { return next }
    var entry: Double? = isPaced ? tokens.next : nil
    if inside >= places.inside { entry = grace.map { max($0, entry ?? $0) } }
    return entry.map { min($0, next ?? $0) } ?? next
  }

  // MARK: Inside

  /// A connection that was let in has made progress.
  mutating func advance(_ ticket: Ticket, to stage: Stage, now: Double) {
    guard let visitor = visitors[ticket], visitor.isInside else { return }
    visitors[ticket]?.stage = max(visitor.stage, stage)
    visitors[ticket]?.moved = now
  }

  /// A connection is past READY, was recognized by its key, or has ended.
  mutating func leave(_ ticket: Ticket) {
    guard let visitor = visitors.removeValue(forKey: ticket) else { return }
    networks.leave(visitor.network, isInside: visitor.isInside)
    addresses.leave(visitor.address, isInside: visitor.isInside)
    if visitor.isInside { inside -= 1 }
  }

  /// Chooses one of the connections with the lowest rank, by chance. Connections without a rank are
  /// never chosen.
  private func choose(_ chance: UInt64, by rank: (Visitor) -> Rank?) -> Ticket? {
    var lowest: Rank?
    var equals: [Ticket] = []
    for (ticket, visitor) in visitors {
      guard let its = rank(visitor) else { continue }
      if let known = lowest, its >= known {
        if its == known { equals.append(ticket) }
      } else {
        lowest = its
        equals = [ticket]
      }
    }
    if equals.isEmpty { return nil }
    // A dictionary has no order that a replay would reproduce.
    equals.sort()
    return equals[Int(chance % UInt64(equals.count))]
  }

  /// The rate at which connections are let in while a session runs: a bucket of tokens. Times are
  /// seconds.
  struct Tokens: Sendable {
    private let rate: Double
    private let burst: Double
    private var tokens: Double
    private var last = 0.0

    /// Begins with a full bucket.
    init(rate: Double, burst: Double) {
      self.rate = rate
      self.burst = burst
      tokens = burst
    }

    /// Whether a token is available.
    mutating func isThere(now: Double) -> Bool {
      tokens = min(burst, tokens + max(0, now - last) * rate)
      last = max(last, now)
      return tokens >= 1
    }

    mutating func take() { tokens -= 1 }

    /// When the next token is available.
    var next: Double { last + max(0, 1 - tokens) / rate }
  }
}

/// The number of connections of each address, or of each network, in the accept queue and inside.
struct AdmissionShares<Name: Hashable & Sendable>: Sendable {
  /// Names a place that has connections.
  typealias Index = Int

  struct Share: Sendable {
    fileprivate let place: Name
    fileprivate(set) var acceptQueue = 0
    fileprivate(set) var inside = 0

    var all: Int { acceptQueue + inside }
  }

  private var indices: [Name: Index] = [:]
  private var shares: [Share] = []
  private var unused: [Index] = []

  subscript(index: Index) -> Share { shares[index] }

  /// How many connections of a place are inside.
  func inside(_ index: Index) -> Int { shares[index].inside }

  /// A connection of a place has arrived in the accept queue.
  mutating func arrive(_ place: Name) -> Index {
    let index = index(of: place)
    shares[index].acceptQueue += 1
    return index
  }

  /// A connection is let in.
  mutating func enter(_ index: Index) {
    shares[index].acceptQueue -= 1
    shares[index].inside += 1
  }

  /// A connection has ended.
  mutating func leave(_ index: Index, isInside: Bool) {
    if isInside { shares[index].inside -= 1 } else { shares[index].acceptQueue -= 1 }
    guard shares[index].all == 0 else { return }
    indices[shares[index].place] = nil
    unused.append(index)
  }

  private mutating func index(of place: Name) -> Index {
    if let index = indices[place] { return index }
    let share = Share(place: place)
    if let index = unused.popLast() {
      shares[index] = share
      indices[place] = index
      return index
    }
    shares.append(share)
    indices[place] = shares.count - 1
    return shares.count - 1
  }
}
