/// The lanes of a piece of a file (Protocol §9.3), from which its check is made.
package struct PieceLanes: Equatable, Sendable {
  package let lanes: (UInt32, UInt32, UInt32)

  package init(_ lanes: (UInt32, UInt32, UInt32) = (0, 0, 0)) { self.lanes = lanes }

  package static func == (one: PieceLanes, other: PieceLanes) -> Bool { one.lanes == other.lanes }

  package func write(to writer: inout ByteWriter) { for lane in [lanes.0, lanes.1, lanes.2] { writer.u32(lane) } }

  package init(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) {
    lanes = (try reader.u32(bytes), try reader.u32(bytes), try reader.u32(bytes))
  }

  /// The lanes of a piece of so many bytes, a multiple of 8, with another piece behind it.
  package func joined(_ length: UInt64, with next: PieceLanes, _ nextLength: UInt64) -> PieceLanes {
    ContentSum.join(self, length, next, nextLength)
  }
}

/// A sum over the whole content of a file, made of the lanes of its pieces in any order, so that no end
/// has to read a file for it a second time. Holes add nothing.
///
/// Each lane of the file is one polynomial over the bits, as a CRC-32C is, multiplied by a power of x
/// that depends only on where its bytes lie: so the pieces add up, wherever the file is cut between
/// words of 8 bytes. Powers of x repeat after 2³¹−1.
package struct ContentSum: Equatable, Sendable {
  private var lanes: [UInt32] = [0, 0, 0]
  /// Whether a piece began within a word: then the sum says nothing about the content.
  private var isLost = false

  package init() {}

  private static let word: UInt64 = 8

  package mutating func add(_ piece: PieceLanes, at range: Range<UInt64>) {
    guard range.lowerBound.isMultiple(of: Self.word) else {
      isLost = true
      return
    }
    let first = range.lowerBound / Self.word
    for (number, lane) in [piece.lanes.0, piece.lanes.1, piece.lanes.2].enumerated() {
      // The piece's lanes begin at its own first word.
      let place = Int((first + UInt64(number)) % 3)
      let begin = Self.count(of: place, before: range.lowerBound)
      let end = Self.count(of: place, before: range.upperBound)
      guard end > begin else { continue }
      // Without the first and the last inversion of a CRC, which are no part of the sum.
      let plain = lane ^ ~Self.times(.max, Self.power(bytes: end - begin))
      lanes[place] ^= Self.times(plain, Self.power(bytes: Self.order - end % Self.order))
    }
  }

  /// How many bytes of a file's lane lie before an offset.
  private static func count(of lane: Int, before offset: UInt64) -> UInt64 {
    let words = offset / word
    let whole = (words + 2 - UInt64(lane)) / 3 * word
    return words % 3 == UInt64(lane) ? whole + offset % word : whole
  }

  /// The lanes of a piece of so many bytes that has this sum, counted from its own beginning; nil if
  /// the sum is not known.
  package func lanes(of length: UInt64) -> PieceLanes? {
    guard !isLost else { return nil }
    let found = (0..<3).map { lane -> UInt32 in
      let count = Self.count(of: lane, before: length)
      guard count > 0 else { return 0 }
      return Self.times(lanes[lane], Self.power(bytes: count)) ^ ~Self.times(.max, Self.power(bytes: count))
    }
    return PieceLanes((found[0], found[1], found[2]))
  }

  fileprivate static func join(
    _ piece: PieceLanes, _ length: UInt64, _ next: PieceLanes, _ nextLength: UInt64
  ) -> PieceLanes {
    precondition(length.isMultiple(of: word), "a piece that is continued ends between words")
    let (own, others) = ([piece.lanes.0, piece.lanes.1, piece.lanes.2], [next.lanes.0, next.lanes.1, next.lanes.2])
    let first = Int(length / word % 3)
    var joined = own
    for lane in 0..<3 {
      // The next piece's lanes begin at its own first word.
      let other = (lane + 3 - first) % 3
      let count = count(of: other, before: nextLength)
      if count > 0 { joined[lane] = times(own[lane], power(bytes: count)) ^ others[other] }
    }
    return PieceLanes((joined[0], joined[1], joined[2]))
  }

  /// The bytes of the sum; nil if it is not known.
  package var bytes: [UInt8]? {
    guard !isLost else { return nil }
    var writer = ByteWriter()
    for lane in lanes { writer.u32(lane) }
    return writer.bytes
  }

  // MARK: Polynomials

  /// CRC-32C's, bits reflected.
  private static let polynomial: UInt32 = 0x82F6_3B78
  /// The number of bits, and of bytes, after which powers of x repeat: 2³¹−1 is prime.
  private static let order: UInt64 = 0x7FFF_FFFF

  /// x to the power of 8·2ⁿ.
  private static let powers: [UInt32] = {
    var powers: [UInt32] = [0x0080_0000]
    while powers.count < 31 { powers.append(times(powers[powers.count - 1], powers[powers.count - 1])) }
    return powers
  }()

  /// x to the power of the bits of so many bytes.
  private static func power(bytes: UInt64) -> UInt32 {
    var (power, rest, index): (UInt32, UInt64, Int) = (0x8000_0000, bytes % order, 0)
    while rest > 0 {
      if rest & 1 == 1 { power = times(power, powers[index]) }
      rest >>= 1
      index += 1
    }
    return power
  }

  /// The product of two polynomials, modulo CRC-32C's.
  private static func times(_ one: UInt32, _ other: UInt32) -> UInt32 {
    var (product, factor, bit): (UInt32, UInt32, UInt32) = (0, other, 0x8000_0000)
    while bit > 0 {
      if one & bit != 0 { product ^= factor }
      factor = factor >> 1 ^ (factor & 1 == 1 ? polynomial : 0)
      bit >>= 1
    }
    return product
  }
}
