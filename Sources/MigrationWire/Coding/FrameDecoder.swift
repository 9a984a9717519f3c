/// Takes whole frames out of a stream of bytes (Protocol §6), however the bytes come.
///
/// A caller reads bytes directly into the decoder's room. A caller that reads no more than
/// `missing` bytes never gets the beginning of the next frame, so the decoder moves nothing. A
/// caller that reads more gets the frames one after another.
package struct FrameDecoder: Sendable {
  /// A whole frame: its body lies at a range of the decoder's bytes until the next call that
  /// changes the decoder.
  package struct Frame: Equatable, Sendable {
    package let type: FrameType
    package let body: Range<Int>
  }

  /// The received bytes, and room behind them.
  package private(set) var bytes: [UInt8] = []
  /// The start of the next frame, and the end of the received bytes.
  private var start = 0
  private var end = 0

  package init() {}

  /// How many bytes of the next frame are missing, as far as that is known: first those of its
  /// header. Throws what the header breaks.
  package var missing: Int {
    get throws(Violation) {
      guard let header = try header else { return Limits.frameHeader - (end - start) }
      return max(0, Limits.frameHeader + header.length - (end - start))
    }
  }

  private var header: FrameHeader? {
    get throws(Violation) {
      guard end - start >= Limits.frameHeader else { return nil }
      return try FrameHeader(bytes.span.extracting(start..<start + Limits.frameHeader))
    }
  }

  /// Lets `read` fill room for at most so many bytes. `read` returns the number of bytes, or nil
  /// for none.
  package mutating func read<Failure: Error>(
    atMost count: Int, _ read: (inout [UInt8], Range<Int>) throws(Failure) -> Int?
  ) throws(Failure) -> Int? {
    makeRoom(count)
    let got = try read(&bytes, end..<end + count)
    end += got ?? 0
    return got
  }

  /// Takes bytes that came.
  package mutating func append(_ new: Span<UInt8>) {
    makeRoom(new.count)
    for index in new.indices { bytes[end + index] = new[index] }
    end += new.count
  }

  private mutating func makeRoom(_ count: Int) {
    if start == end {
      (start, end) = (0, 0)
    } else if start > 0, end + count > bytes.count {
      bytes.replaceSubrange(0..<end - start, with: Array(bytes[start..<end]))
      (start, end) = (0, end - start)
    }
    if end + count > bytes.count { bytes += [UInt8](repeating: 0, count: end + count - bytes.count) }
  }

  /// The next whole frame; nil when it is not there.
  package mutating func next() throws(Violation) -> Frame? {
    guard let header = try header else { return nil }
    let body = start + Limits.frameHeader
    guard end - body >= header.length else { return nil }
    start = body + header.length
    return Frame(type: header.type, body: body..<start)
  }
}
