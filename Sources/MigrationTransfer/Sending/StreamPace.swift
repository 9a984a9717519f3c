/// The number of bytes that a data stream may have under way, as many as the other end writes soon, and that
/// its next frame should have. A slow stream leaves further frames to other streams, and none of its own keeps
/// them waiting at the end. Times are seconds.
///
/// A value without clocks. It counts bytes on the link, of compressed frames their compressed size.
struct StreamPace: Sendable {
  /// The bytes of a stream's first frames, of the very first, which shows how long the way is, and the fewest and
  /// most of later ones.
  static let first = 48 << 10
  private static let probe = 16 << 10
  private static let frames = 32 << 10...256 << 10
  /// The bytes that are written within this time, or within twice the shortest time of a frame if
  /// that is longer, may be under way.
  static let soon = 0.5
  /// The shortest period for which written bytes are counted.
  private static let look = 0.1

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
  /// Whether the other end has all bytes, and has said nothing for a while.
  private var isQuiet = false
  /// The time of the last acknowledgement, or of the first frame that can be acknowledged.
  private var heard = 0.0

  /// When the next frame may be sent; nil if it may be sent now. `waiting`: how many bytes the other end's kernel
  /// does not have yet.
  ///
  /// Another receiver may acknowledge many frames at once: where it has all bytes, and says nothing for a while,
  /// it gets more.
  mutating func next(now: Double, waiting: @autoclosure () -> Int = 0) -> Double? {
    let silence = patience
    let silences = ((now - heard) / silence).rounded(.down)
    isQuiet = silences >= 1 && waiting() == 0
    return underWay < limit + (isQuiet ? Int(silences) * least : 0) ? nil : heard + (silences + 1) * silence
  }

  /// The bytes that the next frame should have: those that are written within half of `soon`.
  var frame: Int {
    if isQuiet { return Self.frames.upperBound }
    let rate = rates.map { max($0.last, $0.before) } ?? (isHeard ? Double(Self.probe) / shortestWay : nil)
    guard let rate else { return lengths.isEmpty ? Self.probe : Self.first }
    return min(max(Self.frames.lowerBound, Int(min(rate * Self.soon / 2, 1e9))), Self.frames.upperBound)
  }

  /// The number of bytes that may always be under way, and the number that is added after each period without
  /// an acknowledgement.
  private var least: Int { 2 * (isHeard || isQuiet ? frame : Self.first) }

  private var isHeard: Bool { shortestWay.isFinite }

  private var patience: Double { isHeard ? max(Self.soon, 2 * shortestWay) : Self.soon }

  private var limit: Int {
    let least = max(least, 2 * longestReport)
    guard let rates else { return least }
    return max(least, Int(max(rates.last, rates.before) * patience))
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
