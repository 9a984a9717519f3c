import Testing

@testable import MigrationHost

@Suite struct ExportWatchTests {
  @Test func `an exporter that appends nothing for 30 seconds is ended`() {
    let watch = ExportWatch(now: 100)
    #expect(watch.verdict(now: 129.9) == nil)
    #expect(watch.deadline == 130)
    #expect(watch.verdict(now: 130) == .hung(30))
  }

  @Test func `the clock stands still while an append is pending, and begins anew behind it`() {
    var watch = ExportWatch(now: 0)
    watch.appendBegan()
    #expect(watch.deadline == nil)
    #expect(watch.verdict(now: 10_000) == nil)
    watch.appendEnded(now: 10_000)
    #expect(watch.verdict(now: 10_029) == nil)
    #expect(watch.verdict(now: 10_030) == .hung(30))
  }

  @Test func `the limit can be chosen`() {
    #expect(ExportWatch(idleLimit: 2, now: 0).verdict(now: 2) == .hung(2))
  }

  @Test func `a cancelled exporter has five seconds to end, whatever it appends`() {
    var watch = ExportWatch(now: 0)
    watch.appendBegan()
    watch.cancelled(now: 20)
    watch.appendEnded(now: 21)
    watch.appendBegan()
    watch.cancelled(now: 24)
    #expect(watch.isCancelled)
    #expect(watch.verdict(now: 24.9) == nil)
    #expect(watch.verdict(now: 25) == .ignoresCancellation)
  }
}
