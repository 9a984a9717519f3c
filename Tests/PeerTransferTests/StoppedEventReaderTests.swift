import Glibc
import MigrationEngine
import MigrationWire
import TestSupport
import Testing

@testable import PeerTransfer

/// A program that does not read its events, or stops.
@Suite(.timeLimit(.minutes(3))) struct StoppedEventReaderTests {
  /// A name that takes much room.
  private static func name(_ number: Int) -> String { String(repeating: "n", count: 200) + "\(number)" }

  @Test func `a reader that stops costs a bounded number of bytes, and the transfer goes to its end`() async throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let count = 5000
    source.write("tree/file", [1])
    for number in 0..<count { try #require(mkfifo(source.path("tree/\(Self.name(number))"), 0o600) == 0) }
    let receiver = WaitingReceiver(into: destination.path("in"))
    let sender = PeerSender([PeerPath(source.path("tree"))], to: try await receiver.target())
    let code = try await receiver.code()
    let result = try await sender.send { _ in code }
    #expect(result.unsent == UInt64(count) && result.isComplete)
    _ = try await receiver.task.value.get()

    var (told, missed, last) = (UInt64(0), UInt64(0), PeerEvent?.none)
    for await event in sender.events {
      switch event {
      case .unsent: told += 1
      case .missed(let some): missed += some
      default: break
      }
      last = event
    }
    #expect(missed > 0 && told + missed >= UInt64(count))
    // Each takes 256 bytes and its name.
    #expect(told * 460 <= UInt64(EventBuffer.capacity))
    #expect(last == .done(result))
  }

  @Test func `progress is coalesced while it is not read, and a reader that begins late reads the end`() async {
    let buffer = EventBuffer()
    for bytes in 1...100_000 as ClosedRange<UInt64> {
      buffer.add(
        .progress(TransferProgress(phase: .sending, bytes: bytes, totalBytes: 100_000, items: 1, totalItems: 1)))
    }
    _ = buffer.close(.failure(TransferFailure(.failed, "it is over")))
    var events: [PeerEvent] = []
    for await event in PeerEvents(buffer: buffer) { events.append(event) }
    #expect(events.count == 2)
    if case .progress(let progress)? = events.first { #expect(progress.bytes == 100_000) }
    #expect(events.last == .failed(PeerError(.failed, "it is over")))
  }

  @Test func `a reader whose task is cancelled ends, and others read on`() async {
    let buffer = EventBuffer()
    let events = PeerEvents(buffer: buffer)
    let cancelled = Task {
      var iterator = events.makeAsyncIterator()
      return await iterator.next()
    }
    await Task.yield()
    cancelled.cancel()
    #expect(await cancelled.value == nil)
    buffer.add(.looking)
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == .looking)
    _ = buffer.close(.failure(TransferFailure(.interrupted, "interrupted")))
    #expect(await iterator.next() == .failed(PeerError(.interrupted, "interrupted")))
    #expect(await iterator.next() == nil)
  }

  @Test func `an end that an event has told is not told again`() async {
    let result = TransferResult(
      total: Tally(items: 1, bytes: 1), sentBytes: 1, heldBytes: 0, seconds: 1, unsent: 0, losses: [])
    let buffer = EventBuffer()
    buffer.add(.done(result))
    _ = buffer.close(.success(result))
    var count = 0
    for await event in PeerEvents(buffer: buffer) { if case .done = event { count += 1 } }
    #expect(count == 1)
  }

  @Test func `what came from the other device is safe to show`() {
    #expect("\(PeerPath(bytes: [0x61, 0x1B, 0x5B]))" == #"a\u{1b}["#)
    let device = PeerDevice(name: "new\u{1B}[2J", host: "192.0.2.7", port: 5000)
    #expect("\(device)" == #"new\u{1b}[2J (192.0.2.7)"#)
    #expect(PeerEvent(.notice("a\u{1B}b"), isComplete: true) == .notice(#"a\u{1b}b"#))
  }
}
