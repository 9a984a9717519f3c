import MigrationSystem
import Testing

/// The trap on loops' threads, which debug builds have.
@Suite struct LoopThreadTests {
  @Test func `a loop's thread waits with its own poller, and checks with any`() async {
    await #expect(processExitsWith: .success) {
      LoopThread.enter()
      var own = try Poller(ofLoop: true)
      var none: [Poller.Interest] = []
      _ = try own.wait(&none, until: .now().advanced(by: .milliseconds(1)))
      var other = try Poller()
      _ = try other.wait(&none, until: .now())
      LoopThread.check("send")
    }
  }

  @Test func `a loop's thread does not wait with another poller`() async {
    await #expect(processExitsWith: .failure) {
      LoopThread.enter()
      var none: [Poller.Interest] = []
      var other = try Poller()
      _ = try other.wait(&none, until: .now().advanced(by: .seconds(10)))
    }
  }

  @Test func `a loop's thread opens no files`() async {
    await #expect(processExitsWith: .failure) {
      LoopThread.enter()
      _ = try Directory.open("/")
    }
  }

  @Test func `a loop's thread waits for no condition, and for no lock that is held during I/O`() async {
    await #expect(processExitsWith: .failure) {
      LoopThread.enter()
      _ = Condition(0).wait { $0 == 0 ? true : nil }
    }
    await #expect(processExitsWith: .failure) {
      LoopThread.enter()
      LoopThread.check("wait for the ledger")
    }
  }
}
