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
}
