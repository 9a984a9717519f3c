/// Decides which connections are let in before READY, in which order, and which of them make room
/// (Protocol §A.3).
///
/// A value: time, chance and the progress of connections arrive as events. A connection in the
/// accept queue costs one descriptor; a connection that was let in also has a thread. Addresses of
/// known senders have places of their own.
package struct Admission: Sendable {
  /// Names one connection before READY.
  package struct Ticket: Hashable, Comparable, Sendable {
    fileprivate let number: UInt64
    /// Whether the connection comes from the address of a known sender.
    package let isFamiliar: Bool

    package static func < (left: Ticket, right: Ticket) -> Bool { left.number < right.number }
  }

  /// The origin of a connection.
  package struct Origin: Hashable, Sendable {
    package let address: String
    /// The network that shares places with this address; the address itself where every address
    /// counts separately.
    package let network: String
    /// Whether a known sender was last seen at the address.
    package let isFamiliar: Bool

    package init(address: String, network: String, isFamiliar: Bool) {
      self.address = address
      self.network = network
      self.isFamiliar = isFamiliar
    }
  }

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

  /// The most connections of one kind of origin.
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

  private var strangers = AdmissionOrder(Admission.forStrangers)
  private var familiar = AdmissionOrder(Admission.forFamiliar)
  private var last: UInt64 = 0

  package init() {}

  package var count: Int { strangers.count + familiar.count }

  /// A connection has arrived. Returns its ticket, and the connection that is turned away for lack
  /// of room, which may be the new one.
  package mutating func arrive(_ origin: Origin, now: Double, chance: UInt64) -> (Ticket, turnedAway: Ticket?) {
    last += 1
    let ticket = Ticket(number: last, isFamiliar: origin.isFamiliar)
    return (ticket, withOrder(of: ticket) { $0.arrive(ticket, origin, now: now, chance: chance) })
  }

  /// Turns one connection in the accept queue away, because there is no descriptor to keep it with;
  /// nil when the accept queue is empty.
  package mutating func dismissOne(chance: UInt64) -> Ticket? {
    strangers.dismissOne(chance) ?? familiar.dismissOne(chance)
  }

  /// The first record of a connection in the accept queue has arrived.
  package mutating func heard(_ ticket: Ticket) { withOrder(of: ticket) { $0.heard(ticket) } }

  /// Removes and returns the connections whose time in the accept queue has ended.
  package mutating func expire(now: Double) -> [Ticket] { strangers.expire(now: now) + familiar.expire(now: now) }

  /// Lets the next connection in, if one waits and has a place; connections from known addresses
  /// come first. Also returns the connection that has to make room, if any. While a session runs,
  /// connections are let in only at the rate that it tolerates.
  package mutating func letIn(now: Double, isEngaged: Bool, chance: UInt64) -> (Ticket, evicted: Ticket?)? {
    familiar.letIn(now: now, isPaced: isEngaged, chance: chance)
      ?? strangers.letIn(now: now, isPaced: isEngaged, chance: chance)
  }

  /// The next moment at which something may change without an event.
  package func nextMoment(now: Double, isEngaged: Bool) -> Double? {
    [strangers, familiar].compactMap { $0.nextMoment(now: now, isPaced: isEngaged) }.min()
  }

  /// A connection that was let in has made progress.
  package mutating func advance(_ ticket: Ticket, to stage: Stage, now: Double) {
    withOrder(of: ticket) { $0.advance(ticket, to: stage, now: now) }
  }

  /// A connection is past READY, was recognized by its key, or has ended.
  package mutating func leave(_ ticket: Ticket) { withOrder(of: ticket) { $0.leave(ticket) } }

  /// Acts on the order to which a connection belongs.
  private mutating func withOrder<Result>(of ticket: Ticket, _ body: (inout AdmissionOrder) -> Result) -> Result {
    ticket.isFamiliar ? body(&familiar) : body(&strangers)
  }
}
