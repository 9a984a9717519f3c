/// The header of a zstd frame (RFC 8878 §3.1.1.1), judged before any of the frame is decoded.
package struct CompressedFrame: Equatable, Sendable {
  private static let subject = "compressed data"
  private static let magic: UInt64 = 0xFD2F_B528

  /// How far back its data may refer, in bytes.
  package let window: UInt64
  /// How many bytes it decodes to; nil where it does not say.
  package let contentSize: UInt64?
  /// Whether the bytes are to be decoded with a dictionary.
  package let usesDictionary: Bool

  /// Reads the front of a frame that is all of `bytes`. Skippable frames and those of older formats
  /// are none.
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
      // Two bytes begin where one ends.
      case 2: size + 256
      default: size
      }
    window = isSingleSegment ? contentSize ?? 0 : statedWindow
  }

  /// Refuses what a DATA frame of so many plain bytes does not hold (Protocol §6.8).
  package func check(plainLength: Int) throws(Violation) {
    guard !usesDictionary else { throw Violation(.value, Self.subject) }
    guard window <= Limits.compressionWindow else { throw Violation(.limit, Self.subject) }
    guard contentSize ?? UInt64(plainLength) == UInt64(plainLength) else { throw Violation(.conflict, Self.subject) }
  }

  /// The error for blocks that do not keep the promises of the header.
  package static let undecodable = Violation(.value, subject)

  private static func window(_ descriptor: UInt64) -> UInt64 {
    let base: UInt64 = 1 << (10 + (descriptor >> 3))
    return base + base / 8 * (descriptor & 7)
  }

  /// Takes a number off the front; the format has the lowest byte first.
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
