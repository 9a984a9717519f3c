import MigrationWire

/// The ways of one session's data past a relay: the addresses that both ends have told, and the way that the
/// user knows.
struct SessionWays: Sendable {
  /// The receiver's addresses.
  private var told: Ways?
  /// This device's own, where the receiver takes them.
  private var own: Ways?
  /// The way of the data that the user knows; nil where it goes through the relay.
  private var shown: Way?

  /// The receiver has told its addresses.
  mutating func heard(_ ways: Ways, _ streams: inout StreamPlan?) {
    told = ways
    if own != nil { streams?.told(ways) }
  }

  /// The first streams begin.
  mutating func begin(_ own: Ways?, _ streams: inout StreamPlan?) {
    self.own = own
    if let told, own != nil { streams?.told(told) }
  }

  /// Tells the user when the way of the data has changed.
  mutating func tell(_ way: Way?, relay: String?, _ actions: inout [SenderEngine.Action]) {
    guard shown != way else { return }
    shown = way
    if let way {
      actions.append(.tell(.way(.direct(isIPv6: way.isIPv6))))
    } else if let relay {
      actions.append(.tell(.way(.relay(relay))))
    }
  }

  /// Tries to reach the receiver past the relay, if it is time for that.
  func tryAll(
    by streams: inout StreamPlan?, within budget: inout WayBudget, on connection: ConnectionID, _ now: Double,
    _ actions: inout [SenderEngine.Action]
  ) {
    guard let own else { return }
    var round: [SenderEngine.Action] = []
    streams?.tryWays(within: &budget, now, &round)
    if !round.isEmpty { actions += [.say(connection, .ways(own))] + round }
  }
}
