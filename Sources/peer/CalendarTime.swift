import FoundationEssentials

/// Points in time in the format of RFC 3339.
enum CalendarTime {
  /// Seconds since 1970 as `2026-11-21T01:03:42Z`.
  static func text(_ seconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
  }
}
