import Expectations
import Testing

@testable import MigrationHost

@Suite struct ExtensionWatchTests {
  /// Looks as often as the watch requires, until a time. Returns its messages, with their times.
  private func looks(
    at watch: inout ExtensionWatch, from begin: Double, to end: Double, isStopped: (Double) -> Bool = { _ in false }
  ) -> [String] {
    var said: [String] = []
    var now = begin
    while let next = watch.deadline, next <= end {
      expect(next <= now + ExtensionWatch.step, "a look that is too late counts too little")
      now = max(now, next)
      if let verdict = watch.look(now: now, isStopped: isStopped(now)) {
        said.append("\(verdict) at \(now)")
        if verdict != .quiet((watch.limit.seconds ?? 0) / 2) { break }
      }
    }
    return said
  }

  @Test func `an exporter that appends nothing for 20 seconds is ended, with a notice after 10`() {
    var watch = ExtensionWatch(now: 100)
    expect(looks(at: &watch, from: 100, to: 200), is: ["quiet(10.0) at 110.0", "hung(20.0) at 120.0"])
  }

  @Test func `the clock stops while an append is pending, and starts again afterwards`() {
    var watch = ExtensionWatch(now: 0)
    expect(looks(at: &watch, from: 0, to: 15), is: ["quiet(10.0) at 10.0"])
    watch.appendBegan()
    expect(watch.deadline == nil)
    expect(watch.look(now: 10_000, isStopped: false) == nil)
    watch.appendEnded(now: 10_000)
    expect(
      looks(at: &watch, from: 10_000, to: 20_000), is: ["quiet(10.0) at 10010.0", "hung(20.0) at 10020.0"],
      "each silence is reported")
  }

  @Test func `the limit can be set, and switched off`() {
    var short = ExtensionWatch(limit: .seconds(3), now: 0)
    expect(looks(at: &short, from: 0, to: 9), is: ["quiet(1.5) at 1.5", "hung(3.0) at 3.0"])
    var none = ExtensionWatch(limit: .off, now: 0)
    expect(none.deadline == nil)
    expect(none.look(now: 1, isStopped: false) == nil)
    none.cancelled(now: 1)
    expect(looks(at: &none, from: 1, to: 9), is: ["ignoresCancellation at 6.0"])
  }

  @Test func `time in which this process did not look does not count, because it was stopped or the machine slept`() {
    var watch = ExtensionWatch(now: 0)
    expect(looks(at: &watch, from: 0, to: 9).isEmpty)
    expect(watch.look(now: 3600, isStopped: false), is: .quiet(10), "a second and a half of it counts, and no more")
    expect(looks(at: &watch, from: 3600, to: 3700), is: ["hung(20.0) at 3609.5"])
  }

  @Test func `time in which the extension is stopped does not count`() {
    var watch = ExtensionWatch(now: 0)
    expect(
      looks(at: &watch, from: 0, to: 1000) { $0 > 5 && $0 <= 905 }, is: ["quiet(10.0) at 910.0", "hung(20.0) at 920.0"])
  }

  @Test func `frequent looks count with the time between them`() {
    var watch = ExtensionWatch(limit: .seconds(4), now: 0)
    var said: [ExtensionWatch.Verdict] = []
    for hundredth in 1...400 {
      if let verdict = watch.look(now: Double(hundredth) / 64, isStopped: false) { said.append(verdict) }
    }
    expect(said.prefix(2), is: [.quiet(2), .hung(4)])
  }

  @Test func `a cancelled exporter has five seconds to end, despite further appends, and also while it is stopped`() {
    var watch = ExtensionWatch(now: 0)
    watch.appendBegan()
    watch.cancelled(now: 20)
    watch.appendEnded(now: 21)
    watch.appendBegan()
    watch.cancelled(now: 24)
    expect(watch.isCancelled)
    expect(looks(at: &watch, from: 20, to: 30) { _ in true }, is: ["ignoresCancellation at 25.0"])
  }

  @Test(arguments: [(1.0, "1 second"), (2.5, "2.5 seconds"), (20.0, "20 seconds")])
  func `times are written in words`(seconds: Double, words: String) {
    expect(ExtensionWatch.words(seconds), is: words)
  }
}
