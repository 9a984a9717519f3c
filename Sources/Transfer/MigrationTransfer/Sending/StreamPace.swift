/// The number of bytes that a data stream may have under way: as many as the other end writes soon.
/// A stream to a slow receiver leaves further frames to other streams. Times are seconds.
///
/// A value without clocks. It counts bytes on the link, of compressed frames their compressed size.
struct StreamPace: Sendable {
  /// The number of bytes that may always be under way, and the number that is added after each
  /// period without an acknowledgement: another receiver may acknowledge many frames at once.
  static let least = 512 << 10
  /// The bytes that are written within this time, or within twice the shortest time of a frame if
  /// that is longer, may be under way.
  static let soon = 0.5
  /// How long the first frame is waited for.
  private static let longestFirst = 10.0
  /// The shortest period for which written bytes are counted.
  static let look = 0.1

  /// The lengths of the frames under way, the oldest first, and their sum.
  private var lengths: [Int] = []
  private(set) var underWay = 0
  /// The bytes that were written since a moment.
  private var counted: (since: Double, bytes: Int) = (0, 0)
  /// The bytes written per second in the last period, and in the period before.
  private var rates: (last: Double, before: Double)?
  /// The time when the timed frame was sent, and the number of frames before it.
  private var timed: (since: Double, ahead: Int)?
  private var shortestWay = Double.infinity
  /// The most bytes that the other end has acknowledged at once.
  private var longestReport = 0
  /// The time of the last acknowledgement, or of the first frame that can be acknowledged.
  private var heard = 0.0

  /// When the next frame may be sent; nil if it may be sent now.
  func next(now: Double) -> Double? {
    let silence = patience
    let silences = ((now - heard) / silence).rounded(.down)
    return underWay < limit + Int(silences) * Self.least ? nil : heard + (silences + 1) * silence
  }

  private var patience: Double { shortestWay.isFinite ? max(Self.soon, 2 * shortestWay) : Self.soon }

  private var limit: Int {
    let least = max(Self.least, 2 * longestReport)
    guard let rates else { return least }
    return max(least, Int(max(rates.last, rates.before) * patience))
  }

  /// Whether other streams would bring all of the `unsent` bytes before this one brings one more frame.
  ///
  /// Of several streams, that which would bring it first is never late. A new stream brings its first
  /// frame before it gets another one.
  func isLate(behind others: @autoclosure () -> [StreamPace], unsent: Int, frame: Int, now: Double) -> Bool {
    guard let rate = rate(now: now) else { return isFirst(now: now) && others().contains { $0.rates != nil } }
    let seconds = Double(underWay + frame) / rate
    guard seconds > Self.soon else { return false }
    let others = others().compactMap { pace in pace.rate(now: now).map { (rate: $0, underWay: pace.underWay) } }
    let rest = others.reduce(max(unsent, others.count * frame)) { $0 + $1.underWay }
    return Double(rest) / others.reduce(0) { $0 + $1.rate } < seconds
      || others.contains { Double($0.underWay + max(unsent, frame)) / $0.rate < seconds }
  }

  /// The bytes that the other end writes in a second; nil while that is not known.
  private func rate(now: Double) -> Double? {
    guard let rates else { return nil }
    let rate = max(rates.last, rates.before)
    let silence = now - counted.since
    return underWay > 0 && silence > patience ? min(rate, Double(counted.bytes) / silence) : rate
  }

  /// Whether the first frame is on its way. It is waited for only so long: another receiver may
  /// acknowledge many frames at once.
  private func isFirst(now: Double) -> Bool {
    underWay > 0 && !shortestWay.isFinite && now - heard < Self.longestFirst
  }

  /// A frame of `length` bytes is sent.
  mutating func sends(_ length: Int, now: Double) {
    if timed == nil { timed = (now, lengths.count) }
    if lengths.isEmpty {
      // The receiver had nothing to write before. Bytes that pass between two rounds of a long
      // way count.
      if now - heard > Self.look { counted = (now, 0) }
      heard = now
    }
    lengths.append(length)
    underWay += length
  }

  /// The other end has written the next frames.
  mutating func wrote(_ frames: Int, now: Double) {
    let bytes = lengths.prefix(frames).reduce(0, +)
    lengths.removeFirst(frames)
    underWay -= bytes
    guard frames > 0 else { return }
    heard = now
    // A receiver that acknowledges early acknowledges each frame by itself.
    if frames > 1 { longestReport = max(longestReport, bytes) }
    if let (since, ahead) = timed {
      timed = frames > ahead ? nil : (since, ahead - frames)
      if frames > ahead { shortestWay = min(shortestWay, now - since) }
    }
    counted.bytes += bytes
    let seconds = now - counted.since
    guard seconds >= Self.look else { return }
    let rate = Double(counted.bytes) / seconds
    rates = (rate, rates?.last ?? rate)
    counted = (now, 0)
  }
}
