import Glibc

/// Bytes that differ everywhere and are the same in every run.
package func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  bytes.withUnsafeMutableBytes { buffer in
    var offset = 0
    while offset + 8 <= count {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      buffer.storeBytes(of: state, toByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < count {
      buffer[offset] = UInt8(truncatingIfNeeded: state >> 3) ^ UInt8(truncatingIfNeeded: offset)
      offset += 1
    }
  }
  return bytes
}

/// Pseudorandom numbers that are the same in every run (SplitMix64).
package struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  /// Starts with a state.
  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }

  /// Random bytes, one number for each.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}
