/// Decides frame by frame whether a data stream compresses its data: only where that makes the
/// stream faster.
///
/// A value without clocks. It uses the measurements of its own stream: the time that the stream
/// waits for its link, the cost and the gain of compression, and the delay until the receiver has
/// written the data. After each attempt without a gain the next one comes later.
struct CompressionChoice: Equatable, Sendable {
  /// The progress of a stream. Times are seconds.
  struct Trace: Equatable, Sendable {
    var now = 0.0
    /// The time that it has waited for the link.
    var waiting = 0.0
    /// The number of bytes that the connection has accepted.
    var sent: UInt64 = 0
    /// The number of bytes of entries that it was given.
    var plain: UInt64 = 0
    /// The number of frames that it was given, and of those that the receiver has not written.
    var frames: UInt64 = 0
    var unwritten: UInt64 = 0
  }

  private enum State: Equatable {
    /// The link's speed is unknown, and frames are compressed: the data that fills the buffers in
    /// between decides when anything else arrives. Leads to plain or packing.
    case opening
    /// Frames go as they are. Leads to packing.
    case plain
    /// Frames are compressed; `link` is the seconds per byte of the link. Leads to plain.
    case packing(link: Double)
  }

  /// The shortest measurement of the stream's rate, in seconds.
  private static let look = 0.1
  /// The fewest frames of the opening, and the number of compressed frames before their gain is
  /// judged.
  private static let (opening, trial) = (UInt64(16), 4.0)
  /// A second of the processor counts as so many seconds of the link: other programs may need it.
  private static let dearness = 3.0
  /// The first and the longest pause in seconds between two attempts; it doubles each time.
  private static let rests = (first: 0.5, longest: 32.0)

  private var state = State.opening
  /// The beginning of the measurement, and the last progress.
  private var start = Trace()
  private var last = Trace()
  /// The number of frames at the last change.
  private var changed: UInt64 = 0
  private var brought = Brought()
  private var rest = rests.first
  private var nextAttempt = 0.0

  /// Decides whether the next frame is compressed.
  mutating func next(_ trace: Trace) -> Bool {
    last = trace
    if trace.frames == 0 { start = trace }
    switch state {
    case .opening: meetLink()
    case .plain: measureLink()
    case .packing(let link): judge(link)
    }
    return state != .plain
  }

  /// The frame looks like noise and is sent plain, at no cost.
  mutating func metNoise() {
    if state == .opening || brought.frames == 0 { become(.plain) }
  }

  /// The frame was compressed to `size` bytes.
  mutating func packed(_ plain: Int, to size: Int, seconds: Double) {
    precondition(state != .plain, "nothing is compressed without having been asked for")
    brought.add(plain, to: size, seconds: seconds)
    switch state {
    case .opening: if size >= plain { become(.plain) }
    case .packing(let link): if brought.frames >= Self.trial, !pays(link) { giveUp() }
    case .plain: break
    }
  }

  /// Whether compression promises to be faster than the present pace, in seconds per byte.
  private func pays(_ pace: Double) -> Bool { Self.dearness * brought.cost + brought.share * pace <= pace }

  /// The measurement, once it is long enough; then the next one begins.
  private mutating func span() -> Span? {
    guard last.now - start.now >= Self.look else { return nil }
    defer { start = last }
    return Span(from: start, to: last)
  }

  /// Whether the receiver had written everything from before the last change when the measurement
  /// began: only then the measurement shows the effect of that change.
  private var showsChange: Bool { start.unwritten <= start.frames - changed }

  private mutating func meetLink() {
    let isFast = last.frames >= Self.opening && 4 * last.unwritten < last.frames
    guard !isFast else { return become(.plain) }
    guard let span = span() else { return }
    if !span.isHeldBack {
      become(.plain)
    } else if pays(span.seconds / span.plain), span.sent > 0 {
      // Worth its price even if it is the receiver that is waited for.
      state = .packing(link: span.seconds / span.sent)
    } else if span.isWaiting {
      become(.plain)
    }
  }

  private mutating func measureLink() {
    // The bytes that the buffers take before the first wait say nothing about the link.
    guard showsChange, last.waiting > start.waiting else {
      start = last
      return
    }
    guard let span = span(), span.isWaiting, span.sent > 0, last.now >= nextAttempt else { return }
    become(.packing(link: span.seconds / span.sent))
    nextAttempt = last.now + rest
  }

  private mutating func judge(_ link: Double) {
    guard showsChange else {
      start = last
      return
    }
    guard let span = span() else { return }
    // Where it is not the link that is waited for, all takes as long as before: it must be nearer
    // to the promise than to that.
    let promise = max(brought.cost, brought.share * link)
    guard 2 * span.seconds <= (promise + link) * span.plain else { return giveUp() }
    if span.isHeldBack {
      rest = Self.rests.first
      if span.sent > 0 { state = .packing(link: span.seconds / span.sent) }
    } else if last.now >= nextAttempt {
      // The link may have become faster than compressing is.
      giveUp()
    }
  }

  /// Frames are sent plain again, and the attempt after the next one comes later.
  private mutating func giveUp() {
    rest = min(2 * rest, Self.rests.longest)
    become(.plain)
  }

  private mutating func become(_ next: State) {
    state = next
    start = last
    changed = last.frames
    brought = Brought()
  }
}

extension CompressionChoice {
  /// The difference between two moments of a stream.
  private struct Span {
    let seconds, plain, sent: Double
    /// Whether the stream waited for the link most of the time.
    let isWaiting: Bool
    /// Whether that is so, or a large part of the sent data is still to be written: the stream
    /// could send more than the receiver takes.
    let isHeldBack: Bool

    init(from start: Trace, to end: Trace) {
      seconds = end.now - start.now
      plain = Double(end.plain - start.plain)
      sent = Double(end.sent - start.sent)
      isWaiting = 2 * (end.waiting - start.waiting) >= seconds
      isHeldBack = isWaiting || 4 * end.unwritten >= end.frames - start.frames
    }
  }

  /// The recent cost and gain of compression.
  private struct Brought: Equatable {
    private(set) var frames = 0.0
    private var seconds = 0.0
    private var plain = 0.0
    private var size = 0.0

    /// The seconds per byte, and the fraction of the size that is left.
    var cost: Double { plain > 0 ? seconds / plain : 0 }
    var share: Double { plain > 0 ? size / plain : 1 }

    mutating func add(_ plain: Int, to size: Int, seconds: Double) {
      // Old measurements weigh less.
      if frames == 16 {
        (frames, self.seconds) = (frames / 2, self.seconds / 2)
        (self.plain, self.size) = (self.plain / 2, self.size / 2)
      }
      frames += 1
      self.seconds += seconds
      self.plain += Double(plain)
      self.size += Double(size)
    }
  }
}
