/// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein): a keyed hash for marks,
/// generations and journal records.
package struct SipHash: Sendable {
  private var v0: UInt64
  private var v1: UInt64
  private var v2: UInt64
  private var v3: UInt64
  private var tail: UInt64 = 0
  private var length = 0

  /// Starts under a key, whose 16 bytes are read big-endian into the integer.
  package init(key: UInt128) {
    let k0 = UInt64(truncatingIfNeeded: key >> 64).byteSwapped
    let k1 = UInt64(truncatingIfNeeded: key).byteSwapped
    v0 = k0 ^ 0x736f_6d65_7073_6575
    v1 = k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
    v2 = k0 ^ 0x6c79_6765_6e65_7261
    v3 = k1 ^ 0x7465_6462_7974_6573
  }

  package mutating func combine(_ bytes: Span<UInt8>) {
    var rest = bytes
    while rest.count >= 8 {
      combine(UInt64(littleEndian: rest.extracting(first: 8)), count: 8)
      rest = rest.extracting(droppingFirst: 8)
    }
    for index in rest.indices { combine(rest[index]) }
  }

  package mutating func combine(_ bytes: [UInt8]) { combine(bytes.span) }

  /// Adds an integer of at most 64 bits as its big-endian bytes.
  package mutating func combine<Value: FixedWidthInteger>(_ value: Value) {
    let word = UInt64(truncatingIfNeeded: value.byteSwapped) & (UInt64.max >> UInt64(64 - Value.bitWidth))
    combine(word, count: Value.bitWidth / 8)
  }

  package mutating func combine(_ value: UInt128) {
    combine(UInt64(truncatingIfNeeded: value >> 64))
    combine(UInt64(truncatingIfNeeded: value))
  }

  /// Adds the `count` low bytes of a word, the lowest first; the others are zero.
  @inline(__always)
  private mutating func combine(_ word: UInt64, count: Int) {
    let filled = length % 8
    tail |= word &<< UInt64(filled * 8)
    length += count
    guard filled + count >= 8 else { return }
    compress(tail)
    // A shift by all 64 bits leaves nothing.
    tail = word >> UInt64((8 - filled) * 8)
  }

  /// The hash of everything combined; its 16 bytes big-endian are the hash as its authors write it.
  package consuming func finish() -> UInt128 {
    compress(tail | UInt64(truncatingIfNeeded: length) << 56)
    v2 ^= 0xee
    for _ in 0..<4 { round() }
    let first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xdd
    for _ in 0..<4 { round() }
    let second = v0 ^ v1 ^ v2 ^ v3
    return UInt128(first.byteSwapped) << 64 | UInt128(second.byteSwapped)
  }

  @inline(__always)
  private mutating func compress(_ word: UInt64) {
    v3 ^= word
    round()
    round()
    v0 ^= word
  }

  @inline(__always)
  private mutating func round() {
    v0 &+= v1
    v2 &+= v3
    v1 = rotate(v1, 13) ^ v0
    v3 = rotate(v3, 16) ^ v2
    v0 = rotate(v0, 32)
    v2 &+= v1
    v0 &+= v3
    v1 = rotate(v1, 17) ^ v2
    v3 = rotate(v3, 21) ^ v0
    v2 = rotate(v2, 32)
  }

  private func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
    value &<< count | value &>> (64 - count)
  }

  /// The result of a keyed hash as the key of a set or dictionary. It is not hashed again: the seed,
  /// which no device knows, only decides where it lies.
  struct KeyedHash: Hashable, Sendable {
    let value: UInt128

    func _rawHashValue(seed: Int) -> Int {
      let low = UInt64(truncatingIfNeeded: value) ^ UInt64(bitPattern: Int64(seed))
      let product = low.multipliedFullWidth(by: UInt64(truncatingIfNeeded: value >> 64) | 1)
      return Int(truncatingIfNeeded: product.high ^ product.low)
    }
  }
}
