import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct WaitingTests {
  @Test func `a wakeup from another thread ends a wait, and can be cleared`() throws {
    let wakeup = try Wakeup()
    let thread = try RunningThread("waker") {
      wakeup.signal()
      wakeup.signal()
    }
    var poller = try Poller()
    expect(try poller.wait(for: .readable, on: wakeup.raw, until: soon()), is: .readable)
    try thread.value()
    wakeup.clear()
    expect(try poller.wait(for: .readable, on: wakeup.raw, until: .now()), is: [])
  }

  @Test func `a deadline passes at its time and not before`() throws {
    let wakeup = try Wakeup()
    var poller = try Poller()
    for _ in 0..<3 {
      let watch = try Stopwatch()
      let deadline = BootInstant.now() + .milliseconds(20)
      expect(try poller.wait(for: .readable, on: wakeup.raw, until: deadline), is: [])
      expect(BootInstant.now() >= deadline)
      // A second wait for the same time must not wait for another one.
      expect(try poller.wait(for: .readable, on: wakeup.raw, until: deadline), is: [])
      expect(watch.seconds < 10)
    }
  }

  @Test func `only ready descriptors are reported`() throws {
    let quiet = try Wakeup()
    let loud = try Wakeup()
    loud.signal()
    var poller = try Poller()
    var interests = [Poller.Interest(quiet.raw, .readable), Poller.Interest(loud.raw, .readable)]
    expect(try poller.wait(&interests, until: soon()))
    expect(interests.map(\.ready), is: [[], .readable])
  }

  @Test func `instants can be added and stop at the end of the clock`() {
    let instant = BootInstant(nanoseconds: 5_000_000_000)
    expect(instant + .milliseconds(1), is: BootInstant(nanoseconds: 5_001_000_000))
    expect((instant + .seconds(2)).seconds(since: instant), is: 2)
    expect(instant + .seconds(Int64.max), is: BootInstant(nanoseconds: .max))
    expect(BootInstant.now() <= BootInstant.now())
  }

  @Test func `a condition passes a value from thread to thread`() throws {
    let queue = Condition<[Int]>([])
    let producer = try RunningThread("producer") {
      for value in 0..<1_000 {
        queue.withLock { $0.append(value) }
        queue.signal()
      }
    }
    var received: [Int] = []
    while received.count < 1_000 {
      received += try queue.wait(for: "a number") { state in
        defer { state = [] }
        return state.isEmpty ? nil : state
      }
    }
    try producer.value()
    expect(received, is: Array(0..<1_000))
  }

  @Test func `a broadcast wakes all threads`() throws {
    let gate = Condition<(isOpen: Bool, passed: Int)>((false, 0))
    let threads = try (0..<4).map { index in
      try RunningThread("waiter \(index)") {
        try gate.wait(for: "the gate to open") { state -> Int? in
          guard state.isOpen else { return nil }
          state.passed += 1
          return state.passed
        }
      }
    }
    gate.withLock { $0.isOpen = true }
    gate.broadcast()
    expect(try threads.map { try $0.value() }.sorted(), is: [1, 2, 3, 4])
  }

  @Test func `waiting for a condition ends at the deadline`() {
    let condition = Condition(false)
    let deadline = BootInstant.now() + .milliseconds(20)
    let result: Bool? = condition.wait(until: deadline) { $0 ? true : nil }
    expect(result == nil)
    expect(BootInstant.now() >= deadline)
  }

  @Test func `a thread runs under its name and is joined once`() throws {
    let names = Condition<[String]>([])
    let thread = try OwnerThread(name: "a name that is too long") {
      let name = try? Directory.open("/proc/thread-self").openChild("comm").text()
      names.withLock { $0.append(name ?? "") }
    }
    thread.join()
    thread.join()
    expect(names.withLock { $0 }, is: ["a name that is \n"])
  }

  @Test func `a signal is read and does not end the program`() throws {
    let thread = try RunningThread("signals") {
      let signals = try SignalSource()
      var poller = try Poller()
      let before = try signals.next()
      // To this thread, because the others of the test run have not blocked it.
      pthread_kill(pthread_self(), SIGTERM)
      _ = try poller.wait(for: .readable, on: signals.raw, until: soon())
      return [before, try signals.next()]
    }
    expect(try thread.value(), is: [nil, .terminate])
  }
}
