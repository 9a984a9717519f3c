import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// Keeps the door: asks `Admission` for the threads of all connections, and tells those that have to go.
final class Doorkeeper: Sendable {
  typealias Ticket = Admission.Ticket

  /// How many connections one known sender may have at a time: its streams, and those that replace them.
  static let placesPerKey = 128

  private struct State {
    var admission = Admission()
    /// Everybody who was let in and is still there, past READY or not.
    var guests: [Ticket: Guest] = [:]
    /// How many of them are of a sender that is known.
    var keys: [KeyFingerprint: Int] = [:]
    var known: [Ticket: KeyFingerprint] = [:]
  }

  /// What this machine's links are, as of a moment.
  private struct Links {
    let links: LocalLinks
    let seen: BootInstant
  }

  /// How long an answer of the kernel about links is believed, in seconds.
  private static let believed = 5.0

  private let links = Mutex<Links?>(nil)
  private let state = Mutex(State())
  private let pace: LoopClock
  /// Signalled when there may be a place for somebody.
  private let attention: Wakeup

  init(pace: LoopClock, attention: Wakeup) {
    self.pace = pace
    self.attention = attention
  }

  private var chance: UInt64 { .random(in: 0 ... .max) }

  // MARK: The listening thread

  /// The network whose share an address has a part of.
  func network(of address: SocketAddress) -> AddressRange {
    address.network(
      onLink: links.withLock { known in
        if let known, BootInstant.now().seconds(since: known.seen) < Self.believed {
          return known.links.contains(address)
        }
        let links = LocalLinks.current()
        known = Links(links: links, seen: .now())
        return links.contains(address)
      })
  }

  /// A connection has come. The one in the lobby that is turned away, which may be itself.
  func arrive(_ origin: Admission.Origin) -> (Ticket, turnedAway: Ticket?) {
    state.withLock { $0.admission.arrive(origin, now: pace.now, chance: chance) }
  }

  /// The first record of a connection in the lobby is there.
  func heard(_ ticket: Ticket) { state.withLock { $0.admission.heard(ticket) } }

  /// One in the lobby is turned away, since there are no descriptors left.
  func dismissOne() -> Ticket? { state.withLock { $0.admission.dismissOne(chance: chance) } }

  /// Those whose time in the lobby is over.
  func expire() -> [Ticket] { state.withLock { $0.admission.expire(now: pace.now) } }

  /// Who is let in now; somebody else may have to go for that.
  func letIn(isEngaged: Bool) -> Ticket? {
    state.withLock { state in
      guard let entry = state.admission.letIn(now: pace.now, isEngaged: isEngaged, chance: chance) else { return nil }
      if let evicted = entry.evicted { state.guests[evicted]?.evict() }
      return entry.0
    }
  }

  /// When to look again though nothing happens.
  func nextMoment(isEngaged: Bool) -> BootInstant? {
    state.withLock { $0.admission.nextMoment(now: pace.now, isEngaged: isEngaged) }.map(pace.instant)
  }

  /// A connection that is let in has a thread from now on.
  func keep(_ guest: Guest) { state.withLock { $0.guests[guest.ticket] = guest } }

  /// A connection in the lobby is gone.
  func leave(_ ticket: Ticket) { state.withLock { $0.admission.leave(ticket) } }

  // MARK: The connections' threads

  /// A connection has come further.
  func advance(_ guest: Guest, to stage: Admission.Stage) {
    state.withLock { $0.admission.advance(guest.ticket, to: stage, now: pace.now) }
  }

  /// A connection has shown the key of a known sender, and so has a place that no stranger can take; false where that sender has
  /// too many.
  func recognize(_ guest: Guest, _ key: KeyFingerprint) -> Bool {
    let isTaken = state.withLock { state in
      guard state.keys[key, default: 0] < Self.placesPerKey else { return false }
      state.keys[key, default: 0] += 1
      state.known[guest.ticket] = key
      state.admission.leave(guest.ticket)
      return true
    }
    attention.signal()
    return isTaken
  }

  /// A connection needs no place in front of READY any more.
  func pass(_ guest: Guest) {
    state.withLock { $0.admission.leave(guest.ticket) }
    attention.signal()
  }

  /// A connection's thread ends.
  func forget(_ guest: Guest) {
    state.withLock { state in
      state.admission.leave(guest.ticket)
      state.guests[guest.ticket] = nil
      guard let key = state.known.removeValue(forKey: guest.ticket) else { return }
      state.keys[key] = state.keys[key].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
    attention.signal()
  }

  /// Everybody has to go.
  func dismissAll() {
    for guest in state.withLock({ Array($0.guests.values) }) { guest.dismiss() }
  }
}
