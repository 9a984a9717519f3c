/// A generator that returns the same numbers for the same seed. A fuzzer gives it bytes, of which
/// each decides one choice; the numbers of a seed follow them.
public struct Generator: RandomNumberGenerator {
  private var state: UInt64
  private var bytes: ArraySlice<UInt8> = []

  public init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

  public init(bytes: ArraySlice<UInt8>) {
    self.init(seed: 0)
    self.bytes = bytes
  }

  /// Whether no bytes are left.
  public var isSpent: Bool { bytes.isEmpty }

  /// Takes the next byte; 0 if there is none.
  public mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

  /// Takes so many bytes, or all that are left.
  public mutating func take(_ count: Int) -> [UInt8] {
    defer { bytes = bytes.dropFirst(count) }
    return Array(bytes.prefix(count))
  }

  public mutating func next() -> UInt64 {
    // A choice depends on the highest bits of a number, or on any others: the byte is in all of
    // them. After a 0 the next byte chooses among the rarest numbers; none is 0, which a choice may
    // ask for again without an end.
    if let byte = bytes.popFirst() {
      if byte > 0 { return UInt64(byte) &* 0x0101_0101_0101_0101 }
      return UInt64(self.byte()) &* 0x0001_0101_0101_0101 | 1
    }
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
