/// The connections of one kind of origin in front of READY: who waits in the lobby, who is inside, and who makes room.
///
/// A value; time and chance come with the events.
struct AdmissionLane: Sendable {
  typealias Ticket = Admission.Ticket
  typealias Stage = Admission.Stage

  private struct Visitor: Sendable {
    let address: Int
    let network: Int
    var stage = Stage.silent
    /// When it came, or was let in, or came further.
    var moved: Double

    var isInside: Bool { stage >= .greeting }
  }

  /// What is compared first, second and third; the lowest is chosen.
  private typealias Rank = (Int, Int, Int)

  private let places: Admission.Places
  private var visitors: [Ticket: Visitor] = [:]
  private var networks = AdmissionShares<String>()
  private var addresses = AdmissionShares<String>()
  private var tokens: AdmissionTokens
  private(set) var inside = 0

  init(_ places: Admission.Places) {
    self.places = places
    tokens = AdmissionTokens(rate: places.rate, burst: places.burst)
  }

  var count: Int { visitors.count }
  private var lobby: Int { visitors.count - inside }

  // MARK: The lobby

  /// A connection has come. The one that is turned away for want of room, which may be itself.
  mutating func arrive(_ ticket: Ticket, _ origin: Admission.Origin, now: Double, chance: UInt64) -> Ticket? {
    visitors[ticket] = Visitor(
      address: addresses.arrive(origin.address), network: networks.arrive(origin.network), moved: now)
    return lobby > places.lobby ? dismissOne(chance) : nil
  }

  /// Turns one in the lobby away: of the network and the address with most connections, one that has said nothing, by chance.
  mutating func dismissOne(_ chance: UInt64) -> Ticket? {
    let chosen = choose(chance) { visitor -> Rank? in
      if visitor.isInside { return nil }
      return (-networks[visitor.network].all, -addresses[visitor.address].all, visitor.stage.rawValue)
    }
    if let chosen { leave(chosen) }
    return chosen
  }

  /// The first record of a connection in the lobby is there.
  mutating func heard(_ ticket: Ticket) {
    if visitors[ticket]?.stage == .silent { visitors[ticket]?.stage = .waiting }
  }

  /// Those whose time in the lobby is over; they are gone.
  mutating func expire(now: Double) -> [Ticket] {
    let over = visitors.filter { !$0.value.isInside && deadline(of: $0.value) <= now }.keys.sorted()
    for ticket in over { leave(ticket) }
    return over
  }

  private func deadline(of visitor: Visitor) -> Double {
    let isPressed = lobby * 2 > places.lobby
    return visitor.moved + (isPressed && visitor.stage == .silent ? Admission.shortPatience : Patience.lobby)
  }

  // MARK: Letting in

  /// Lets one in, if one waits and there is a place for it: of the network and the address with fewest inside, by chance. The one
  /// that makes room for it, if one has to.
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

  /// The one inside that gives up its place: its grace is over, and it is of a network and an address with more than their part.
  private func chooseVictim(for newcomer: Visitor, _ now: Double, _ chance: UInt64) -> Ticket? {
    choose(chance) { visitor -> Rank? in
      guard visitor.isInside, visitor.moved + Admission.grace <= now, hasMore(visitor, than: newcomer) else {
        return nil
      }
      return (-networks.inside(visitor.network), -addresses.inside(visitor.address), visitor.stage.rawValue)
    }
  }

  /// Whether one has more places than its part beside another: by networks, and within a network by addresses. Within one
  /// address none has a better right.
  private func hasMore(_ visitor: Visitor, than other: Visitor) -> Bool {
    if visitor.network != other.network { return networks.inside(visitor.network) > networks.inside(other.network) }
    return visitor.address == other.address || addresses.inside(visitor.address) > addresses.inside(other.address)
  }

  /// When something may be different without an event: a time in the lobby or a grace is over, or a token is there.
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

  /// A connection that was let in has come further.
  mutating func advance(_ ticket: Ticket, to stage: Stage, now: Double) {
    guard let visitor = visitors[ticket], visitor.isInside else { return }
    visitors[ticket]?.stage = max(visitor.stage, stage)
    visitors[ticket]?.moved = now
  }

  /// A connection is past READY, or known by its key, or gone.
  mutating func leave(_ ticket: Ticket) {
    guard let visitor = visitors.removeValue(forKey: ticket) else { return }
    networks.leave(visitor.network, isInside: visitor.isInside)
    addresses.leave(visitor.address, isInside: visitor.isInside)
    if visitor.isInside { inside -= 1 }
  }

  /// One of those whose rank is lowest, by chance; those without a rank are none of them.
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
    // A dictionary has no order that a replay would find again.
    equals.sort()
    return equals[Int(chance % UInt64(equals.count))]
  }
}
