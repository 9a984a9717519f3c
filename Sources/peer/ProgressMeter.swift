import MigrationEngine
import MigrationTransfer

/// How fast a transfer is and when it is worth saying so: samples in, figures out, the time is passed in.
///
/// Times are seconds on any clock that only goes forward.
struct ProgressMeter: Equatable, Sendable {
  private struct Sample: Equatable, Sendable {
    let time: Double
    let bytes: UInt64
  }

  /// The rate is that of the last so many seconds.
  static let window = 5.0
  /// A shorter time says nothing about the rate.
  private static let shortestSpan = 0.5
  /// Samples that follow faster replace each other, so that few are kept.
  private static let spacing = 0.2

  /// What is known last; nil between phases and while there is no connection.
  private(set) var latest: TransferProgress?
  private var samples: [Sample] = []
  private var shown: (time: Double, phase: TransferPhase, isComplete: Bool)?

  static func == (left: ProgressMeter, right: ProgressMeter) -> Bool {
    left.latest == right.latest && left.samples == right.samples && left.shown?.time == right.shown?.time
  }

  /// Takes note of how far the transfer is. A new phase, or fewer bytes than before, start the rate afresh.
  mutating func note(_ progress: TransferProgress, at time: Double) {
    if let latest, latest.phase != progress.phase || progress.bytes < latest.bytes { samples = [] }
    latest = progress
    // The last but one stays where it is, or samples that come fast would push it along for ever.
    if samples.count > 1, time - samples[samples.count - 2].time < Self.spacing { samples.removeLast() }
    samples.append(Sample(time: time, bytes: progress.bytes))
    while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
  }

  /// Takes note that nothing new is known, so that the rate falls while nothing moves.
  mutating func note(at time: Double) {
    if let latest { note(latest, at: time) }
  }

  /// Forgets how far the transfer was: the next sample is the start of something new.
  mutating func stop() {
    latest = nil
    samples = []
    shown = nil
  }

  /// Bytes a second over the last few seconds; nil until that can be said.
  var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, last.time - first.time >= Self.shortestSpan else {
      return nil
    }
    return Double(last.bytes - first.bytes) / (last.time - first.time)
  }

  /// How long the rest takes at this rate; nil while nothing moves or the total is not known.
  var secondsLeft: Double? {
    guard let latest, let total = latest.totalBytes, total > 0, let rate = bytesPerSecond, rate >= 1 else { return nil }
    return total > latest.bytes ? Double(total - latest.bytes) / rate : 0
  }

  /// Whether the latest should be shown now, if that is done once in `interval` seconds; then it counts as shown.
  ///
  /// A new phase and the end of one are shown at once.
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
  /// Whether everything that was announced is there.
  var isComplete: Bool {
    guard let totalBytes else { return false }
    return bytes >= totalBytes && items >= totalItems && (totalBytes > 0 || totalItems > 0)
  }

  /// How much of it is there, from 0 to 1: by bytes, or by items where there are none; nil while no total is known.
  ///
  /// The end of a transfer has a measure of its own.
  var fraction: Double? {
    if let phaseFraction, phase == .importing { return phaseFraction }
    guard let totalBytes else { return nil }
    if totalBytes > 0 { return min(1, Double(bytes) / Double(totalBytes)) }
    return totalItems > 0 ? min(1, Double(items) / Double(totalItems)) : nil
  }

  /// The fraction in hundredths, rounded down: 100 is said only of what is complete.
  var percent: Int? { fraction.map { Int($0 * 100) } }
}
