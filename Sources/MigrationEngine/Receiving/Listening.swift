/// Where a receiver can be reached: host texts without a port, most useful first.
package struct Listening: Equatable, Sendable {
  /// All of them.
  package let addresses: [String]
  /// Those that are worth showing to a person.
  package let shown: [String]
  package let port: UInt16
  /// The ranges that may pair, for people; none where every sender may.
  package let from: [String]
  /// Whether senders in the same network find this device without an address.
  package let isAnnounced: Bool

  /// Without `shown`, all addresses are.
  package init(
    addresses: [String], shown: [String]? = nil, port: UInt16, from: [String] = [], isAnnounced: Bool = false
  ) {
    self.addresses = addresses
    self.shown = shown ?? addresses
    self.port = port
    self.from = from
    self.isAnnounced = isAnnounced
  }
}
