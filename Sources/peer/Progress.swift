import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The rate of a transfer, and the moments to show it: samples in, figures out; the caller passes
/// the time.
///
/// Times are seconds on any monotonic clock.
struct ProgressMeter: Sendable {
  private struct Sample: Sendable {
    let time: Double
    let bytes: UInt64
  }

  /// The rate is measured over this many seconds.
  static let window = 5.0
  /// Over a shorter time, there is no rate.
  private static let shortestSpan = 0.5
  /// A sample that follows sooner replaces the one before it, so that few are kept.
  private static let spacing = 0.2

  /// The latest sample; nil between phases and without a connection.
  private(set) var latest: TransferProgress?
  private var samples: [Sample] = []
  private var shown: (time: Double, progress: TransferProgress)?

  /// Adds a sample. A new phase, or fewer bytes than before, restarts the rate.
  mutating func note(_ progress: TransferProgress, at time: Double) {
    if let latest, latest.phase != progress.phase || progress.bytes < latest.bytes { samples = [] }
    latest = progress
    // The last sample but one stays, otherwise fast samples would move it forward without end.
    if samples.count > 1, time - samples[samples.count - 2].time < Self.spacing { samples.removeLast() }
    samples.append(Sample(time: time, bytes: progress.bytes))
    while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
  }

  /// Records that there is no new sample, so that the rate falls while nothing moves.
  mutating func note(at time: Double) {
    if let latest { note(latest, at: time) }
  }

  /// Forgets the progress: the next sample starts afresh.
  mutating func stop() {
    latest = nil
    samples = []
    shown = nil
  }

  /// Bytes per second over the last few seconds; nil until there are enough samples.
  var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, last.time - first.time >= Self.shortestSpan else {
      return nil
    }
    return Double(last.bytes - first.bytes) / (last.time - first.time)
  }

  /// The time for the rest at this rate; nil while nothing moves or the total is unknown.
  var secondsLeft: Double? {
    guard let latest, let total = latest.totalBytes, total > 0, let rate = bytesPerSecond, rate >= 1 else { return nil }
    return total > latest.bytes ? Double(total - latest.bytes) / rate : 0
  }

  /// Whether to show the latest sample now, at one sample per `interval` seconds, or per `unchanged`
  /// seconds if it equals the last one; if so, it counts as shown.
  ///
  /// The start and the end of a phase are shown at once.
  mutating func isDue(at time: Double, every interval: Double, unchanged: Double = 0) -> Bool {
    guard let latest else { return false }
    if let (before, last) = shown, last.phase == latest.phase, last.isComplete || !latest.isComplete,
      time - before < (last == latest ? max(interval, unchanged) : interval)
    {
      return false
    }
    shown = (time, latest)
    return true
  }
}

extension TransferProgress {
  /// Whether all announced data is there.
  var isComplete: Bool {
    guard let totalBytes else { return false }
    return bytes >= totalBytes && items >= totalItems && (totalBytes > 0 || totalItems > 0)
  }

  /// The part that is there, from 0 to 1: by bytes, or by items if there are no bytes; nil while
  /// the total is unknown.
  ///
  /// The last phases of a transfer have their own measure.
  var fraction: Double? {
    if let phaseFraction, phase == .importing { return phaseFraction }
    guard let totalBytes else { return nil }
    if totalBytes > 0 { return min(1, Double(bytes) / Double(totalBytes)) }
    return totalItems > 0 ? min(1, Double(items) / Double(totalItems)) : nil
  }

  /// The fraction as a percentage, rounded down: only a complete transfer has 100.
  var percent: Int? { fraction.map { Int($0 * 100) } }
}

/// The line with the progress of a transfer, as wide as the terminal allows.
struct ProgressLine: Equatable, Sendable {
  /// The characters of a bar.
  struct Bar: Equatable, Sendable {
    let full: Character
    let empty: Character

    /// Blocks, for a terminal with UTF-8.
    static let blocks = Bar(full: "█", empty: "░")
    /// ASCII, for all others.
    static let plain = Bar(full: "#", empty: ".")
  }

  private static let shortestBar = 8
  private static let longestBar = 40
  private static let longestPhase = 9

  let progress: TransferProgress
  let bytesPerSecond: Double?
  let secondsLeft: Double?

  /// The state of a meter; nil if it has none.
  init?(_ meter: ProgressMeter) {
    guard let latest = meter.latest else { return nil }
    progress = latest
    bytesPerSecond = meter.bytesPerSecond
    secondsLeft = meter.secondsLeft
  }

  /// The line for a terminal. It leaves the last column free; the least important parts are omitted
  /// first.
  func text(columns: Int, bar: Bar) -> String {
    let room = columns - 1
    guard let percent = progress.percent else {
      return String(([phase] + tally + rate).joined(separator: "  ").prefix(max(0, room)))
    }
    let head = "\(phase)  \(Figures.padded("\(percent)%", to: 4))"
    let candidates: [(tail: [String], hasBar: Bool)] = [
      (share + items + rate + left, true),
      (share + rate + left, true),
      (share + left, true),
      (share + left, false),
      (left, false),
      ([], false),
    ]
    for candidate in candidates {
      let tail = candidate.tail.map { "  " + $0 }.joined()
      let rest = room - head.count - tail.count
      if candidate.hasBar, rest > Self.shortestBar {
        let length = min(rest - 1, Self.longestBar)
        return "\(phase)  \(drawn(bar, length)) \(head.dropFirst(phase.count + 2))\(tail)"
      }
      if !candidate.hasBar, rest >= 0 { return head + tail }
    }
    return String("\(percent)%".prefix(max(0, room)))
  }

  /// The line for a log.
  var plainText: String {
    guard let percent = progress.percent else {
      let rate = bytesPerSecond.map { isBeyondEstimate ? [Figures.rate($0)] : [] } ?? []
      return ([name] + [(tally + rate).joined(separator: ", ")].filter { !$0.isEmpty }).joined(separator: ": ")
    }
    var parts = ["\(percent) %"]
    if total > 0 { parts.append("\(Figures.size(progress.bytes)) of \(Figures.size(total))") }
    if progress.totalItems > 0 { parts.append(itemShare) }
    if let bytesPerSecond { parts.append(Figures.rate(bytesPerSecond)) }
    if let secondsLeft, secondsLeft > 0 { parts.append("\(Figures.clock(secondsLeft)) left") }
    return "\(name): " + parts.joined(separator: ", ")
  }

  /// The total in bytes; 0 if it is unknown.
  private var total: UInt64 { progress.totalBytes ?? 0 }

  /// Whether more has come than the estimate.
  private var isBeyondEstimate: Bool { progress.totalBytes == nil }

  private var name: String { progress.phase.rawValue }

  private var phase: String {
    let name = name.prefix(1).uppercased() + name.dropFirst()
    return name + String(repeating: " ", count: max(0, Self.longestPhase - name.count))
  }

  /// The count so far, while the total is unknown.
  private var tally: [String] {
    guard progress.items > 0 || progress.bytes > 0 else { return [] }
    return ["\(Figures.count(progress.items, "item")), \(Figures.size(progress.bytes))"]
  }

  private var itemShare: String {
    "\(Figures.count(min(progress.items, progress.totalItems)))/\(Figures.count(progress.totalItems, "item"))"
  }

  // The parts of the tail keep their widths, so that the bar does not move.

  private var share: [String] {
    total > 0 ? [Figures.share(progress.bytes, of: total)] : []
  }

  private var items: [String] {
    guard progress.totalItems > 0 else { return [] }
    let whole = Figures.count(progress.totalItems)
    return [Figures.padded(itemShare, to: 2 * whole.count + (progress.totalItems == 1 ? 6 : 7))]
  }

  private var rate: [String] {
    total > 0 || isBeyondEstimate ? [Figures.padded(bytesPerSecond.map(Figures.rate) ?? "", to: 9)] : []
  }

  private var left: [String] {
    guard total > 0 else { return [] }
    return [Figures.padded(secondsLeft.map { "\(Figures.clock($0)) left" } ?? "", to: 10)]
  }

  private func drawn(_ bar: Bar, _ length: Int) -> String {
    let full = Int(Double(length) * (progress.fraction ?? 0))
    return String(repeating: bar.full, count: full) + String(repeating: bar.empty, count: length - full)
  }
}
