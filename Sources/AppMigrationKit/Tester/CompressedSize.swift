internal import MigrationArchive
internal import MigrationSystem
internal import MigrationWire

/// Adds up the compressed size of the contents in frames; a frame that does not shrink counts with
/// its plain size.
final class CompressedSize {
  private(set) var total = 0
  private let compressor = Zstandard()
  private var contents: [UInt8] = []
  private var buffer: [UInt8] = []

  func add(_ frame: borrowing FrameBuffer) throws(Violation) {
    contents.removeAll(keepingCapacity: true)
    var reader = EntryReader(0..<frame.count)
    while let entry = try reader.next(frame.bytes.span) {
      switch entry {
      case .item(_, let content?): contents += frame.bytes[content.data]
      case .chunk(_, _, let data): contents += frame.bytes[data]
      case .item(_, nil), .hole: break
      }
    }
    total += compressedSize ?? contents.count
  }

  /// Nil if the contents would not shrink, or if no compressor is available.
  private var compressedSize: Int? {
    guard contents.count > 1 else { return nil }
    // Only a smaller result is of interest.
    if buffer.count < contents.count { buffer = [UInt8](repeating: 0, count: contents.count) }
    let size = compressor?.compress(contents.span, into: &buffer)
    return size.flatMap { $0 < contents.count ? $0 : nil }
  }
}
