/// The header of a zstd frame (RFC 8878 §3.1.1.1), which is checked before the frame is decoded.
package struct CompressedFrame: Equatable, Sendable {
  private static let subject = "compressed data"
  private static let magic: UInt64 = 0xFD2F_B528

  /// The size of the window in bytes.
  package let window: UInt64
  /// The number of decoded bytes; nil if the header does not have it.
  package let contentSize: UInt64?
  /// Whether decoding needs a dictionary.
  package let usesDictionary: Bool

  /// Reads the header of the frame in `bytes`. Skippable frames and older formats are refused.
  package init(_ bytes: Span<UInt8>) throws(Violation) {
    var rest = 0..<bytes.count
    guard try Self.number(of: 4, in: bytes, &rest) == Self.magic else { throw Violation(.unknown, Self.subject) }
    let descriptor = try Self.number(of: 1, in: bytes, &rest)
    guard descriptor & 0x08 == 0 else { throw Violation(.value, Self.subject) }
    let isSingleSegment = descriptor & 0x20 != 0
    let statedWindow = isSingleSegment ? 0 : Self.window(try Self.number(of: 1, in: bytes, &rest))
    usesDictionary = try Self.number(of: [0, 1, 2, 4][Int(descriptor & 3)], in: bytes, &rest) != 0
    let sizeLength = [isSingleSegment ? 1 : 0, 2, 4, 8][Int(descriptor >> 6)]
    let size = try Self.number(of: sizeLength, in: bytes, &rest)
    contentSize =
      switch sizeLength {
      case 0: nil
      // A size of two bytes is stored minus 256.
      case 2: size + 256
      default: size
      }
    window = isSingleSegment ? contentSize ?? 0 : statedWindow
  }

  /// Throws unless the frame can be the payload of a DATA frame with `plainLength` bytes of entries
  /// (Protocol §6.8).
  package func check(plainLength: Int) throws(Violation) {
    guard !usesDictionary else { throw Violation(.value, Self.subject) }
    guard window <= Limits.compressionWindow else { throw Violation(.limit, Self.subject) }
    guard contentSize ?? UInt64(plainLength) == UInt64(plainLength) else { throw Violation(.conflict, Self.subject) }
  }

  /// The error for blocks that contradict the header.
  package static let undecodable = Violation(.value, subject)

  private static func window(_ descriptor: UInt64) -> UInt64 {
    let base: UInt64 = 1 << (10 + (descriptor >> 3))
    return base + base / 8 * (descriptor & 7)
  }

  /// Reads a little-endian number from the start of `rest`.
  private static func number(
    of length: Int, in bytes: Span<UInt8>, _ rest: inout Range<Int>
  ) throws(Violation) -> UInt64 {
    guard rest.count >= length else { throw Violation(.truncated, subject) }
    let end = rest.lowerBound + length
    var number: UInt64 = 0
    for index in (rest.lowerBound..<end).reversed() { number = number << 8 | UInt64(bytes[index]) }
    rest = end..<rest.upperBound
    return number
  }
}
