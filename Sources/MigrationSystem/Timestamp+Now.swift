import Glibc

extension Timestamp {
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
