import Glibc

/// A point on the clock that counts from the start of the machine, including sleep.
package struct BootInstant: InstantProtocol, Hashable, Sendable {
  /// The nanoseconds since the machine started.
  package let nanoseconds: Int64

  /// A point this many nanoseconds after the start.
  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// A point this many seconds after the start.
  package init(seconds: Double) {
    nanoseconds = Int64(min(max(0, seconds * 1e9), 9e18))
  }

  /// The seconds since the machine started.
  package var seconds: Double { Double(nanoseconds) / 1e9 }

  /// The current time.
  package static func now() -> BootInstant {
    BootInstant(nanoseconds: reading(of: CLOCK_BOOTTIME))
  }

  /// The reading of a clock, in nanoseconds.
  static func reading(of clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The point this much later; a point beyond the range of the clock becomes the last point in the
  /// range.
  package func advanced(by duration: Duration) -> BootInstant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    if overflow { return BootInstant(nanoseconds: duration < .zero ? .min : .max) }
    return BootInstant(nanoseconds: sum)
  }

  /// The point this much later.
  package static func + (instant: BootInstant, duration: Duration) -> BootInstant {
    instant.advanced(by: duration)
  }

  package func duration(to other: BootInstant) -> Duration {
    .nanoseconds(other.nanoseconds - nanoseconds)
  }

  /// The seconds since an earlier point.
  package func seconds(since earlier: BootInstant) -> Double {
    Double(nanoseconds - earlier.nanoseconds) / 1e9
  }

  package static func < (left: BootInstant, right: BootInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Duration {
  /// The duration in nanoseconds, rounded toward zero and clamped to the range.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    if overflow || carry { return self < .zero ? .min : .max }
    return sum
  }
}
