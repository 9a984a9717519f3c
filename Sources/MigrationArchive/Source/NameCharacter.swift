/// One character of a name: a Unicode scalar, or a byte that is not part of one.
struct NameCharacter {
  /// The scalar's value; for a byte that is not part of a scalar, a value beyond all scalars, so
  /// that it equals only itself.
  let code: UInt32
  /// The number of bytes.
  let length: Int

  /// Reads the character that begins at a position.
  init(_ bytes: Span<UInt8>, at position: Int) {
    let first = bytes[position]
    if first >= 0x80, let scalar = Self.scalar(bytes.extracting(position..<bytes.count)) {
      code = scalar.value
      length = UTF8.width(scalar)
    } else {
      code = first < 0x80 ? UInt32(first) : 0x11_0000 + UInt32(first)
      length = 1
    }
  }

  /// The scalar of two to four bytes at the start of the bytes; nil if there is none.
  private static func scalar(_ bytes: Span<UInt8>) -> Unicode.Scalar? {
    // The complement of a leading byte has as many leading zeros as the character has bytes.
    let length = (~bytes[0]).leadingZeroBitCount
    guard (2...4).contains(length), length <= bytes.count,
      let text = try? UTF8Span(validating: bytes.extracting(0..<length))
    else { return nil }
    var scalars = text.makeUnicodeScalarIterator()
    return scalars.next()
  }
}
