package import MigrationWire

/// Decides when an end of a relayed session tries the other end's addresses (Protocol §6.9): in a
/// few rounds of each session. Times are seconds on one clock.
package struct DirectRounds: Sendable {
  /// For how many seconds a round lasts.
  package static let length = 5.0
  /// The pauses in seconds before each round of a session. The second round helps after a change of
  /// the network, or after a router has answered for a device.
  private static let pauses = [0.0, 5, 30]

  /// The other end's newest addresses; nil until they have come.
  private(set) var addresses: Addresses?
  private var begun = 0
  private var isGoingOn = false
  private var next = 0.0

  package init() {}

  /// The other end has told its addresses.
  package mutating func told(_ addresses: Addresses) { self.addresses = addresses }

  /// Whether another round may begin at some time.
  private var mayBegin: Bool { !isGoingOn && begun < Self.pauses.count && addresses?.dialable.isEmpty == false }

  /// When the next round is due; nil if no round may begin.
  package var due: Double? { mayBegin ? next : nil }

  /// Begins a round that is due. Returns the addresses to try, in their order. The round ends at
  /// once if the budget has no addresses left.
  package mutating func begin(within budget: inout AddressBudget, now: Double) -> [InternetAddress]? {
    guard let due, now >= due, let addresses else { return nil }
    begun += 1
    let taken = Array(addresses.dialable.prefix(budget.take(addresses.dialable.count, now: now)))
    isGoingOn = !taken.isEmpty
    guard isGoingOn else {
      ended(now: now)
      return nil
    }
    return taken
  }

  /// A round has ended, or the direct connection that it had made has broken.
  package mutating func ended(now: Double) {
    isGoingOn = false
    if begun < Self.pauses.count { next = now + Self.pauses[begun] }
  }

  /// The other end has asked for a round now. Returns the addresses to try, if this end takes part.
  package mutating func join(_ addresses: Addresses, within budget: inout AddressBudget, now: Double)
    -> [InternetAddress]?
  {
    told(addresses)
    next = now
    return begin(within: &budget, now: now)
  }

  /// Whether the other end accepts further connections at an address.
  package func accepts(_ address: InternetAddress) -> Bool { addresses?.listening.contains(address) == true }
}
