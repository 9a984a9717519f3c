import Glibc

/// A point on the clock that runs from the start of the machine, and goes on while it sleeps.
package struct BootInstant: InstantProtocol, Hashable, Sendable {
  /// Since the machine started.
  package let nanoseconds: Int64

  /// A point that many nanoseconds after the start.
  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// A point that many seconds after the start.
  package init(seconds: Double) {
    nanoseconds = Int64(min(max(0, seconds * 1e9), 9e18))
  }

  /// The seconds since the machine started.
  package var seconds: Double { Double(nanoseconds) / 1e9 }

  /// This moment.
  package static func now() -> BootInstant {
    BootInstant(nanoseconds: reading(of: CLOCK_BOOTTIME))
  }

  /// What a clock shows, in nanoseconds.
  static func reading(of clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The point that much later; one beyond the range of the clock is the last one that there is.
  package func advanced(by duration: Duration) -> BootInstant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    if overflow { return BootInstant(nanoseconds: duration < .zero ? .min : .max) }
    return BootInstant(nanoseconds: sum)
  }

  /// The point that much later.
  package static func + (instant: BootInstant, duration: Duration) -> BootInstant {
    instant.advanced(by: duration)
  }

  package func duration(to other: BootInstant) -> Duration {
    .nanoseconds(other.nanoseconds - nanoseconds)
  }

  /// The seconds that have passed since an earlier point.
  package func seconds(since earlier: BootInstant) -> Double {
    Double(nanoseconds - earlier.nanoseconds) / 1e9
  }

  package static func < (left: BootInstant, right: BootInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Duration {
  /// The duration in nanoseconds, rounded toward zero and held within the range.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    if overflow || carry { return self < .zero ? .min : .max }
    return sum
  }
}
