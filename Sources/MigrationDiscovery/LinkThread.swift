import MigrationSystem

/// A link loop on its own thread.
final class LinkThread: Sendable {
  private let stop = StopSignal()
  private let waking: StopSignal.Waking
  private let hasEnded = Condition(false)

  /// Starts it, with everything that it needs except links. `tell` and `trouble` are called on the
  /// thread and must not block it; `trouble` with nil when the trouble has ended.
  init<Party: LinkParty>(
    _ name: String, _ party: Party, port: UInt16, reaching reach: Reach = .everywhere,
    tell: @escaping @Sendable (Party.News) -> Void,
    trouble: @escaping @Sendable (FindingTrouble?) -> Void
  ) throws(SystemError) {
    let wakeup = try Wakeup()
    waking = stop.waking(wakeup)
    let (stop, hasEnded) = (stop, hasEnded)
    let poller = Handover(try Poller(ofLoop: true))
    _ = try OwnerThread(name: name) {
      LoopThread.enter()
      var loop = LinkLoop(
        party, poller.take(), port: port, reaching: reach, stop: stop, wakeup: wakeup, tell: tell, trouble: trouble)
      do throws(SystemError) {
        try loop.run()
      } catch {
        trouble(.refused(error))
      }
      hasEnded.withLock { $0 = true }
      hasEnded.broadcast()
    }
  }

  deinit { stop.set() }

  /// Requests the end, from any thread.
  func end() { stop.set() }

  /// Waits for the end. Returns whether it came in time.
  func wait(until deadline: BootInstant) -> Bool {
    hasEnded.wait(until: deadline) { $0 ? true : nil } ?? false
  }
}
