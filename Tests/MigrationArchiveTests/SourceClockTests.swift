import Expectations
import MigrationSystem
import MigrationWire
import Testing

@testable import MigrationArchive

/// The clocks of servers and of disk formats, which are ahead or behind; the wait uses the stamps
/// that they gave.
@Suite struct SourceClockTests {
  private let here = Timestamp(seconds: 1_000_000, nanoseconds: 500)

  private func instant(_ seconds: Double) -> BootInstant { BootInstant(seconds: 100 + seconds) }

  private func stamp(_ seconds: Double) -> Timestamp {
    Timestamp(seconds: here.seconds + Int64(seconds), nanoseconds: 500)
  }

  @Test(arguments: [-3600.0, -5, 0, 5, 3600, 50_000])
  func `the wait for a recently changed file is the same for every clock offset`(_ ahead: Double) {
    var clock = SourceClock()
    let first = clock.unsettledSeconds(stamp(ahead), seenBetween: instant(0), and: instant(0.001), here: here)
    expect(first, is: 0.05)
    let second = clock.unsettledSeconds(stamp(ahead), seenBetween: instant(0.051), and: instant(0.052), here: here)
    expect(second, is: 0)
  }

  @Test(arguments: [-3600.0, 0, 3600])
  func `a stamp older than another seen stamp needs no wait`(_ ahead: Double) {
    var clock = SourceClock()
    clock.note(stamp(ahead), at: instant(0), here: here)
    expect(
      clock.unsettledSeconds(stamp(ahead - 1), seenBetween: instant(0), and: instant(0), here: here), is: 0)
  }

  @Test func `a clock advances while no stamps of it are seen`() {
    var clock = SourceClock()
    clock.note(stamp(7), at: instant(0), here: here)
    expect(clock.unsettledSeconds(stamp(9), seenBetween: instant(3), and: instant(3), here: here), is: 0)
    expect(clock.unsettledSeconds(stamp(20), seenBetween: instant(3), and: instant(3), here: here) > 0)
  }

  @Test func `a change during the wait is waited for as well`() {
    var clock = SourceClock()
    _ = clock.unsettledSeconds(stamp(5), seenBetween: instant(0), and: instant(0), here: here)
    expect(clock.unsettledSeconds(stamp(6), seenBetween: instant(0.1), and: instant(0.1), here: here) > 0)
  }

  @Test func `a stamp of another age says nothing about the clock, and ends its own wait`() {
    var clock = SourceClock()
    let distant = Timestamp(seconds: 13_569_465_600, nanoseconds: 1)
    expect(clock.unsettledSeconds(distant, seenBetween: instant(0), and: instant(0), here: here), is: 0.05)
    expect(clock.unsettledSeconds(stamp(0), seenBetween: instant(0), and: instant(0), here: here), is: 0.05)
    expect(clock.unsettledSeconds(distant, seenBetween: instant(0.01), and: instant(0.01), here: here), is: 0.05)
    expect(clock.unsettledSeconds(distant, seenBetween: instant(0.07), and: instant(0.07), here: here), is: 0)
  }

  @Test func `stamps in whole seconds are waited for in whole seconds`() {
    var clock = SourceClock()
    let whole = Timestamp(seconds: 999_999)
    expect(clock.unsettledSeconds(whole, seenBetween: instant(0), and: instant(0), here: here), is: 2)
    expect(clock.unsettledSeconds(whole, seenBetween: instant(1.5), and: instant(1.5), here: here), is: 0.5)
    expect(clock.unsettledSeconds(whole, seenBetween: instant(2.1), and: instant(2.1), here: here), is: 0)
  }

  /// While another change could have the stamp, no later session finds the generation again.
  @Test(arguments: [(500, 0.011), (0, 1.9)] as [(UInt32, Double)])
  func `a stamp of this machine's clock names a state once no other change can have it`(
    _ nanoseconds: UInt32, _ unsettled: Double
  ) {
    let stamp = Timestamp(seconds: 1_000_000, nanoseconds: nanoseconds)
    let status = FileStatus(
      kind: .regular, mode: 0o644, size: 1, allocatedBytes: 0, device: 1, inode: 1, modified: stamp, changed: stamp)
    let early = SourceStatus(
      status: status,
      at: Timestamp(
        seconds: stamp.seconds + Int64(unsettled), nanoseconds: nanoseconds + UInt32(unsettled * 1e9) % 1_000_000_000))
    expect(early.unsettledSeconds > 0 && early.fingerprint(on: 1) != status.fingerprint(on: 1))
    let late = SourceStatus(status: status, at: Timestamp(seconds: stamp.seconds + 3))
    expect(late.unsettledSeconds == 0 && late.fingerprint(on: 1) == status.fingerprint(on: 1))
  }

  @Test func `a walk reports the latest change on each device, and none in the distant future`() {
    var tree = SourceTree()
    let now = Timestamp.coarseNow()
    for (device, changed) in [(1, 5), (2, 9), (1, 7), (1, 6), (2, 3), (3, now.seconds + 200_000)] as [(UInt64, Int64)] {
      let stamp = Timestamp(seconds: changed)
      let status = FileStatus(
        kind: .regular, mode: 0o644, size: 1, allocatedBytes: 0, device: device, inode: 1, modified: stamp,
        changed: stamp)
      _ = tree.add([1].span, status, kind: .file, parent: -1)
    }
    expect(tree.latestChanges, is: [1: Timestamp(seconds: 7), 2: Timestamp(seconds: 9)])
  }
}
