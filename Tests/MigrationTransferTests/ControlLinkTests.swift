import Expectations
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A loop's control connection by itself, with a real one at the other end.
@Suite struct ControlLinkTests {
  /// Lets `act` be the other end, on a thread of its own, and gives `look` the link.
  private func meet(
    _ act: @escaping @Sendable (inout StrangeClient) throws -> Void, _ look: (ControlLink) throws -> Void
  ) throws {
    let receiver = try StrangeReceiver()
    let port = receiver.port
    let other = try RunningThread("other end") {
      var client = try StrangeClient(port: port)
      client.connection.passReady()
      try act(&client)
    }
    var connection = try receiver.accept()
    connection.passReady()
    try look(ControlLink(connection, now: 100))
    try other.value()
  }

  /// The events of steps at one moment, until the first comes.
  private func events(_ link: ControlLink, now: Double) throws -> [ControlLink.Event] {
    let deadline = soon()
    while BootInstant.now() < deadline {
      let events = link.step(now: now)
      if !events.isEmpty { return events }
      let interests = [link.interest].compactMap { $0 }
      var poller = try Poller()
      var awaited = interests
      _ = try poller.wait(&awaited, until: .now().advanced(by: .milliseconds(10)))
    }
    throw TookTooLong("an event")
  }

  @Test func `an other end whose words came while this one stood still has not been silent`() throws {
    let hasSpoken = Outcome<Void>(of: "words that lie unread")
    let isOver = Outcome<Void>(of: "the end")
    try meet { client in
      try client.say(ControlMessage.ping(7).frame)
      hasSpoken.set(.success(()))
      try isOver.wait(until: soon())
    } _: { link in
      try hasSpoken.wait(until: soon())
      let first = try events(link, now: 116)
      guard case .received(.ping(7), _)? = first.first, first.count == 1 else {
        Issue.record("\(first)")
        return
      }
      expect(link.step(now: 130).isEmpty)
      guard case .broke(let fault, let isSilent)? = link.step(now: 131).first else {
        Issue.record("silence is not noticed")
        return
      }
      expect(fault.code, is: .connection)
      expect(isSilent)
      isOver.set(.success(()))
    }
  }

  @Test(arguments: [false, true])
  func `an end that is told of silence knows whether its bytes have arrived`(isUnheard: Bool) throws {
    let hasSaidAll = Outcome<Void>(of: "many words")
    let isOver = Outcome<Void>(of: "the end")
    try meet { client in
      try hasSaidAll.wait(until: soon())
      try client.say(ControlMessage.close(Close(.silent, "nothing came")).frame)
      try isOver.wait(until: soon())
    } _: { link in
      // More than the kernels hold, of which the other end reads nothing.
      while isUnheard, link.interest?.wanted.contains(.writable) != true {
        for number in 0..<1_000 as Range<UInt64> { link.say(.ping(number)) }
        _ = link.step(now: 100)
      }
      hasSaidAll.set(.success(()))
      let last = try events(link, now: 100).first
      guard case .received(.close, isUnheard)? = last else {
        Issue.record("\(String(describing: last))")
        return
      }
      isOver.set(.success(()))
    }
  }

  @Test func `a link that is being closed takes an earlier moment, and no later one`() throws {
    let isOver = Outcome<Void>(of: "the end")
    try meet { _ in
      try isOver.wait(until: soon())
    } _: { link in
      link.close(until: 105)
      link.close(until: 103)
      expect(link.nextMoment, is: 103)
      link.close(until: 109)
      expect(link.nextMoment, is: 103)
      isOver.set(.success(()))
    }
  }

  @Test func `an other end that does not stop talking holds a link that closes no longer than its time`() throws {
    let mayStop = AtomicFlag()
    let isFlooding = Outcome<Void>(of: "a flood")
    try meet { client in
      let flood = [UInt8](repeating: 0, count: 1 << 20)
      do {
        for round in 0..<20_000 where !mayStop.isSet {
          try client.say(flood)
          if round == 4 { isFlooding.set(.success(())) }
        }
      } catch {
        // The other end has closed.
      }
      expect(mayStop.isSet)
    } _: { link in
      link.close(until: 100.5)
      let start = BootInstant.now()
      while true {
        let step = link.step(now: 100 + BootInstant.now().seconds(since: start))
        if case .closed? = step.first { break }
      }
      mayStop.set()
    }
  }

  @Test func `a link that is broken is not waited for`() throws {
    try meet { _ in
    } _: { link in
      guard case .broke? = try events(link, now: 101).first else {
        Issue.record("the end is not noticed")
        return
      }
      // Its last messages have had their chance.
      _ = link.step(now: 101)
      expect(link.interest == nil)
      expect(link.nextMoment == nil)
    }
  }
}
