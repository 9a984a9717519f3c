/// How long each step before READY may take, in seconds (Protocol §11).
package enum Patience {
  /// From the connection to its being let in.
  package static let lobby: Double = 5
  /// From there to the end of TLS.
  package static let handshake: Double = 5
  /// From there to READY, and to JOIN behind it.
  package static let pairing: Double = 10
}
