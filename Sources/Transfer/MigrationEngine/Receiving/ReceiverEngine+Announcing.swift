import MigrationWire

/// Whether this device is announced on its networks (Protocol §4.5).
extension ReceiverEngine {
  /// Whether a sender that finds this device could do anything here: pair, or come back.
  private var isWorthFinding: Bool {
    guard mayAnnounce, stop == nil else { return false }
    return switch phase {
    case .serving(let served): !served.isEmpty || !codes.isExhausted || !transfers.isEmpty
    case .starting, .finishing, .over: false
    }
  }

  /// Starts or ends the announcement of this device, where that has changed.
  mutating func tendAnnouncement() {
    guard isWorthFinding != isAnnounced else { return }
    isAnnounced.toggle()
    act(isAnnounced ? .announce : .withdrawAnnouncement)
  }
}
