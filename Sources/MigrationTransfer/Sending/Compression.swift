import MigrationArchive
import MigrationSystem
import Synchronization

/// Whether what is sent may be compressed on its way, as far as both devices and the exporter let it.
package enum CompressionPreference: String, Sendable {
  /// Where it makes the transfer faster.
  case auto
  /// Whatever becomes smaller by it.
  case always
  case never
}

/// What the data streams of a session know together about compressing.
final class CompressionKnowledge: Sendable {
  let preference: CompressionPreference
  private let rate = Mutex<Double?>(nil)
  private let isMet = Flag()
  private let processors = Mutex(IdleProcessors())

  init(_ preference: CompressionPreference) { self.preference = preference }

  /// What a stream that compresses would send in a second without, by what was found last; nil if none should.
  var instead: Double? {
    get { rate.withLock { $0 } }
    set { rate.withLock { $0 = newValue } }
  }

  /// Whether a stream has seen how fast things arrive.
  var knowsLink: Bool { isMet.isSet }
  func meetLink() { isMet.set() }

  /// How many processors nobody uses; as many as one likes where that is not known.
  var idleProcessors: Double { processors.withLock { $0.look() } ?? .infinity }
}

/// Compresses the frames of one data stream, each if it is worth it (Protocol §6.8, encoding 1). One thread uses it.
struct Compression: ~Copyable {
  /// More than this part of its size must go, or a frame is left as it is.
  private static let notable = 10

  private let knowledge: CompressionKnowledge
  private var choice: CompressionChoice
  private var trace = CompressionChoice.Trace()
  private var compressor: Zstandard?
  /// The frame that was compressed last, from the front on.
  private(set) var bytes: [UInt8] = []

  /// Goes by what the other streams find, and tells them what it finds.
  init(_ knowledge: CompressionKnowledge) {
    self.knowledge = knowledge
    choice = CompressionChoice(knowsLink: knowledge.knowsLink)
  }

  /// The stream has waited for the link to take more, for so many seconds.
  mutating func waited(_ seconds: Double) { trace.waiting += seconds }

  /// Compresses a frame, if it is to be; how many bytes it is then, nil if it goes as it is.
  ///
  /// `sent` is how many bytes the connection has taken until now, `unwritten` how many frames the receiver has not written.
  mutating func pack(_ frame: FrameBuffer, sent: UInt64, unwritten: UInt64) -> Int? {
    switch knowledge.preference {
    case .never: return nil
    case .always: return compress(frame, atMost: frame.count - 1)
    case .auto: break
    }
    let before = choice.instead
    defer { if choice.instead != before { knowledge.instead = choice.instead } }
    let begun = BootInstant.now()
    trace.now = Double(begun.nanoseconds) / 1e9
    trace.sent = sent
    trace.unwritten = unwritten
    if choice.asksForIdleProcessors { choice.processorsWereIdle(knowledge.idleProcessors) }
    let isWanted = choice.next(trace, others: knowledge.instead)
    if choice.knowsLink { knowledge.meetLink() }
    trace.plain += UInt64(frame.count)
    trace.frames += 1
    guard isWanted else {
      // A context and a frame are much memory for something that may never be wanted again.
      compressor = nil
      bytes = []
      return nil
    }
    guard !NoiseLook.isNoise(frame.bytes, count: frame.count) else {
      choice.tried(.noise)
      return nil
    }
    let size = compress(frame, atMost: frame.count - frame.count / Self.notable)
    let seconds = BootInstant.now().seconds(since: begun)
    trace.packing += seconds
    choice.tried(size.map { .packed(plain: frame.count, size: $0, seconds: seconds) } ?? .useless)
    return size
  }

  private mutating func compress(_ frame: FrameBuffer, atMost limit: Int) -> Int? {
    if compressor == nil { compressor = Zstandard() }
    if bytes.count < frame.count { bytes = [UInt8](repeating: 0, count: frame.bytes.count) }
    return unsafe compressor?.compress(
      frame.bytes.span.extracting(first: frame.count).bytes, into: &bytes, atMost: limit)
  }
}
