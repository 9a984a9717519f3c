import Expectations
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct ThreadTests {
  @Test func `events are kept in order, and wake the loop even if they came before it looked`() throws {
    let events = try EventQueue<Int>()
    events.post(1)
    events.post(2)
    var poller = try Poller()
    expect(try poller.wait(for: .readable, on: events.wakeup.raw, until: soon()), is: .readable)
    expect(events.take(), is: [1, 2])
    expect(events.take(), is: [])
    // Taken events wake the loop no more.
    expect(try poller.wait(for: .readable, on: events.wakeup.raw, until: .now()), is: [])
  }

  @Test func `a flag stays set`() {
    let flag = AtomicFlag()
    expect(!flag.isSet)
    flag.set()
    flag.set()
    expect(flag.isSet)
  }

  @Test func `workers are waited for until the last one has ended`() throws {
    let group = Workers()
    let go = Outcome<Void>(of: "the moment to end")
    let count = Condition(0)
    for _ in 0..<8 {
      try group.start("worker") {
        _ = try? go.wait()
        count.withLock { $0 += 1 }
      }
    }
    go.set(())
    try RunningThread("waiting") { group.wait() }.value()
    expect(count.withLock { $0 }, is: 8)
    try RunningThread("waiting") { group.wait() }.value()
  }

  @Test func `workers that stand still are left, and the others waited for`() throws {
    let group = Workers()
    let (first, second) = (Outcome<Void>(of: "the first end"), Outcome<Void>(of: "the second end"))
    for go in [first, second] { try group.start("worker") { _ = try? go.wait() } }
    expect(!group.wait(until: .now(), leaving: 1))
    first.set(())
    expect(group.wait(until: soon(), leaving: 1))
    second.set(())
    expect(group.wait(until: soon()))
  }

  @Test func `a fast clock keeps its deadlines sooner`() {
    let pace = LoopClock(speed: 10)
    let start = BootInstant.now()
    expect(pace.instant(5, after: start), is: start.advanced(by: .milliseconds(500)))
    // Between both readings, but for what a number in seconds is rounded by.
    let before = BootInstant.now()
    let shown = pace.instant(pace.now)
    let after = BootInstant.now()
    expect(shown.seconds(since: before) > -1e-3 && after.seconds(since: shown) > -1e-3)
  }
}
