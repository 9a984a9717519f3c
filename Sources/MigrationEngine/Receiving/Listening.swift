/// The addresses of a receiver: host texts without a port, most useful first.
package struct Listening: Equatable, Sendable {
  /// All addresses.
  package let addresses: [String]
  /// The addresses that are worth showing to a person.
  package let shown: [String]
  package let port: UInt16
  /// The ranges of addresses that may pair, for people; empty where every sender may.
  package let from: [String]
  /// Whether senders in the same network find this device without an address.
  package let isAnnounced: Bool

  /// `shown` (default: all addresses) are the addresses for people.
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
