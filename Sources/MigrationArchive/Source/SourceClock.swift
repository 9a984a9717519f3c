package import MigrationSystem

/// The least time that the clock of a file system has reached, if the file system does not use this
/// machine's clock.
///
/// A stamp that was seen is a time that the clock has reached, and from then on the clock advances
/// as every clock does. So the wait uses that clock, whether it is ahead or behind, and it ends
/// although the sender may write nothing there to read the clock.
package struct SourceClock: Sendable {
  /// The latest time that the clock has certainly reached, and when this was learnt.
  private var known: (moment: Timestamp, since: BootInstant)?
  /// The last stamp that was asked about, and when it was first seen.
  private var last: (stamp: Timestamp, since: BootInstant)?

  package init() {}

  /// How far ahead of this machine's time a stamp may be and still say anything about the clock:
  /// programs set times freely on file systems without a time of change.
  private static let mostAhead = 86_400.0

  /// How long a file system may give out the same stamp, depending on whether the stamp has
  /// fractions of a second.
  private static func granule(of stamp: Timestamp) -> Double { stamp.nanoseconds == 0 ? 2 : 0.05 }

  /// Records that a stamp was seen, so that the clock has reached it by now.
  package mutating func note(_ stamp: Timestamp, at instant: BootInstant, here: Timestamp) {
    guard stamp.seconds(since: here) < Self.mostAhead else { return }
    if let passed = seconds(since: stamp, at: instant), passed >= 0 { return }
    known = (stamp, instant)
  }

  /// How long another change could still get a stamp that was seen between two moments; 0 if this
  /// was impossible even at the first moment.
  package mutating func unsettledSeconds(
    _ stamp: Timestamp, seenBetween begin: BootInstant, and end: BootInstant, here: Timestamp
  ) -> Double {
    let byClock = seconds(since: stamp, at: begin) ?? 0
    let byPatience = last.flatMap { $0.stamp == stamp ? begin.seconds(since: $0.since) : nil } ?? 0
    note(stamp, at: end, here: here)
    if last?.stamp != stamp { last = (stamp, end) }
    return max(0, Self.granule(of: stamp) - max(0, byClock, byPatience))
  }

  /// The least time since a stamp by this clock; nil if nothing is known.
  private func seconds(since stamp: Timestamp, at instant: BootInstant) -> Double? {
    known.map { $0.moment.seconds(since: stamp) + instant.seconds(since: $0.since) }
  }
}
