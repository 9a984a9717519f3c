extension UInt64 {
  /// Reads eight bytes, the lowest first. The compiler makes one load of these terms.
  @inline(__always)
  init(littleEndian bytes: Span<UInt8>) {
    precondition(bytes.count == 8, "eight bytes")
    var word = UInt64(bytes[0])
    word |= UInt64(bytes[1]) << 8
    word |= UInt64(bytes[2]) << 16
    word |= UInt64(bytes[3]) << 24
    word |= UInt64(bytes[4]) << 32
    word |= UInt64(bytes[5]) << 40
    word |= UInt64(bytes[6]) << 48
    word |= UInt64(bytes[7]) << 56
    self = word
  }
}
