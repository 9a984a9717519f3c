import MigrationWire

/// Streams past the relay of a session (Protocol §6.9).
extension ReceiverEngine {
  /// Tells the sender this device's addresses, if the session leads through a relay.
  mutating func sayWays(_ number: SessionNumber) {
    guard let conversation = conversations[number], let own = own(of: conversation) else { return }
    act(.say(conversation.connection, .ways(own.ways)))
  }

  /// What this device tells of itself; nil where that is of no use.
  private func own(of conversation: Conversation) -> OwnWays? {
    let isUnderstood = settings.greeting.features.intersection(conversation.features).contains(.ways)
    return isUnderstood && !conversation.isAside ? conversation.remote.own : nil
  }

  /// The sender has told its addresses: both ends dial now.
  mutating func reach(_ ways: Ways, _ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.streams != nil,
      !workers.contains(.dial(number)), let own = own(of: conversation),
      let round = conversations[number]?.rounds.join(ways, now: now)
    else { return }
    act(.dial(number, round, from: own.port))
  }

  /// A stream is served: tells the user if it is the first that does not pass the relay, or the
  /// first that does again.
  mutating func noteWay(of id: ConnectionID, _ number: SessionNumber) {
    guard let conversation = conversations[number], let relay = conversation.remote.relay,
      let remote = door[id]?.remote
    else { return }
    let isDirect = remote.relay == nil
    if isDirect { conversations[number]?.direct.insert(id) }
    guard isDirect != conversation.isDirectTold, isDirect || conversation.direct.isEmpty else { return }
    conversations[number]?.isDirectTold = isDirect
    tell(.way(isDirect ? .direct(isIPv6: remote.isIPv6) : .relay(relay)), of: conversation.transfer)
  }
}
