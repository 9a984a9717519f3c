import MigrationArchive
import MigrationEngine
import MigrationSystem

/// Compresses the frames of one data stream where that gains time (Protocol §6.8, encoding 1). One
/// thread uses it.
struct Compression: ~Copyable {
  /// Compression must save more than this part of a frame's size.
  private static let notable = 10

  private let preference: SenderEngine.CompressionPreference
  private var choice = CompressionChoice()
  private var trace = CompressionChoice.Trace()
  private var compressor: Zstandard?
  /// The last compressed frame, at the front.
  private(set) var bytes: [UInt8] = []

  init(_ preference: SenderEngine.CompressionPreference) { self.preference = preference }

  /// The stream has waited for the link for some seconds.
  mutating func waited(_ seconds: Double) { trace.waiting += seconds }

  /// Compresses a frame if that is worth it. Returns the compressed size; nil for a frame that is
  /// sent plain.
  ///
  /// `sent` is the number of bytes that the connection has accepted so far, `unwritten` the number
  /// of frames that the receiver has not written.
  mutating func pack(_ frame: FrameBuffer, sent: UInt64, unwritten: UInt64) -> Int? {
    switch preference {
    case .never: return nil
    case .always: return compress(frame, atMost: frame.count - 1)
    case .auto: break
    }
    let begun = BootInstant.now()
    trace.now = begun.seconds
    trace.sent = sent
    trace.unwritten = unwritten
    let isWanted = choice.next(trace)
    trace.plain += UInt64(frame.count)
    trace.frames += 1
    guard isWanted else {
      // A context and a frame are too much memory to keep for a rare use.
      compressor = nil
      bytes = []
      return nil
    }
    guard !Self.isNoise(frame.bytes, count: frame.count) else {
      choice.metNoise()
      return nil
    }
    let size = compress(frame, atMost: frame.count - frame.count / Self.notable)
    choice.packed(frame.count, to: size ?? frame.count, seconds: BootInstant.now().seconds(since: begun))
    return size
  }

  private mutating func compress(_ frame: FrameBuffer, atMost limit: Int) -> Int? {
    if compressor == nil { compressor = Zstandard() }
    if bytes.count < frame.count { bytes = [UInt8](repeating: 0, count: frame.bytes.count) }
    return compressor?.compress(frame.bytes.span.extracting(first: frame.count), into: &bytes, atMost: limit)
  }
}

extension Compression {
  /// The number of places that a look for noise samples, and of bytes at each.
  private static let places = 16
  private static let length = 256

  /// Whether data cannot be compressed, such as pictures and archives: a few of its bytes are
  /// spread about as evenly as noise has them.
  ///
  /// It counts pairs of equal bytes. In noise, 1 pair in 256 is equal; in text and programs, many
  /// times as many.
  static func isNoise(_ bytes: [UInt8], count: Int) -> Bool {
    let sample = places * length
    guard count >= sample else { return false }
    var counts = [Int](repeating: 0, count: 256)
    for place in 0..<places {
      let start = (count - length) / (places - 1) * place
      for index in start..<start + length { counts[Int(bytes[index])] += 1 }
    }
    let pairs = counts.reduce(0) { $0 + $1 * $1 } - sample
    // A quarter more than expected is still taken for noise.
    return pairs < sample * (sample - 1) / 256 * 5 / 4
  }
}
