import MigrationWire

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

/// The other end of a connection, as far as it is known before it says anything.
package struct Remote: Hashable, Sendable {
  /// Its address without the port, for people.
  package let host: String
  /// Its address with the port, for people.
  package let address: String
  /// The network whose share of places it takes a part of, and by which its guesses are delayed.
  package let network: String
  /// Whether the user of this device lets such an address pair.
  package let mayPair: Bool

  package init(host: String, address: String? = nil, network: String, mayPair: Bool = true) {
    self.host = host
    self.address = address ?? host
    self.network = network
    self.mayPair = mayPair
  }
}

/// What crossed the wire on the data streams of a transfer in this run.
package struct Traffic: Equatable, Sendable {
  /// Bytes of DATA bodies.
  package var sent: UInt64 = 0
  /// Bytes that compression kept off the wire.
  package var saved: UInt64 = 0
  /// From the first of them to the last word; 0 where one of them is missing.
  package var seconds: Double = 0

  package init(sent: UInt64 = 0, saved: UInt64 = 0, seconds: Double = 0) {
    self.sent = sent
    self.saved = saved
    self.seconds = seconds
  }
}

/// How long the end of a run may take once it is decided, or asked for by a signal, in seconds.
package enum Curfew {
  /// For the last words to the other device.
  package static let forWords = 0.4
  /// For workers to end; what they leave undone is done by the next run.
  package static let atTheEnd = 0.9
  /// For a transfer that is done to be forgotten where no other time is left.
  package static let forForgetting = 0.05
  /// For the last words of a run that the user has not stopped.
  package static let atLeisure = 2.0
  /// For an import to tell of progress again; behind that it is left to the next run.
  package static let forImport = 1.0
}
