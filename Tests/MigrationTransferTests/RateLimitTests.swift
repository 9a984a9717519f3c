import Expectations
import MigrationArchive
import Testing

@testable import MigrationTransfer

@Suite struct RateLimitTests {
  /// Sends as fast as the limit lets it, in pieces of at most `piece`; when each piece went, and
  /// how many bytes it had.
  private func send(
    _ total: Int, by limit: inout RateLimit, from start: Double, piece: Int = 1 << 20, late: Double = 0
  ) -> [(time: Double, bytes: Int)] {
    var (now, sent) = (start, 0)
    var pieces: [(time: Double, bytes: Int)] = []
    while sent < total {
      let wanted = min(piece, total - sent)
      let bytes = limit.take(wanted, now: now)
      if bytes > 0 {
        pieces.append((now, bytes))
        sent += bytes
      } else {
        let next = limit.next(for: wanted)
        expect(next > now)
        now = next + late
      }
    }
    return pieces
  }

  @Test(arguments: [1_000, 500_000, 20_000_000, 1_500_000_000] as [UInt64])
  func `ten seconds' worth of bytes takes ten seconds`(rate: UInt64) {
    for piece in [1 << 20, 700, 1] where UInt64(piece) * 100_000 > rate {
      var limit = RateLimit(bytesPerSecond: rate, now: 100)
      let pieces = send(Int(rate) * 10, by: &limit, from: 100, piece: piece)
      expect(abs(pieces[pieces.count - 1].time - 110) < 0.1)
    }
  }

  @Test(arguments: [20_000, 20_000_000] as [UInt64])
  func `no fifth of a second has more than its share and the slack`(rate: UInt64) {
    var limit = RateLimit(bytesPerSecond: rate, now: 0)
    var inSpan = [Int](repeating: 0, count: 100)
    for (time, bytes) in send(Int(rate) * 10, by: &limit, from: 30) { inSpan[min(99, Int((time - 30) * 5))] += bytes }
    expect(inSpan.max() ?? 0 <= Int(Double(rate) * 0.26))
  }

  @Test func `a thread that comes a little late loses nothing`() {
    var limit = RateLimit(bytesPerSecond: 20_000_000, now: 0)
    let pieces = send(200_000_000, by: &limit, from: 0, late: 0.02)
    expect(abs(pieces[pieces.count - 1].time - 10) < 0.1)
  }

  @Test func `little gathers without a request`() {
    var limit = RateLimit(bytesPerSecond: 1_000_000, now: 0)
    expect(limit.take(1_000_000, now: 3_600) <= 50_000)
    expect(limit.take(1_000_000, now: 3_600), is: 0)
  }

  @Test func `returned bytes are available again`() {
    var limit = RateLimit(bytesPerSecond: 1_000_000, now: 0)
    let taken = limit.take(1_000_000, now: 1)
    limit.giveBack(taken)
    expect(limit.take(1_000_000, now: 1), is: taken)
  }

  @Test func `a clock that stands still or goes back gives nothing`() {
    var limit = RateLimit(bytesPerSecond: 1_000_000, now: 5)
    expect(limit.take(1_000, now: 5), is: 0)
    expect(limit.take(1_000, now: 4), is: 0)
    expect(limit.take(1_000, now: 5.001), is: 1_000)
  }
}
