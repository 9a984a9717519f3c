/// How long each step before READY may take, in seconds (Protocol §11).
package enum Patience {
  /// From the connection until it is let in.
  package static let lobby: Double = 5
  /// From being let in to the end of the TLS handshake.
  package static let handshake: Double = 5
  /// From being let in to READY, and to the JOIN after it.
  package static let pairing: Double = 10
}
