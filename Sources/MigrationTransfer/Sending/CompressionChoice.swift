/// Decides frame by frame whether a data stream compresses what it sends: only where that makes the
/// stream faster.
///
/// A value without clocks. It uses the measurements of its own stream: the time that the stream
/// waits for its link, the cost and the gain of compression, and the delay until the receiver has
/// written the data. After each attempt without a gain the next one comes later.
struct CompressionChoice: Equatable, Sendable {
  /// How far a stream is. Times are seconds.
  struct Trace: Equatable, Sendable {
    var now = 0.0
    /// How long it has waited for the link to take more.
    var waiting = 0.0
    /// How many bytes the connection has taken.
    var sent: UInt64 = 0
    /// How many bytes of entries were handed to it.
    var plain: UInt64 = 0
    /// How many frames it has been given, and how many of them the receiver has not written yet.
    var frames: UInt64 = 0
    var unwritten: UInt64 = 0
  }

  private enum State: Equatable {
    /// The link's speed is unknown, and frames are compressed: the data that fills the buffers in
    /// between decides when anything else arrives. Leads to plain or packing.
    case opening
    /// Frames go as they are. Leads to packing.
    case plain
    /// Frames are compressed; a byte takes the link so many seconds. Leads to plain.
    case packing(link: Double)
  }

  /// For how long the stream is watched before its pace is judged, in seconds.
  private static let look = 0.1
  /// How many frames the opening takes at least, and how many are compressed before it is judged
  /// what they bring.
  private static let (opening, trial) = (UInt64(16), 4.0)
  /// A second of the processor counts as so many of the link: others may need it.
  private static let dearness = 3.0
  /// How long after an attempt the next one comes at the earliest, in seconds, first and at most;
  /// in between twice as long each time.
  private static let rests = (first: 0.5, longest: 32.0)

  private var state = State.opening
  /// Where watching the stream began, and how far it was when it was asked last.
  private var start = Trace()
  private var last = Trace()
  /// How many frames there were at the last change.
  private var changed: UInt64 = 0
  private var brought = Brought()
  private var rest = rests.first
  private var nextAttempt = 0.0

  /// A frame is about to be sent; whether it is to be compressed.
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

  /// The frame looks like noise and goes as it is, which costs nothing.
  mutating func metNoise() {
    if state == .opening || brought.frames == 0 { become(.plain) }
  }

  /// The frame was compressed in so many seconds, to `size` bytes.
  mutating func packed(_ plain: Int, to size: Int, seconds: Double) {
    precondition(state != .plain, "nothing is compressed without having been asked for")
    brought.add(plain, to: size, seconds: seconds)
    switch state {
    case .opening: if size >= plain { become(.plain) }
    case .packing(let link): if brought.frames >= Self.trial, !pays(link) { giveUp() }
    case .plain: break
    }
  }

  /// Whether compression promises to be faster than the present pace, in seconds for a byte.
  private func pays(_ pace: Double) -> Bool { Self.dearness * brought.cost + brought.share * pace <= pace }

  /// The difference since watching began, once that is long enough; then watching begins anew.
  private mutating func span() -> Span? {
    guard last.now - start.now >= Self.look else { return nil }
    defer { start = last }
    return Span(from: start, to: last)
  }

  /// Whether the receiver had written all that was sent before the last change when watching began:
  /// only then the pace shows what that brought.
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

  /// Frames go as they are again, and the attempt behind the next one comes later.
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
    /// Whether it was the link that the stream waited for most of the time.
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

    /// The seconds for a byte, and the fraction that is left of it.
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
