package import MigrationWire

/// The values that tie a pairing to its TLS session: the identities and the associated data of
/// SPAKE2.
///
/// A man in the middle has two TLS sessions with different channel bindings. The identities
/// therefore differ, and both confirmations fail even if the attacker forwards every byte.
package enum PairingBinding {
  private static let label = "peer-pair-v1"

  /// The identity of A, the TLS client, from its key and the channel binding.
  package static func identityA(client: KeyFingerprint, channelBinding: [UInt8]) -> [UInt8] {
    Array("\(label) client".utf8) + [0] + client.bytes + channelBinding
  }

  /// The identity of B, the TLS server, from its key and the channel binding.
  package static func identityB(server: KeyFingerprint, channelBinding: [UInt8]) -> [UInt8] {
    Array("\(label) server".utf8) + [0] + server.bytes + channelBinding
  }

  /// The associated data, from both HELLO frames as they were on the wire, type and length
  /// included.
  package static func associatedData(clientHello: [UInt8], serverHello: [UInt8]) -> [UInt8] {
    let hellos = clientHello + serverHello
    let digest = unsafe sha256(hellos.span.bytes)
    return Array(label.utf8) + [0] + digest
  }
}
