import MigrationWire

/// The direct connections of one session: the addresses that both ends have told, and the
/// connection that the user knows.
struct DirectConnections: Sendable {
  /// The receiver's addresses.
  private var told: Addresses?
  /// This device's own addresses, if the receiver takes them.
  private var own: Addresses?
  /// The address of the direct connection that the user knows; nil where data goes through the
  /// relay.
  private var shown: InternetAddress?

  /// The receiver has told its addresses.
  mutating func heard(_ addresses: Addresses, _ streams: inout StreamPlan?) {
    told = addresses
    if own != nil { streams?.told(addresses) }
  }

  /// The first streams begin.
  mutating func begin(_ own: Addresses?, _ streams: inout StreamPlan?) {
    self.own = own
    if let told, own != nil { streams?.told(told) }
  }

  /// Tells the user when the data takes another connection.
  mutating func tell(_ address: InternetAddress?, relay: String?, _ actions: inout [SenderEngine.Action]) {
    guard shown != address else { return }
    shown = address
    if let address {
      actions.append(.tell(.dataConnection(.direct(isIPv6: address.isIPv6))))
    } else if let relay {
      actions.append(.tell(.dataConnection(.relay(relay))))
    }
  }

  /// Tries to reach the receiver past the relay, if it is time for that.
  func tryAll(
    by streams: inout StreamPlan?, within budget: inout AddressBudget, on connection: ConnectionID, _ now: Double,
    _ actions: inout [SenderEngine.Action]
  ) {
    guard let own else { return }
    var round: [SenderEngine.Action] = []
    streams?.tryAddresses(within: &budget, now, &round)
    if !round.isEmpty { actions += [.say(connection, .addresses(own))] + round }
  }
}
