/// How long each step before READY may take, in seconds (Protocol §11).
package enum ReadyLimits {
  /// From the connection until it is let in.
  package static let acceptQueue: Double = 5
  /// From being let in to the end of the TLS handshake.
  package static let handshake: Double = 5
  /// From being let in to READY, and to the JOIN after it.
  package static let pairing: Double = 10

  /// After how many seconds a sender comes again, behind which so many others come first.
  package static func pause(atPlace place: Int) -> Double { Double(min(max(place, 1), 10)) }
}
