import Expectations
import MigrationWire
import Testing

@Suite struct EstimatedSizeTests {
  @Test(
    arguments: [
      (1, 3_000_000_000, true), (0, 1_048_576, true), (0, 1_048_575, false), (10_000_000, 15_000_001, true),
      (10_000_000, 15_000_000, false), (10_000_000, 4_999_999, true), (10_000_000, 5_000_000, false), (900, 100, false),
      (.max, 0, true), (0, .max, true),
    ] as [(UInt64, UInt64, Bool)])
  func `an estimate is off by more than its half and 1 MiB`(estimate: UInt64, actual: UInt64, isOff: Bool) {
    expect(Offer.isEstimate(estimate, offFrom: actual), is: isOff)
  }
}
