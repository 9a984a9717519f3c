package import MigrationWire

extension RelayToken {
  /// The proof of a request without its own proof.
  package func proof(of request: [UInt8], challenge: [UInt8]) -> [UInt8] {
    let message = Array("peer-relay-v1".utf8) + [0] + challenge + request
    return unsafe hmac(key: bytes.span.bytes, message: message.span.bytes).copied()
  }

  /// Whether a proof is the right one.
  package func accepts(_ proof: [UInt8], of request: [UInt8], challenge: [UInt8]) -> Bool {
    constantTimeEqual(proof, self.proof(of: request, challenge: challenge))
  }
}

extension RelayRequest {
  /// The whole frame, with the token's proof for a relay's challenge.
  package func frame(_ token: RelayToken, challenge: [UInt8]) -> [UInt8] {
    let bytes = signedPart
    return bytes + token.proof(of: bytes, challenge: challenge)
  }
}

extension RelayMeeting {
  /// The meeting of a pairing.
  package init(ofSecret secret: [UInt8]) {
    let derived = unsafe hkdf(secret.span.bytes, info: Array("peer-relay-v1 meeting".utf8))
    self.init(Array(derived.copied().prefix(Self.size)))
  }
}
