/// Decides frame by frame whether a data stream compresses what it sends: only where that makes the transfer faster.
///
/// A value without clocks: times and idle processors come to it with events. It begins by compressing until it is seen how fast things arrive, since what fills the buffers on
/// the way decides how soon anything else comes. While frames go as they are it measures the link. Where the stream waits
/// for that most of the time, one frame is tried; if what the trial brings promises enough, compressing begins, and it goes
/// on for as long as it keeps the promise. After each disappointment the next trial comes later.
struct CompressionChoice: Equatable, Sendable {
  /// How far a stream is. Times are seconds.
  struct Trace: Equatable, Sendable {
    var now = 0.0
    /// How long it has waited for the link to take more.
    var waiting = 0.0
    /// How long it has compressed.
    var packing = 0.0
    /// How many bytes the connection has taken.
    var sent: UInt64 = 0
    /// How many bytes of entries were handed to it.
    var plain: UInt64 = 0
    /// How many frames it has been given, and how many of them the receiver has not written yet.
    var frames: UInt64 = 0
    var unwritten: UInt64 = 0
  }

  /// What came of a frame that was to be compressed. Times are seconds.
  enum Outcome: Equatable, Sendable {
    /// It looks like noise; compressing was not even begun.
    case noise
    /// It would not have become notably smaller.
    case useless
    case packed(plain: Int, size: Int, seconds: Double)
  }

  private enum State: Equatable {
    /// Nothing is known of the link, and frames are compressed. Leads to plain.
    case opening
    /// Frames go as they are. Leads to trying.
    case plain
    /// The next frame is compressed to see what comes of it; so many bytes a second go out as they are. Leads to plain or
    /// packing.
    case trying(rate: Double)
    /// Frames are compressed, instead of going out at such a rate. Leads to plain.
    case packing(instead: Double)
  }

  /// How long it compresses at the beginning, in seconds: where most of it is written by then, and where it is not.
  static let opening = (fast: 0.05, longest: 0.15)
  /// How long the link is measured, in seconds.
  private static let look = 0.1
  /// How much of that time a stream waits at least that is held back by its link.
  private static let heldBack = 0.5
  /// How many times faster the trial must promise to be, and the stream must become.
  private static let promise = 1.5
  private static let gain = 1.1
  /// How much of a processor must be idle for compressing to be begun, and how many bytes a second take that much at least:
  /// it would be at the expense of what is really waited for, maybe of a receiver on the same machine.
  private static let spare = (processor: 0.25, speed: 100e6)
  /// How many bytes are compressed before what they bring is judged, and how many are judged: more than a window, in which
  /// buffers on the way and a receiver that is slow for other reasons let everything look fast.
  private static let period: UInt64 = 32 << 20
  /// How many frames in a row may be useless.
  private static let misses = 8
  /// How many looks at the link are let pass at most: after noise, which costs nothing to see, and after all else.
  private static let longestRest = (noise: 8, other: 64)
  /// How much of its time a stream compresses that could be faster without.
  private static let busy = 0.7
  /// How many periods pass at most before such a stream looks at its link again.
  private static let longestTrust = 64

  private var state: State
  /// Where the measuring began; nil before it has.
  private var start: Trace?
  private var isSettled = false
  private var missed = 0
  /// How many of this machine's processors were idle lately; infinite until the first figure comes.
  private var idle = Double.infinity
  /// How many looks the next disappointment costs, and how many are still to pass.
  private var penalty = 0
  private var rest = 0
  /// After how many busy periods the link is looked at again, and how many there were.
  private var trust = 1
  private var busyPeriods = 0

  /// Begins; `knowsLink` if another stream has ended its opening already.
  init(knowsLink: Bool = false) { state = knowsLink ? .plain : .opening }

  /// Whether the link has been met.
  var knowsLink: Bool { state != .opening }

  /// Whether the next decision depends on how many processors are idle.
  var asksForIdleProcessors: Bool { state == .plain && isSettled }

  /// What would go out in a second without compressing; nil while it is not known to be worth it.
  var instead: Double? { if case .packing(let rate) = state { rate } else { nil } }

  /// So many of this machine's processors were idle lately. Valid in every state; changes none.
  mutating func processorsWereIdle(_ count: Double) { idle = count }

  /// A frame is about to be sent; whether it is to be compressed.
  ///
  /// `rate` is what another stream of the same link compresses instead of. Then this one does too, unless it knows better.
  mutating func next(_ trace: Trace, others rate: Double? = nil) -> Bool {
    if let rate, state == .opening || state == .plain && penalty == 0 && isCheap(at: rate) {
      become(.packing(instead: rate))
    }
    switch state {
    case .opening: meetLink(trace)
    case .plain: measureLink(trace)
    case .trying: break
    case .packing(let rate): judge(trace, instead: rate)
    }
    return state != .plain
  }

  /// A frame was to be compressed, and this came of it.
  mutating func tried(_ outcome: Outcome) {
    switch (state, outcome) {
    case (.plain, _): preconditionFailure("nothing is compressed without having been asked for")
    case (.opening, .packed): break
    case (.opening, .noise), (.opening, .useless):
      penalty = 1
      become(.plain)
    case (.trying(let rate), .packed(let plain, let size, let seconds)):
      let speed = Double(plain) / max(seconds, 1e-9)
      let reach = rate * Double(plain) / Double(max(size, 1))
      guard min(speed, reach) >= Self.promise * rate else { return giveUp(Self.longestRest.other) }
      become(.packing(instead: rate))
    case (.trying, .noise): giveUp(Self.longestRest.noise)
    case (.trying, .useless): giveUp(Self.longestRest.other)
    case (.packing, .packed): missed = 0
    case (.packing, .noise), (.packing, .useless):
      missed += 1
      if missed >= Self.misses { giveUp(Self.longestRest.noise) }
    }
  }

  private mutating func meetLink(_ trace: Trace) {
    guard let start else {
      self.start = trace
      return
    }
    if !isSettled, trace.waiting > start.waiting {
      isSettled = true
      self.start = trace
    }
    let hasWaited = isSettled && trace.now - start.now >= Self.look
    let isFast = 2 * trace.unwritten < trace.frames
    if hasWaited || trace.packing >= (isFast ? Self.opening.fast : Self.opening.longest) { become(.plain) }
  }

  private mutating func measureLink(_ trace: Trace) {
    // What the buffers on the way take before the first wait says nothing about the link.
    guard let start, isSettled || trace.waiting > start.waiting else {
      self.start = trace
      return
    }
    guard isSettled else {
      isSettled = true
      self.start = trace
      return
    }
    let seconds = trace.now - start.now
    guard seconds >= Self.look else { return }
    self.start = trace
    let rate = Double(trace.sent - start.sent) / seconds
    guard rate > 0, trace.waiting - start.waiting >= Self.heldBack * seconds, isCheap(at: rate) else { return }
    guard rest == 0 else {
      rest -= 1
      return
    }
    state = .trying(rate: rate)
  }

  /// Whether there are processors to compress instead of sending at a rate.
  private func isCheap(at rate: Double) -> Bool {
    idle >= Self.spare.processor * min(1, rate / Self.spare.speed)
  }

  private mutating func judge(_ trace: Trace, instead rate: Double) {
    guard let start else {
      self.start = trace
      return
    }
    guard trace.plain - start.plain >= Self.period else { return }
    self.start = trace
    guard isSettled else {
      isSettled = true
      return
    }
    let seconds = trace.now - start.now
    guard Double(trace.plain - start.plain) >= Self.gain * rate * seconds else { return giveUp(Self.longestRest.other) }
    penalty = 0
    guard trace.packing - start.packing >= Self.busy * seconds else { return }
    // Nothing is known of the link any more: it may have become faster than compressing is.
    busyPeriods += 1
    guard busyPeriods >= trust else { return }
    trust = min(2 * trust, Self.longestTrust)
    become(.plain)
  }

  private mutating func giveUp(_ longestRest: Int) {
    rest = min(penalty, longestRest)
    penalty = max(1, min(2 * penalty, Self.longestRest.other))
    trust = 1
    become(.plain)
  }

  private mutating func become(_ next: State) {
    state = next
    start = nil
    isSettled = false
    missed = 0
    busyPeriods = 0
  }
}
