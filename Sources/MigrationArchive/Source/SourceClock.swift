package import MigrationSystem

/// How far the clock of a file system is known to have come that does not go by this machine's clock.
///
/// A stamp that was seen is a moment that its clock has reached, and from then on it goes on as every clock does. So the wait
/// is by that clock, whether it is ahead or behind, and it has an end although nothing may be written there to read the clock.
package struct SourceClock: Sendable {
  /// The latest moment that it is known to have reached, and when that was known.
  private var known: (moment: Timestamp, since: BootInstant)?
  /// The stamp that was asked about last, and when it was seen first.
  private var last: (stamp: Timestamp, since: BootInstant)?

  package init() {}

  /// How much later than here it may be there for a stamp to say anything about the clock: programs set times as they like
  /// where there is none of change.
  private static let mostAhead = 86_400.0

  /// How long a file system may give out one stamp, if that has fractions of a second or not.
  private static func granule(of stamp: Timestamp) -> Double { stamp.nanoseconds == 0 ? 2 : 0.05 }

  /// A stamp was seen there, by now at the latest.
  package mutating func note(_ stamp: Timestamp, at instant: BootInstant, here: Timestamp) {
    guard stamp.seconds(since: here) < Self.mostAhead else { return }
    if let passed = seconds(since: stamp, at: instant), passed >= 0 { return }
    known = (stamp, instant)
  }

  /// How long another change could still get a stamp that was seen between two moments; 0 if it could not even at the first.
  package mutating func unsettledSeconds(
    _ stamp: Timestamp, seenBetween begin: BootInstant, and end: BootInstant, here: Timestamp
  ) -> Double {
    let byClock = seconds(since: stamp, at: begin) ?? 0
    let byPatience = last.flatMap { $0.stamp == stamp ? begin.seconds(since: $0.since) : nil } ?? 0
    note(stamp, at: end, here: here)
    if last?.stamp != stamp { last = (stamp, end) }
    return max(0, Self.granule(of: stamp) - max(0, byClock, byPatience))
  }

  /// How long a stamp is over by this clock at least; nil where nothing is known of it.
  private func seconds(since stamp: Timestamp, at instant: BootInstant) -> Double? {
    known.map { $0.moment.seconds(since: stamp) + instant.seconds(since: $0.since) }
  }
}
