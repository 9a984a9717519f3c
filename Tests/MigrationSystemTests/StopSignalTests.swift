import Expectations
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct StopSignalTests {
  private func isSignalled(_ wakeup: Wakeup) throws -> Bool {
    var poller = try Poller()
    return try !poller.wait(for: .readable, on: wakeup.raw, until: .now()).isEmpty
  }

  @Test func `every wait on a signal ends when the signal is set, and a later wait ends immediately`() throws {
    let stop = StopSignal()
    let (early, late, gone) = (try Wakeup(), try Wakeup(), try Wakeup())
    let waking = stop.waking(early)
    do { _ = stop.waking(gone) }
    expect(try !stop.isSet && !isSignalled(early))
    stop.set()
    expect(try stop.isSet && isSignalled(early) && !isSignalled(gone) && !isSignalled(late))
    let after = stop.waking(late)
    expect(try isSignalled(late))
    withExtendedLifetime((waking, after)) {}
  }

  @Test func `a wait that uses two signals in turn is unaffected by the first`() throws {
    let (first, second, wakeup) = (StopSignal(), StopSignal(), try Wakeup())
    var waking = first.waking(wakeup)
    waking = second.waking(wakeup)
    first.set()
    expect(try !isSignalled(wakeup))
    second.set()
    expect(try isSignalled(wakeup))
    withExtendedLifetime(waking) {}
  }
}
