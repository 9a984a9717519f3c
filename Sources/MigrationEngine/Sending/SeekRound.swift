/// The destination of a dial, or of a check whether anything listens.
package enum Place: Equatable, Sendable {
  /// The target that the user has named.
  case target
  /// The address that the last probe has reached.
  case probed
  /// The receiver's last address, with a port.
  case address(String)
  /// One of the devices that the last search has found, by its position.
  case found(Int)
}

/// One round in which a sender whose user has named no device looks for the receiver of a transfer:
/// at its last address, then at each device that a search finds. The round ends when all of them
/// were tried; another one begins in the same way.
struct SeekRound: Equatable, Sendable {
  /// The step after a place that failed.
  enum Step: Equatable, Sendable {
    case dial
    case look
    /// Every device that was found was tried.
    case end
  }

  /// The place to dial now.
  private(set) var place: Place
  /// The devices that this round's search has found.
  private(set) var found: [DeviceAddress] = []
  /// Whether each of them has shown the key of another device.
  private(set) var areStrangers = true
  private let last: String

  /// Begins at an address.
  init(last: String) {
    self.last = last
    place = .address(last)
  }

  /// Another round.
  func again() -> SeekRound { SeekRound(last: last) }

  /// The place has failed.
  mutating func failed(isStranger: Bool) -> Step {
    guard case .found(let index) = place else { return .look }
    if !isStranger { areStrangers = false }
    guard index + 1 < found.count else { return .end }
    place = .found(index + 1)
    return .dial
  }

  /// The search has ended.
  mutating func looked(_ found: [DeviceAddress]) -> Step {
    self.found = found
    guard !found.isEmpty else { return .end }
    place = .found(0)
    return .dial
  }
}
