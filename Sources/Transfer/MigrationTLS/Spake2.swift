import COpenSSL
import MigrationSystem
package import MigrationWire

/// One run of SPAKE2 (RFC 9382) with P-256, SHA-256, HKDF and HMAC.
///
/// A run sends its share, takes the peer's, and is used up: its secret number serves once.
package struct Spake2: ~Copyable {
  /// Which of the two sides of the protocol this is.
  package enum Role: Sendable {
    /// The side that speaks first: the TLS client, who types the code.
    case a
    /// The side that answers: the TLS server, who shows the code.
    case b
  }

  /// The point M of RFC 9382 §6, which blinds A's share.
  private static let blindA: [UInt8] = [
    0x02, 0x88, 0x6e, 0x2f, 0x97, 0xac, 0xe4, 0x6e, 0x55, 0xba, 0x9d, 0xd7, 0x24, 0x25, 0x79, 0xf2, 0x99,
    0x3b, 0x64, 0xe1, 0x6e, 0xf3, 0xdc, 0xab, 0x95, 0xaf, 0xd4, 0x97, 0x33, 0x3d, 0x8f, 0xa1, 0x2f,
  ]

  /// The point N of RFC 9382 §6, which blinds B's share.
  private static let blindB: [UInt8] = [
    0x03, 0xd8, 0xbb, 0xd6, 0xc6, 0x39, 0xc6, 0x29, 0x37, 0xb0, 0x4d, 0x99, 0x7f, 0x38, 0xc3, 0x77, 0x07,
    0x19, 0xc6, 0x29, 0xd7, 0x01, 0x4d, 0x49, 0xa2, 0x4b, 0x4f, 0x98, 0xba, 0xa1, 0x29, 0x2b, 0x49,
  ]

  private let role: Role
  private let names: Names
  private let curve: P256
  private let secret: P256.Scalar
  private let ephemeral: P256.Scalar

  /// The share for the peer: a point, 65 bytes.
  package let share: [UInt8]

  /// Starts a run with a fresh random number.
  package init(role: Role, secret: PairingSecret, idA: [UInt8], idB: [UInt8], aad: [UInt8]) throws(TLSError) {
    let curve = try P256()
    let ephemeral = try curve.randomScalar()
    let names = Names(idA: idA, idB: idB, aad: aad)
    try self.init(role: role, secret: secret, names: names, curve: curve, ephemeral: ephemeral)
  }

  /// Starts a run with a given number, for vectors.
  init(
    role: Role, secret: PairingSecret, idA: [UInt8], idB: [UInt8], aad: [UInt8], scalar: [UInt8]
  ) throws(TLSError) {
    let names = Names(idA: idA, idB: idB, aad: aad)
    let ephemeral = try unsafe P256.Scalar(scalar.span.bytes)
    try self.init(role: role, secret: secret, names: names, curve: P256(), ephemeral: ephemeral)
  }

  private init(
    role: Role, secret: PairingSecret, names: Names, curve: consuming P256, ephemeral: consuming P256.Scalar
  ) throws(TLSError) {
    let secret = try secret.bytes.withBytes { (bytes) throws(TLSError) in try P256.Scalar(bytes) }
    let blind = try curve.decode(role == .a ? Self.blindA : Self.blindB)
    // Two products and a sum: the one call that does all three takes a time that depends on the
    // secrets in some builds.
    let blinding = try curve.multiply(blind, by: secret)
    let own = try curve.multiplyGenerator(by: ephemeral)
    share = try curve.encode(curve.add(blinding, own))
    self.role = role
    self.names = names
    self.curve = curve
    self.secret = secret
    self.ephemeral = ephemeral
  }

  /// Takes the peer's share and gives the keys and both confirmations.
  ///
  /// Throws `.invalidShare` for all bytes except a point that an honest peer could have sent.
  package consuming func finish(peerShare: [UInt8]) throws(TLSError) -> Keys {
    let shared = try sharedPoint(peerShare: peerShare)
    let (shareA, shareB) = role == .a ? (share, peerShare) : (peerShare, share)
    let transcript = try names.transcript(shareA: shareA, shareB: shareB, sharedPoint: shared, secret: secret.encoded())
    return Keys(transcript: transcript, aad: names.aad)
  }

  /// K, the point that only two sides with the same w agree on.
  func sharedPoint(peerShare: [UInt8]) throws(TLSError) -> SecretBytes {
    OpenSSL.clearErrors()
    let operation = "the check of a pairing share"
    guard peerShare != share else {
      throw TLSError(.invalidShare, operation: operation, detail: "the other side sent back this side's own share")
    }
    let received = try curve.point(share: peerShare)
    let blind = try curve.decode(role == .a ? Self.blindB : Self.blindA)
    let unblinded = try curve.subtract(received, curve.multiply(blind, by: secret))
    guard !curve.isInfinity(unblinded) else {
      throw TLSError(.invalidShare, operation: operation, detail: "the share without its blinding is infinity")
    }
    let shared = try curve.multiply(unblinded, by: ephemeral)
    guard !curve.isInfinity(shared) else {
      throw TLSError(.invalidShare, operation: operation, detail: "the shared point is infinity")
    }
    var encoded = try curve.encode(shared)
    defer { cleanse(&encoded) }
    return unsafe SecretBytes(encoded.span.bytes)
  }

  /// The public inputs of a run of SPAKE2: the identities of A and B, and the associated data.
  struct Names: Sendable {
    /// The identity of A.
    let idA: [UInt8]
    /// The identity of B.
    let idB: [UInt8]
    /// The associated data: the confirmations vouch for it, but it does not enter the key.
    let aad: [UInt8]

    /// TT, all values on which both sides must agree: six fields, each after its length in 8 bytes,
    /// little-endian.
    func transcript(
      shareA: [UInt8], shareB: [UInt8], sharedPoint: borrowing SecretBytes, secret: borrowing SecretBytes
    ) -> SecretBytes {
      let open = [idA, idB, shareA, shareB]
      let count = open.reduce(0) { $0 + 8 + $1.count } + 8 + sharedPoint.count + 8 + secret.count
      var transcript = SecretBytes(zeros: count)
      var offset = 0
      for field in open {
        unsafe transcript.appendField(field.span.bytes, at: &offset)
      }
      sharedPoint.withBytes { transcript.appendField($0, at: &offset) }
      secret.withBytes { transcript.appendField($0, at: &offset) }
      return transcript
    }
  }

  /// The result of a SPAKE2 run: two confirmations and a key.
  package struct Keys: ~Copyable, Sendable {
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
}

extension SecretBytes {
  /// Writes a length and a field at `offset`, and moves `offset` behind them.
  fileprivate mutating func appendField(_ field: RawSpan, at offset: inout Int) {
    let start = offset
    unsafe withMutablePointer { storage in
      unsafe storage.storeBytes(of: UInt64(field.byteCount).littleEndian, toByteOffset: start, as: UInt64.self)
      unsafe field.withUnsafeBytes { bytes in
        unsafe UnsafeMutableRawBufferPointer(rebasing: storage[(start + 8)...]).copyMemory(from: bytes)
      }
    }
    offset += 8 + field.byteCount
  }
}

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
