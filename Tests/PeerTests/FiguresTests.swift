import Expectations
import MigrationWire
import Testing

@testable import peer

@Suite struct FiguresTests {
  @Test(
    arguments: [
      (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (1050, "1.1 kB"), (99_949, "99.9 kB"),
      (99_950, "100 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (3_200_000_000, "3.2 GB"),
      (225_000_000, "225 MB"), (.max, "18.4 EB"),
    ] as [(UInt64, String)])
  func `sizes are decimal and short`(bytes: UInt64, text: String) {
    expect(Figures.size(bytes), is: text)
  }

  @Test(
    arguments: [
      (0, 3_200_000_000, "0.0/3.2 GB"), (1_430_000_000, 3_200_000_000, "1.4/3.2 GB"), (5, 999, "  5/999 B"),
      (8_000_000, 225_000_000, "  8/225 MB"), (7, 5, "5/5 B"),
    ] as [(UInt64, UInt64, String)])
  func `a share is as wide as its total`(bytes: UInt64, total: UInt64, text: String) {
    expect(Figures.share(bytes, of: total), is: text)
  }

  @Test(
    arguments: [
      (0, "0 items"), (1, "1 item"), (999, "999 items"), (1204, "1,204 items"), (1_000_000, "1,000,000 items"),
    ] as [(UInt64, String)])
  func `counts have commas and a noun`(number: UInt64, text: String) {
    expect(Figures.count(number, "item"), is: text)
  }

  @Test(arguments: [
    (0.04, "0.0 s"), (14.2, "14.2 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (125, "2 min 5 s"),
    (3599.7, "1 h 0 min"), (11_520, "3 h 12 min"), (-1, "0.0 s"), (.nan, "0.0 s"),
  ])
  func `durations`(seconds: Double, text: String) {
    expect(Figures.duration(seconds), is: text)
  }

  @Test(arguments: [(0, "0:00"), (15.2, "0:16"), (725, "12:05"), (3753, "1:02:33"), (1e12, "277777777:46:40")])
  func `clocks round up`(seconds: Double, text: String) {
    expect(Figures.clock(seconds), is: text)
  }

  @Test(arguments: [(600, "10 minutes"), (60, "1 minute"), (90, "90 seconds"), (1, "1 second")])
  func `spans`(seconds: Double, text: String) {
    expect(Figures.span(seconds), is: text)
  }

  @Test func `rates`() {
    expect(Figures.rate(225_360_000), is: "225 MB/s")
    expect(Figures.rate(.infinity), is: "18.4 EB/s")
  }

  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (1_795_223_022, "2026-11-21T01:03:42Z"), (4_107_542_399, "2100-02-28T23:59:59Z"),
      (4_107_542_400, "2100-03-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
    ] as [(Int64, String)])
  func `points in time`(seconds: Int64, text: String) {
    expect(CalendarTime.text(seconds), is: text)
  }
}
