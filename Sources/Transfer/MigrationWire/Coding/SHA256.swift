/// SHA-256 (FIPS 180-4), for the few bytes with which a device shows a relay its token: the relay's
/// program has no TLS library.
package struct SHA256: Sendable {
  /// The number of bytes of a digest.
  package static let size = 32
  private static let block = 64

  private var state: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]
  private var pending: [UInt8] = []
  private var length: UInt64 = 0

  private init() { pending.reserveCapacity(Self.block) }

  /// The digest of some bytes.
  package static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.combine(bytes)
    return hash.finish()
  }

  /// HMAC-SHA-256 (RFC 2104).
  package static func authentication(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    var padded = key.count > block ? digest(key) : key
    padded += [UInt8](repeating: 0, count: block - padded.count)
    return digest(padded.map { $0 ^ 0x5c } + digest(padded.map { $0 ^ 0x36 } + bytes))
  }

  /// HKDF-SHA-256 without a salt (RFC 5869), for at most `size` bytes.
  package static func derive(key: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
    precondition(count <= size, "one block of HKDF")
    let extracted = authentication(key: [UInt8](repeating: 0, count: size), key)
    return Array(authentication(key: extracted, info + [1])[..<count])
  }

  private mutating func combine(_ bytes: [UInt8]) {
    length += UInt64(bytes.count) * 8
    for byte in bytes { take(byte) }
  }

  private mutating func take(_ byte: UInt8) {
    pending.append(byte)
    guard pending.count == Self.block else { return }
    compress()
    pending.removeAll(keepingCapacity: true)
  }

  private mutating func finish() -> [UInt8] {
    let total = length
    take(0x80)
    while pending.count != Self.block - 8 { take(0) }
    var writer = ByteWriter()
    writer.u64(total)
    for byte in writer.bytes { take(byte) }
    var digest = ByteWriter()
    for word in state { digest.u32(word) }
    return digest.bytes
  }

  private mutating func compress() {
    var words = [UInt32](repeating: 0, count: 64)
    for index in 0..<16 {
      words[index] = (0..<4).reduce(0) { $0 << 8 | UInt32(pending[index * 4 + $1]) }
    }
    for index in 16..<64 {
      let (early, late) = (words[index - 15], words[index - 2])
      let first = Self.turn(early, 7) ^ Self.turn(early, 18) ^ early >> 3
      let second = Self.turn(late, 17) ^ Self.turn(late, 19) ^ late >> 10
      words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let choice = (e & f) ^ (~e & g)
      let one = h &+ (Self.turn(e, 6) ^ Self.turn(e, 11) ^ Self.turn(e, 25)) &+ choice &+ Self.rounds[index]
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let two = (Self.turn(a, 2) ^ Self.turn(a, 13) ^ Self.turn(a, 22)) &+ majority
      let next = one &+ words[index]
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ next, c, b, a, next &+ two)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  private static func turn(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

  private static let rounds: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
