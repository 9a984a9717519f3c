/// The result of a SPAKE2 run: two confirmations and a key.
package struct Spake2Keys: ~Copyable, Sendable {
  /// The confirmation by which A proves that it knows the code, 32 bytes.
  package let confirmA: [UInt8]
  /// The confirmation by which B proves that it knows the code, 32 bytes.
  package let confirmB: [UInt8]
  /// Ke, 16 bytes that only both sides know.
  package let encryptionKey: SecretBytes

  /// Derives everything from TT and the associated data (RFC 9382 §3.4 and §4).
  init(transcript: borrowing SecretBytes, aad: [UInt8]) {
    let digest = Self.digest(of: transcript)
    let confirmationKeys = Self.confirmationKeys(digest: digest, aad: aad)
    confirmA = Self.confirmation(key: confirmationKeys.part(0..<16), transcript)
    confirmB = Self.confirmation(key: confirmationKeys.part(16..<32), transcript)
    encryptionKey = digest.part(0..<16)
  }

  /// Hash(TT), which is Ke ‖ Ka.
  static func digest(of transcript: borrowing SecretBytes) -> SecretBytes {
    var digest = SecretBytes(zeros: digestByteCount)
    unsafe digest.withMutablePointer { out in
      transcript.withBytes { unsafe sha256($0, into: out) }
    }
    return digest
  }

  /// KcA ‖ KcB.
  static func confirmationKeys(digest: borrowing SecretBytes, aad: [UInt8]) -> SecretBytes {
    digest.part(16..<32).withBytes { hkdf($0, info: Array("ConfirmationKeys".utf8) + aad) }
  }

  private static func confirmation(key: borrowing SecretBytes, _ transcript: borrowing SecretBytes) -> [UInt8] {
    key.withBytes { key in
      transcript.withBytes { hmac(key: key, message: $0).copied() }
    }
  }
}
