import MigrationWire

extension SenderEngine {
  /// The destination of a dial, or of a check whether anything listens.
  package enum DialTarget: Equatable, Sendable {
    /// The target that the user has named.
    case target
    /// The address that the last probe has reached.
    case probed
    /// The receiver's last address, with a port.
    case address(String)
    /// One of the devices that the last search has found, by its position.
    case found(Int)
    /// The relay.
    case relay
  }
}

/// One round of looking for a receiver, if the user has named no device. The sender tries the
/// receiver's last address, then each device that a search finds. The round ends when all of them
/// were tried; the next round begins in the same way.
struct SeekRound: Equatable, Sendable {
  /// The step after a place that failed.
  enum Step: Equatable, Sendable {
    case dial
    case look
    /// Every device that was found was tried.
    case end
  }

  /// The place to dial now.
  private(set) var place: SenderEngine.DialTarget
  /// The devices that this round's search has found.
  private(set) var found: [DeviceAddress] = []
  /// Whether each of them has shown the key of another device.
  private(set) var areStrangers = true
  private let last: String
  /// Whether the relay is tried behind all devices.
  private let hasRelay: Bool

  /// Begins at an address.
  init(last: String, hasRelay: Bool = false) {
    self.last = last
    self.hasRelay = hasRelay
    place = .address(last)
  }

  /// Another round.
  func again(last: String? = nil) -> SeekRound { SeekRound(last: last ?? self.last, hasRelay: hasRelay) }

  /// The place has failed.
  mutating func failed(isStranger: Bool) -> Step {
    if place == .relay { return .end }
    guard case .found(let index) = place else { return .look }
    if !isStranger { areStrangers = false }
    guard index + 1 < found.count else { return goOnAtRelay() }
    place = .found(index + 1)
    return .dial
  }

  private mutating func goOnAtRelay() -> Step {
    guard hasRelay else { return .end }
    // A device that is not there is as good as a busy one: it may come.
    areStrangers = false
    place = .relay
    return .dial
  }

  /// The search has ended.
  mutating func looked(_ found: [DeviceAddress]) -> Step {
    self.found = found
    guard !found.isEmpty else { return goOnAtRelay() }
    place = .found(0)
    return .dial
  }
}
