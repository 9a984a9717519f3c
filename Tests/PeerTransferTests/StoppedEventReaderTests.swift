import Expectations
import Glibc
import MigrationWire
import TestSupport
import Testing

@testable import MigrationEngine
@testable import PeerTransfer

/// A program that does not read its events, or stops reading.
@Suite(.timeLimit(.minutes(3))) struct StoppedEventReaderTests {
  private func all(of events: PeerEvents) async -> [PeerEvent] {
    var all: [PeerEvent] = []
    for await event in events { all.append(event) }
    return all
  }

  @Test func `a transfer without a reader completes, and a late reader gets its end`()
    async throws
  {
    let (source, destination) = (try Scratch(), try Scratch())
    let count = 2000
    source.write("tree/file", [1])
    for number in 0..<count { try #require(mkfifo(source.path("tree/\(number)"), 0o600) == 0) }
    let receiver = WaitingReceiver(into: destination.path("in"))
    let sender = PeerSender([PeerPath(source.path("tree"))], to: try await receiver.target())
    let code = try await receiver.code()
    let result = try await sender.send { _ in code }
    expect(result.unsent == UInt64(count) && result.isComplete)
    _ = try await receiver.task.value.get()
    let events = await all(of: sender.events)
    expect(events.count { if case .notStored(_, by: .sender, _) = $0 { true } else { false } }, is: count)
    expect(events.last, is: .done(result))
  }

  @Test func `a program that reads no events gets the newest ones in the end`() async {
    let buffer = EventBuffer()
    for number in 0..<100_000 { buffer.add(.notice("\(number)")) }
    buffer.close()
    let events = await all(of: PeerEvents(events: buffer.events))
    expect(events, is: (100_000 - EventBuffer.capacity..<100_000).map { .notice("\($0)") })
  }

  @Test func `each of many transfers has its own result, and the end of all is reported`() async {
    let result = TransferResult(
      total: Tally(items: 1, bytes: 1), sentBytes: 1, heldBytes: 0, seconds: 1, unsent: 1, losses: [])
    let buffer = EventBuffer()
    buffer.expectMany()
    let sound = TransferResult(
      total: Tally(items: 1, bytes: 1), sentBytes: 1, heldBytes: 0, seconds: 1, unsent: 0, losses: [])
    buffer.add(.done(sound))
    buffer.add(.notStored(NotStored(path: [0x61], .unreadable)))
    buffer.add(.done(result))
    buffer.add(.done(sound))
    let stopped = Failure(.interrupted, "interrupted")
    expect(buffer.close(.failure(stopped)), is: .failure(PeerError(stopped)))
    let events = await all(of: PeerEvents(events: buffer.events))
    let verdicts = events.compactMap { if case .done(let result) = $0 { result.isComplete } else { nil } }
    expect(verdicts, is: [true, false, true])
    expect(events.last, is: .failed(PeerError(stopped)))
  }

  @Test func `the events of an object that is released without a run end`() async {
    let events = PeerSender(["nothing"]).events
    expect(await all(of: events), is: [])
  }

  @Test func `a reader whose task is cancelled ends at any moment`() async {
    for round in 0..<500 {
      let buffer = EventBuffer()
      let events = PeerEvents(events: buffer.events)
      let reader = Task {
        var iterator = events.makeAsyncIterator()
        return await iterator.next()
      }
      for _ in 0..<round % 5 { await Task.yield() }
      async let adding: Void = buffer.add(.looking)
      reader.cancel()
      await adding
      _ = await reader.value
    }
  }

  @Test func `an end that an event has reported is not reported again`() async {
    let result = TransferResult(
      total: Tally(items: 1, bytes: 1), sentBytes: 1, heldBytes: 0, seconds: 1, unsent: 0, losses: [])
    let buffer = EventBuffer()
    buffer.add(.done(result))
    _ = buffer.close(.success(result))
    var count = 0
    for await event in PeerEvents(events: buffer.events) { if case .done = event { count += 1 } }
    expect(count, is: 1)
  }

  @Test func `texts from the other device are safe to show`() {
    expect("\(PeerPath(bytes: [0x61, 0x1B, 0x5B]))", is: #"a\u{1b}["#)
    let device = PeerDevice(name: "new\u{1B}[2J", host: "192.0.2.7", port: 5000)
    expect("\(device)", is: #"$'new\x1b[2J' (192.0.2.7)"#)
    expect(PeerEvent(.notice("a\u{1B}b"), isComplete: true), is: .notice(#"a\u{1b}b"#))
  }
}
