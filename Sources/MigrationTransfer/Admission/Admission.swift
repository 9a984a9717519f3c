import MigrationSystem

/// Who is in front of READY, who is let in next, and who makes room for that (Protocol §11).
///
/// A value: time, chance and what connections do come to it as events. Connections in the lobby cost a descriptor each; those
/// that are let in have a thread. Addresses of senders that are known have places of their own.
struct Admission {
  /// Names one connection in front of READY.
  struct Ticket: Hashable, Comparable, Sendable {
    fileprivate let number: UInt64
    /// Whether it came from an address of a sender that is known.
    let isFamiliar: Bool

    static func < (left: Ticket, right: Ticket) -> Bool { left.number < right.number }
  }

  /// Where a connection comes from.
  struct Origin: Hashable, Sendable {
    let address: SocketAddress
    /// The network whose share it takes a part of; the address itself where every address counts singly.
    let network: AddressRange
    /// Whether a sender that is known was last seen at the address.
    let isFamiliar: Bool
  }

  /// How far a connection has come.
  enum Stage: Int, Comparable, Sendable {
    /// Its first record is not there.
    case silent
    /// Its first record is there, and it waits to be let in.
    case waiting
    /// It was let in; TLS comes up.
    case greeting
    /// TLS is up.
    case secured
    /// It has said what it wants.
    case asking

    static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  /// How many connections of one kind of origin are borne.
  struct Places: Sendable {
    let lobby: Int
    let inside: Int
    /// How many are let in within a second while a session goes on, and how many at once.
    let rate: Double
    let burst: Double
  }

  static let forStrangers = Places(lobby: 256, inside: 64, rate: 20, burst: 20)
  static let forFamiliar = Places(lobby: 64, inside: 32, rate: 100, burst: 100)

  /// How long a connection that was let in, or has just come further, keeps its place in any case, in seconds.
  static let grace = 0.1
  /// How long one that says nothing may stand in the lobby while more than half of its places are taken.
  static let shortPatience = 1.0

  private var strangers = AdmissionLane(Admission.forStrangers)
  private var familiar = AdmissionLane(Admission.forFamiliar)
  private var last: UInt64 = 0

  var count: Int { strangers.count + familiar.count }

  /// A connection has come. The one that is turned away for want of room, which may be itself.
  mutating func arrive(_ origin: Origin, now: Double, chance: UInt64) -> (Ticket, turnedAway: Ticket?) {
    last += 1
    let ticket = Ticket(number: last, isFamiliar: origin.isFamiliar)
    return (ticket, self[ticket].arrive(ticket, origin, now: now, chance: chance))
  }

  /// One in the lobby is turned away, since nothing is left to keep it with; nil when there is none.
  mutating func dismissOne(chance: UInt64) -> Ticket? {
    strangers.dismissOne(chance) ?? familiar.dismissOne(chance)
  }

  /// The first record of a connection in the lobby is there.
  mutating func heard(_ ticket: Ticket) { self[ticket].heard(ticket) }

  /// Those whose time in the lobby is over; they are gone.
  mutating func expire(now: Double) -> [Ticket] { strangers.expire(now: now) + familiar.expire(now: now) }

  /// Lets the next one in, if there is one and a place for it, one from a known address first. The one that makes room for it,
  /// if one has to. While a session goes on, they are let in no faster than it bears.
  mutating func letIn(now: Double, isEngaged: Bool, chance: UInt64) -> (Ticket, evicted: Ticket?)? {
    familiar.letIn(now: now, isPaced: isEngaged, chance: chance)
      ?? strangers.letIn(now: now, isPaced: isEngaged, chance: chance)
  }

  /// When something may be different without an event.
  func nextMoment(now: Double, isEngaged: Bool) -> Double? {
    [strangers, familiar].compactMap { $0.nextMoment(now: now, isPaced: isEngaged) }.min()
  }

  /// A connection that was let in has come further.
  mutating func advance(_ ticket: Ticket, to stage: Stage, now: Double) {
    self[ticket].advance(ticket, to: stage, now: now)
  }

  /// A connection is past READY, or known by its key, or gone.
  mutating func leave(_ ticket: Ticket) { self[ticket].leave(ticket) }

  private subscript(ticket: Ticket) -> AdmissionLane {
    _read { if ticket.isFamiliar { yield familiar } else { yield strangers } }
    _modify { if ticket.isFamiliar { yield &familiar } else { yield &strangers } }
  }
}
