import Expectations
import Testing

@testable import MigrationWire

@Suite struct TokenBucketTests {
  @Test func `tokens accumulate at a rate, up to the size of the bucket`() {
    var tokens = TokenBucket(rate: 10, capacity: 2, level: 2, now: 0)
    /// How many tokens are there.
    func take(at now: Double) -> Int {
      var count = 0
      while tokens.level(now: now) >= 1 {
        tokens.take(1, now: now)
        count += 1
      }
      return count
    }
    expect(take(at: 0), is: 2)
    let next = tokens.moment(of: 1)
    expect(next >= 0.1 && next < 0.1001)
    expect(take(at: next), is: 1)
    expect(take(at: 100), is: 2)
    tokens.take(3, now: 100)
    expect(take(at: 100.3), is: 0)
    expect(take(at: 100.41), is: 1)
  }
}
