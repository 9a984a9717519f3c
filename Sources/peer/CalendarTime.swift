/// Points in time in the format of RFC 3339.
enum CalendarTime {
  /// Seconds since 1970 as `2026-11-21T01:03:42Z`.
  static func text(_ seconds: Int64) -> String {
    let (days, second) = (floorDivide(seconds, 86_400), Int(seconds - floorDivide(seconds, 86_400) * 86_400))
    let (year, month, day) = date(days)
    let time = [second / 3600, second % 3600 / 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(time)Z"
  }

  /// The date of a day, counted from the start of 1970, in the Gregorian calendar.
  ///
  /// Years are counted from March, so that the leap day is the last one of its year.
  private static func date(_ days: Int64) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = Int(shifted - era * 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    return (Int(era) * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
  }

  private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
    (number - (number % divisor + divisor) % divisor) / divisor
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    Figures.padded(String(number), to: width, with: "0")
  }
}
