import Glibc

/// A time of the file system: seconds since 1970, negative before, and nanoseconds that always
/// count forward.
package struct Timestamp: Comparable, Hashable, Sendable {
  /// Whole seconds, rounded down.
  package var seconds: Int64
  /// Below 1,000,000,000.
  package var nanoseconds: UInt32

  /// Creates a time from its parts.
  package init(seconds: Int64, nanoseconds: UInt32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  package static func < (left: Timestamp, right: Timestamp) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }

  /// The current time as file systems use it for stamps: the time of the kernel's last tick.
  package static func coarseNow() -> Timestamp {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
  }

  /// How much later this is than another point in time; negative if it is earlier.
  package func seconds(since earlier: Timestamp) -> Double {
    Double(seconds - earlier.seconds) + (Double(nanoseconds) - Double(earlier.nanoseconds)) / 1e9
  }
}
