/// The public inputs of a run of SPAKE2: the identities of A and B, and the associated data.
struct Spake2Names: Sendable {
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
