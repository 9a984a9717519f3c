import MigrationArchive
import MigrationEngine
import MigrationSystem

/// Compresses the frames of one data stream, each if it is worth it (Protocol §6.8, encoding 1).
/// One thread uses it.
struct Compression: ~Copyable {
  /// More than this part of its size must go, or a frame is left as it is.
  private static let notable = 10

  private let preference: CompressionPreference
  private var choice = CompressionChoice()
  private var trace = CompressionChoice.Trace()
  private var compressor: Zstandard?
  /// The frame that was compressed last, from the front on.
  private(set) var bytes: [UInt8] = []

  init(_ preference: CompressionPreference) { self.preference = preference }

  /// The stream has waited for the link to take more, for so many seconds.
  mutating func waited(_ seconds: Double) { trace.waiting += seconds }

  /// Compresses a frame, if it is to be; how many bytes it is then, nil if it goes as it is.
  ///
  /// `sent` is how many bytes the connection has taken until now, `unwritten` how many frames the
  /// receiver has not written.
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
      // A context and a frame are much memory for something that may never be wanted again.
      compressor = nil
      bytes = []
      return nil
    }
    guard !NoiseLook.isNoise(frame.bytes, count: frame.count) else {
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
