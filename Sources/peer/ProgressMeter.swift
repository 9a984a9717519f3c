import MigrationEngine
import MigrationTransfer

/// The rate of a transfer, and the moments to show it: samples in, figures out; the caller passes
/// the time.
///
/// Times are seconds on any monotonic clock.
struct ProgressMeter: Equatable, Sendable {
  private struct Sample: Equatable, Sendable {
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
  private var shown: (time: Double, phase: TransferPhase, isComplete: Bool)?

  static func == (left: ProgressMeter, right: ProgressMeter) -> Bool {
    left.latest == right.latest && left.samples == right.samples && left.shown?.time == right.shown?.time
  }

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

  /// Whether to show the latest sample now, at one sample per `interval` seconds; if so, it counts
  /// as shown.
  ///
  /// The start and the end of a phase are shown at once.
  mutating func isDue(at time: Double, every interval: Double) -> Bool {
    guard let latest else { return false }
    if let shown, shown.phase == latest.phase, shown.isComplete || !latest.isComplete, time - shown.time < interval {
      return false
    }
    shown = (time, latest.phase, latest.isComplete)
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
