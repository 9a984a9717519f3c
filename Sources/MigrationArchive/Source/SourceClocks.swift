import MigrationSystem

/// The clocks of the source's file systems, by device.
final class SourceClocks: Sendable {
  private let clocks = Mutex<[UInt64: SourceClock]>([:])

  /// Starts with the latest stamps that a walk saw.
  init(_ latest: [UInt64: Timestamp] = [:]) {
    let (instant, here) = (BootInstant.now(), Timestamp.coarseNow())
    clocks.withLock { clocks in
      for (device, stamp) in latest { clocks[device, default: SourceClock()].note(stamp, at: instant, here: here) }
    }
  }

  /// How long another change could still get the stamp of a status that was read between two
  /// moments.
  func unsettledSeconds(_ status: FileStatus, seenBetween begin: BootInstant, and end: BootInstant) -> Double {
    let here = Timestamp.coarseNow()
    return clocks.withLock { clocks in
      clocks[status.device, default: SourceClock()].unsettledSeconds(
        status.changed, seenBetween: begin, and: end, here: here)
    }
  }
}
