import MigrationSystem

/// A link loop on its own thread.
final class LinkThread: Sendable {
  private let stop = StopSignal()
  private let waking: StopSignal.Waking
  private let hasEnded = Condition(false)

  /// Starts it, with all that it needs besides links. `tell` and `trouble` are called on the thread, which must not wait in
  /// them; `trouble` with nil when it is over.
  init<Party: Correspondent>(
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

  /// Has it end, from any thread.
  func end() { stop.set() }

  /// Waits for its end; whether it came in time.
  func wait(until deadline: BootInstant) -> Bool {
    hasEnded.wait(until: deadline) { $0 ? true : nil } ?? false
  }
}
