import Expectations
import MigrationEngine
import MigrationTransfer
import Testing

@testable import peer

@Suite final class ProgressMeterTests {
  private var meter = ProgressMeter()

  private func progress(
    _ bytes: UInt64, of total: UInt64 = 1000, items: UInt64 = 0, _ phase: TransferProgress.Phase = .sending
  ) -> TransferProgress {
    TransferProgress(phase: phase, bytes: bytes, totalBytes: total, items: items, totalItems: 0)
  }

  private func isDue(at time: Double) -> Bool { meter.isDue(at: time, every: 0.1) }

  @Test func `a new meter has no figures`() {
    expect(meter.bytesPerSecond == nil)
    expect(!isDue(at: 0))
    meter.note(progress(500), at: 0)
    meter.note(progress(510), at: 0.4)
    expect(meter.bytesPerSecond == nil)
    expect(meter.secondsLeft == nil)
  }

  @Test func `the rate counts from the first sample, without earlier data`() {
    meter.note(progress(500), at: 10)
    meter.note(progress(600), at: 11)
    expect(meter.bytesPerSecond, is: 100)
    expect(meter.secondsLeft, is: 4)
  }

  @Test func `the rate covers the last seconds`() throws {
    for second in 0...10 { meter.note(progress(UInt64(second * 10), of: 100_000), at: Double(second)) }
    for second in 1...5 { meter.note(progress(100 + UInt64(second * 100), of: 100_000), at: 10 + Double(second)) }
    expect(meter.bytesPerSecond, is: 100)
  }

  @Test func `fast samples neither accumulate nor hide the rate`() throws {
    for tick in 0...10_000 { meter.note(progress(UInt64(tick), of: 100_000), at: Double(tick) / 1000) }
    let rate = try #require(meter.bytesPerSecond)
    expect(abs(rate - 1000) < 1)
  }

  @Test func `the rate falls to zero while nothing moves`() {
    meter.note(progress(0), at: 0)
    meter.note(progress(500), at: 1)
    for second in 2...8 { meter.note(at: Double(second)) }
    expect(meter.bytesPerSecond, is: 0)
    expect(meter.secondsLeft == nil)
  }

  @Test func `a new phase, fewer bytes and a stop restart the rate`() {
    meter.note(progress(0), at: 0)
    meter.note(progress(500), at: 1)
    meter.note(progress(400), at: 2)
    expect(meter.bytesPerSecond == nil)
    meter.note(progress(500), at: 3)
    expect(meter.bytesPerSecond, is: 100)
    meter.note(progress(600, .verifying), at: 4)
    expect(meter.bytesPerSecond == nil)
    meter.stop()
    expect(meter.latest == nil)
  }

  @Test func `without a total, no remaining time is shown`() {
    meter.note(progress(0, of: 0), at: 0)
    meter.note(progress(100, of: 0), at: 1)
    expect(meter.bytesPerSecond, is: 100)
    expect(meter.secondsLeft == nil)
  }

  @Test func `progress is shown once per interval, but a new phase and the end at once`() {
    meter.note(progress(0), at: 0)
    expect(isDue(at: 0))
    expect(!isDue(at: 0.09))
    expect(isDue(at: 0.11))
    meter.note(progress(1000), at: 0.12)
    expect(isDue(at: 0.12))
    expect(!isDue(at: 0.13))
    meter.note(progress(0, .verifying), at: 0.14)
    expect(isDue(at: 0.14))
  }

  @Test func `percentages are rounded down and never above a hundred`() {
    expect(progress(999).percent, is: 99)
    expect(progress(1000).percent, is: 100)
    expect(progress(2000).percent, is: 100)
    expect(progress(0, of: 0).percent == nil)
    expect(TransferProgress(phase: .importing, bytes: 0, totalBytes: 0, items: 1, totalItems: 4).percent, is: 25)
  }

  @Test func `unchanged progress is due once a second, and a change at once`() {
    func isDue(at time: Double) -> Bool { meter.isDue(at: time, every: 0.1, unchanged: 1) }
    meter.note(progress(500), at: 0)
    expect(isDue(at: 0) && !isDue(at: 0.9) && isDue(at: 1) && !isDue(at: 1.5))
    meter.note(progress(501), at: 1.5)
    expect(isDue(at: 1.5))
  }
}
