/// How long each step before READY may take, in seconds (Protocol §11).
enum Patience {
  /// From the connection to its being let in.
  static let lobby: Double = 5
  /// From there to the end of TLS.
  static let handshake: Double = 5
  /// From there to READY, and to JOIN behind it.
  static let pairing: Double = 10
}
