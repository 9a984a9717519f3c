import FuzzDriver
import MigrationWire

@testable import MigrationTransfer

extension FuzzTarget {
  /// Bytes on a connection that need more than MigrationWire.
  static let transfer = [
    FuzzTarget("compressed", "compressed entries", longest: 1024) { input in
      var bytes = InputBytes(input)
      let length = Int(bytes.byte()) << 8 | Int(bytes.byte())
      checkCompressed(bytes.all(), to: max(1, length))
    },
    FuzzTarget("pairing", "frames before READY, and the first record of a connection", longest: 128) { input in
      let bytes = Array(input)
      if let frame = read({ try PairingFrame(bytes.span) }) {
        promise(frame.bytes == bytes, "a frame before READY is written differently")
      }
      if let length = read({ try PairingFrame.length(bytes.span.extracting(first: min(3, bytes.count))) }) {
        promise((3...68).contains(length), "a frame before READY has \(length) bytes")
      }
      if let needed = AcceptQueue.firstRecordNeeds(bytes.span) {
        promise((5...16_389).contains(needed), "the first record needs \(needed) bytes")
      }
    },
  ]
}

/// The decoder of a stream, which later frames use again.
private struct Decoder: ~Copyable {
  var decompression = IncomingData.Decompression()
}
// Unsafe: libFuzzer calls from one thread, and a decoder is costly to make for each input.
nonisolated(unsafe) private var decoder = Decoder()

/// Unpacks a frame to exactly as many bytes as it states, and says so of its header too.
private func checkCompressed(_ payload: [UInt8], to plainLength: Int) {
  guard (try? decoder.decompression.unpack(payload, 0..<payload.count, to: plainLength)) != nil else { return }
  promise(decoder.decompression.entries.count <= 1 << 16, "unpacked entries take more than they may")
  guard let header = read({ try CompressedFrame(payload.span) }) else {
    fatalError("a frame without a header is unpacked")
  }
  promise(header.contentSize.map { $0 == UInt64(plainLength) } ?? true, "a frame is unpacked to another length")
  promise(header.window <= Limits.compressionWindow && !header.usesDictionary, "a frame beyond the limits is unpacked")
}
