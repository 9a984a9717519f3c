/// Who is in front of READY, who is let in next, and who makes room for that (Protocol §11).
///
/// A value: time, chance and what connections do come to it as events. Connections in the lobby cost a descriptor each; those
/// that are let in have a thread. Addresses of senders that are known have places of their own.
package struct Admission: Sendable {
  /// Names one connection in front of READY.
  package struct Ticket: Hashable, Comparable, Sendable {
    fileprivate let number: UInt64
    /// Whether it came from an address of a sender that is known.
    package let isFamiliar: Bool

    package static func < (left: Ticket, right: Ticket) -> Bool { left.number < right.number }
  }

  /// Where a connection comes from.
  package struct Origin: Hashable, Sendable {
    package let address: String
    /// The network whose share it takes a part of; the address itself where every address counts singly.
    package let network: String
    /// Whether a sender that is known was last seen at the address.
    package let isFamiliar: Bool

    package init(address: String, network: String, isFamiliar: Bool) {
      self.address = address
      self.network = network
      self.isFamiliar = isFamiliar
    }
  }

  /// How far a connection has come.
  package enum Stage: Int, Comparable, Sendable {
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

    package static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  /// How many connections of one kind of origin are borne.
  package struct Places: Sendable {
    package let lobby: Int
    package let inside: Int
    /// How many are let in within a second while a session goes on, and how many at once.
    package let rate: Double
    package let burst: Double
  }

  package static let forStrangers = Places(lobby: 256, inside: 64, rate: 20, burst: 20)
  package static let forFamiliar = Places(lobby: 64, inside: 32, rate: 100, burst: 100)

  /// How long a connection that was let in, or has just come further, keeps its place in any case, in seconds.
  package static let grace = 0.1
  /// How long one that says nothing may stand in the lobby while more than half of its places are taken.
  package static let shortPatience = 1.0

  private var strangers = AdmissionLane(Admission.forStrangers)
  private var familiar = AdmissionLane(Admission.forFamiliar)
  private var last: UInt64 = 0

  package init() {}

  package var count: Int { strangers.count + familiar.count }

  /// A connection has come. The one that is turned away for want of room, which may be itself.
  package mutating func arrive(_ origin: Origin, now: Double, chance: UInt64) -> (Ticket, turnedAway: Ticket?) {
    last += 1
    let ticket = Ticket(number: last, isFamiliar: origin.isFamiliar)
    return (ticket, inLane(of: ticket) { $0.arrive(ticket, origin, now: now, chance: chance) })
  }

  /// One in the lobby is turned away, since nothing is left to keep it with; nil when there is none.
  package mutating func dismissOne(chance: UInt64) -> Ticket? {
    strangers.dismissOne(chance) ?? familiar.dismissOne(chance)
  }

  /// The first record of a connection in the lobby is there.
  package mutating func heard(_ ticket: Ticket) { inLane(of: ticket) { $0.heard(ticket) } }

  /// Those whose time in the lobby is over; they are gone.
  package mutating func expire(now: Double) -> [Ticket] { strangers.expire(now: now) + familiar.expire(now: now) }

  /// Lets the next one in, if there is one and a place for it, one from a known address first. The one that makes room for it,
  /// if one has to. While a session goes on, they are let in no faster than it bears.
  package mutating func letIn(now: Double, isEngaged: Bool, chance: UInt64) -> (Ticket, evicted: Ticket?)? {
    familiar.letIn(now: now, isPaced: isEngaged, chance: chance)
      ?? strangers.letIn(now: now, isPaced: isEngaged, chance: chance)
  }

  /// When something may be different without an event.
  package func nextMoment(now: Double, isEngaged: Bool) -> Double? {
    [strangers, familiar].compactMap { $0.nextMoment(now: now, isPaced: isEngaged) }.min()
  }

  /// A connection that was let in has come further.
  package mutating func advance(_ ticket: Ticket, to stage: Stage, now: Double) {
    inLane(of: ticket) { $0.advance(ticket, to: stage, now: now) }
  }

  /// A connection is past READY, or known by its key, or gone.
  package mutating func leave(_ ticket: Ticket) { inLane(of: ticket) { $0.leave(ticket) } }

  /// Does something in the lane that a connection has come by.
  private mutating func inLane<Result>(of ticket: Ticket, _ body: (inout AdmissionLane) -> Result) -> Result {
    ticket.isFamiliar ? body(&familiar) : body(&strangers)
  }
}
