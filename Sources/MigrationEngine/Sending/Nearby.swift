/// A receiver that a search has found. What it says of itself is not proved.
package struct Nearby: Equatable, Sendable {
  /// What it calls itself, as it is.
  package let label: String
  /// Which of its runs it is, where it says so.
  package let instance: UInt64?
  /// Its most useful address in figures, without the port.
  package let address: String

  package init(label: String, instance: UInt64?, address: String) {
    self.label = label
    self.instance = instance
    self.address = address
  }

  /// Label and address, safe to show.
  package var shown: String { DeviceAddress.shown(label, address) }

  /// The label alone, or the address of a device without one; safe to show.
  package var shownName: String { DeviceAddress.shownName(label) ?? DeviceAddress.shown(nil, address) }
}

/// Where a dial, or a look whether anything listens, goes.
package enum Place: Equatable, Sendable {
  /// What the user has named.
  case target
  /// What the last look has reached.
  case probed
  /// Where the receiver was last: an address with a port.
  case address(String)
  /// One of those that the last search has found, by its position.
  case found(Int)
}

/// Where a sender whose user has named no device seeks the receiver of a transfer: at its last address, then at each device that
/// a search finds. A round ends when nothing is left; another one begins in the same way.
struct SeekRound: Equatable, Sendable {
  /// What is done about a place that came to nothing.
  enum Step: Equatable, Sendable {
    case dial
    case look
    /// Everything that was found was tried.
    case end
  }

  /// Where it is dialled now.
  private(set) var place: Place
  /// What this round's search has found.
  private(set) var found: [Nearby] = []
  /// Whether each of those has shown the key of another device.
  private(set) var areStrangers = true
  private let last: String

  /// Begins at an address.
  init(last: String) {
    self.last = last
    place = .address(last)
  }

  /// Another round.
  func again() -> SeekRound { SeekRound(last: last) }

  /// The place came to nothing.
  mutating func failed(isStranger: Bool) -> Step {
    guard case .found(let index) = place else { return .look }
    if !isStranger { areStrangers = false }
    guard index + 1 < found.count else { return .end }
    place = .found(index + 1)
    return .dial
  }

  /// The search is over.
  mutating func looked(_ found: [Nearby]) -> Step {
    self.found = found
    guard !found.isEmpty else { return .end }
    place = .found(0)
    return .dial
  }
}
