import MigrationSystem
import MigrationWire

extension IncomingData {
  /// Unpacks the compressed frames of one data stream (Protocol §6.8, encoding 1). From the first frame
  /// on, it has one frame's memory.
  struct Decompression: ~Copyable {
    private var decoder: ZstandardDecoder?
    /// The entries of the last unpacked frame, at the front. Grows to the largest frame.
    private(set) var entries: [UInt8] = []

    /// Unpacks a payload, a part of an array, to exactly `plainLength` bytes of entries.
    mutating func unpack(_ body: [UInt8], _ range: Range<Int>, to plainLength: Int) throws {
      let payload = body.span.extracting(range)
      try CompressedFrame(payload).check(plainLength: plainLength)
      if decoder == nil { decoder = ZstandardDecoder() }
      guard decoder != nil else {
        throw SystemError(reason: "the library is not there any more", operation: "decompress", subject: "libzstd")
      }
      if entries.count < plainLength { entries = [UInt8](repeating: 0, count: plainLength) }
      let isWhole = decoder?.decompress(payload, into: &entries, exactly: plainLength)
      guard isWhole == true else { throw CompressedFrame.undecodable }
    }
  }
}
