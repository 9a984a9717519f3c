import FoundationEssentials
import MigrationWire

extension Figures {
  /// A part of a total, in the total's unit: `0.3/3.2 GB`. The width is the same for every part.
  static func share(_ bytes: UInt64, of total: UInt64) -> String {
    let unit = unit(of: max(bytes, total))
    let whole = digits(total, in: unit)
    let part = digits(min(bytes, total), in: unit, whole.contains("."))
    return padded(part, to: whole.count) + "/\(whole) \(name(of: unit))"
  }

  /// A rate, as a size per second.
  static func rate(_ bytesPerSecond: Double) -> String {
    size(whole(bytesPerSecond)) + "/s"
  }

  /// A number with its noun, whose plural is given.
  static func count(_ number: UInt64, _ noun: String, _ plural: String) -> String {
    "\(count(number)) \(number == 1 ? noun : plural)"
  }

  /// The first few of some names, and the number of the rest: `a, b and 3 more`.
  static func list(_ names: [String], first shown: Int, by separator: String = ", ") -> String {
    let more = names.count > shown ? " and \(count(UInt64(names.count - shown))) more" : ""
    return names.prefix(shown).joined(separator: separator) + more
  }

  /// A duration: `0.4 s`, `14.2 s`, `2 min 5 s`, `3 h 12 min`.
  static func duration(_ seconds: Double) -> String {
    let tenths = whole(seconds * 10)
    if tenths < 600 { return "\(tenths / 10).\(tenths % 10) s" }
    let seconds = whole(seconds)
    if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
    return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
  }

  /// A time span in whole units, in words: `10 minutes`.
  static func span(_ seconds: Double) -> String {
    let seconds = whole(seconds)
    return seconds >= 60 && seconds.isMultiple(of: 60) ? count(seconds / 60, "minute") : count(seconds, "second")
  }

  /// The rough age of a moment: `just now`, `5 minutes ago`, `3 days ago`.
  static func ago(_ seconds: Int64) -> String {
    switch seconds {
    case ..<60: "just now"
    case ..<3600: "\(count(UInt64(seconds / 60), "minute")) ago"
    case ..<86_400: "\(count(UInt64(seconds / 3600), "hour")) ago"
    default: "\(count(UInt64(seconds / 86_400), "day")) ago"
    }
  }

  /// A time span in the form of a clock: `0:16`, `12:05`, `1:02:33`.
  static func clock(_ seconds: Double) -> String {
    let seconds = whole(seconds.rounded(.up))
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60)
    let rest = padded(String(seconds % 60), to: 2, with: "0")
    return hours == 0 ? "\(minutes):\(rest)" : "\(hours):\(padded(String(minutes), to: 2, with: "0")):\(rest)"
  }

  /// A text, padded on the left to a width.
  static func padded(_ text: String, to width: Int, with filling: Character = " ") -> String {
    String(repeating: filling, count: max(0, width - text.count)) + text
  }

  /// The nearest whole number within the range; zero for negative numbers and NaN.
  static func whole(_ number: Double) -> UInt64 {
    number > 0 ? UInt64(exactly: number.rounded()) ?? .max : 0
  }
}

/// Points in time in the format of RFC 3339.
enum CalendarTime {
  /// Seconds since 1970 as `2026-11-21T01:03:42Z`.
  static func text(_ seconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
  }
}

/// Rows of texts, written in columns.
enum Table {
  /// Each column is as wide as its widest text; no line ends in blanks.
  static func text(_ rows: [[String]]) -> String {
    guard let first = rows.first else { return "" }
    let widths = first.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let lines = rows.map { row in
      var line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
