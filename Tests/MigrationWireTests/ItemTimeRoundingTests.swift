import Expectations
import Testing

@testable import MigrationWire

@Suite struct ItemTimeRoundingTests {
  @Test(
    arguments: [
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 1, 1_700_000_001, 987_654_321),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 100, 1_700_000_001, 987_654_300),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 10_000_000, 1_700_000_001, 980_000_000),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 1_000_000_000, 1_700_000_001, 0),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 2_000_000_000, 1_700_000_000, 0),
      (ItemTime(seconds: 1_700_000_002, nanoseconds: 0), 2_000_000_000, 1_700_000_002, 0),
      (ItemTime(seconds: -1, nanoseconds: 999_999_999), 1_000_000_000, -1, 0),
      (ItemTime(seconds: -1, nanoseconds: 999_999_999), 2_000_000_000, -2, 0),
      (ItemTime(seconds: -3, nanoseconds: 1), 100, -3, 0), (ItemTime(seconds: 0, nanoseconds: 0), .max, 0, 0),
      (ItemTime(seconds: .max, nanoseconds: 5), 2_000_000_000, .max - 1, 0),
      (ItemTime(seconds: .min, nanoseconds: 5), 2_000_000_000, .min, 0),
      (ItemTime(seconds: .min, nanoseconds: 5), 3_000_000_000, .min, 0),
      (ItemTime(seconds: 7, nanoseconds: 5), 0, 7, 5),
    ] as [(ItemTime, UInt32, Int64, UInt32)])
  func `a time is rounded to the past`(time: ItemTime, granularity: UInt32, seconds: Int64, nanoseconds: UInt32) {
    let rounded = time.rounded(to: granularity)
    expect(rounded, is: ItemTime(seconds: seconds, nanoseconds: nanoseconds))
    expect(seconds == .min || rounded.rounded(to: granularity) == rounded)
  }

  @Test(arguments: [1, 100, 1000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000] as [UInt32])
  func `two kept times tell the granularity`(granularity: UInt32) {
    let times = [
      ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321),
      ItemTime(seconds: 1_700_000_002, nanoseconds: 123_456_789),
    ]
    expect(ItemTime.granularity(of: times.map { ($0, $0.rounded(to: granularity)) }), is: granularity)
  }

  @Test func `times that no granularity explains give none`() {
    let time = ItemTime(seconds: 5, nanoseconds: 5)
    expect(ItemTime.granularity(of: [(time, ItemTime(seconds: 6, nanoseconds: 0))]) == nil)
  }
}
