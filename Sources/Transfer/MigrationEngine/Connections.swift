package import MigrationWire

/// Names a connection of a run. A number is never used twice.
package struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let number: UInt64

  package init(_ number: UInt64) { self.number = number }

  package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.number < right.number }

  package var description: String { "connection \(number)" }
}

/// Names a session of a run. A later session has a greater number.
package struct SessionNumber: Hashable, Comparable, Sendable {
  package let value: UInt64

  package init(_ value: UInt64) { self.value = value }

  package static func < (left: SessionNumber, right: SessionNumber) -> Bool { left.value < right.value }
}

/// The other end of a connection, as far as this device knows it before it sends anything.
package struct Remote: Hashable, Sendable {
  /// Its address without the port, for people.
  package let host: String
  /// Its address with the port, for people.
  package let address: String
  /// The network that shares places with this address.
  package let network: String
  /// The network by which its guesses are delayed.
  package let guesser: String
  /// Whether the user of this device allows this address to pair.
  package let mayPair: Bool
  /// The relay through which it comes, and which has stated its address.
  package let relay: String?
  /// This device's own addresses, for the other end of a connection that a relay has joined.
  package let own: OwnAddresses?

  package init(
    host: String, address: String? = nil, network: String, guesser: String? = nil, mayPair: Bool = true,
    relay: String? = nil, own: OwnAddresses? = nil
  ) {
    self.host = host
    self.address = address ?? host
    self.network = network
    self.guesser = guesser ?? network
    self.mayPair = mayPair
    self.relay = relay
    self.own = own
  }

  var isIPv6: Bool { host.contains(":") }
}

/// The addresses that a device tells on a connection that a relay has joined, and its port on that
/// connection.
package struct OwnAddresses: Hashable, Sendable {
  package let addresses: Addresses
  package let port: UInt16

  package init(_ addresses: Addresses, port: UInt16) { (self.addresses, self.port) = (addresses, port) }
}

/// The data that crossed the wire on the data streams of a transfer in this run.
package struct Traffic: Equatable, Sendable {
  /// Bytes of DATA bodies.
  package var sent: UInt64 = 0
  /// Bytes that compression saved.
  package var saved: UInt64 = 0
  /// Bytes of DATA bodies of the newest part.
  package var ofPart: UInt64 = 0
  /// Seconds from the first byte of data to the last message; 0 if either has not come.
  package var seconds: Double = 0

  package init(sent: UInt64 = 0, saved: UInt64 = 0, ofPart: UInt64 = 0, seconds: Double = 0) {
    self.sent = sent
    self.saved = saved
    self.ofPart = ofPart
    self.seconds = seconds
  }
}
