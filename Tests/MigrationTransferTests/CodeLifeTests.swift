import Expectations
import Glibc
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Codes of a real receiver without a single try, and of one that strangers try without an end.
@Suite struct CodeLifeTests {
  /// Speeds up the clock so that a code expires after 0.3 s.
  private static let hasty = LoopClock(speed: 2_000)

  /// The failure when so many codes have been shown and the receiver is stopped.
  private func failure(after codes: Int) throws -> Failure? {
    let receiver = try RunningReceiver(try Scratch(), pace: Self.hasty)
    _ = try receiver.events.code(codes)
    expect(receiver.events.wrongCodes, is: 0)
    return receiver.stop()
  }

  @Test(arguments: [6, 10])
  func `codes without a try follow each other for as long as the receiver waits`(count: Int) throws {
    expect(try failure(after: count)?.kind, is: .interrupted)
  }

  @Test func `after many codes without a try a sender pairs`() throws {
    let receiver = try RunningReceiver(try Scratch(), codePace: LoopClock(speed: 600))
    _ = try receiver.events.code(6)
    let port = try receiver.port()
    let deadline = soon()
    var isPaired = false
    // A code may be over before it is proved; then there is the next.
    while !isPaired, BootInstant.now() < deadline {
      do {
        var exchange = try PairingExchange(port, try receiver.events.lastCode())
        isPaired = try exchange.prove() == nil
      } catch let error as ConnectionError where error.reason == .notPairing {
        sched_yield()
      }
    }
    expect(isPaired)
    expect(receiver.stop()?.kind, is: .interrupted)
  }

  @Test func `guesses in a row from one address neither end the receiver nor keep another address out`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("file", patternData(100))
    let receiver = try RunningReceiver(destination)
    _ = try receiver.events.code()
    var reasons: [AbortReason?] = []
    for _ in 0..<15 {
      var client = try StrangeClient(port: try receiver.port(), from: "127.0.0.2")
      reasons.append(try client.guess())
    }
    // The first is compared, and so is one that comes after the delay. This machine may be slow.
    expect(reasons.first == .codeMismatch && reasons.count { $0 == .codeMismatch } < 8)
    expect(reasons.allSatisfy { $0 == .codeMismatch || $0 == .busy })
    expect(receiver.events.wrongCodes, is: reasons.count { $0 == .codeMismatch })
    let exchange = try PairingExchange(try receiver.port(), try receiver.events.lastCode(), from: "127.0.0.3")
    _ = consume exchange
    _ = try send([source.at("file")], to: try receiver.port(), code: try receiver.events.lastCode())
    _ = try receiver.result()
    expect(destination.content("file"), is: patternData(100))
  }

  @Test func `a failed pairing continues with the guesses of its wait`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    var stranger = try StrangeClient(port: port, from: "127.0.0.2")
    _ = try receiver.events.code()
    expect(try stranger.guess(), is: .codeMismatch)
    var exchange = try PairingExchange(port, try receiver.events.code())
    expect(try exchange.prove() == nil)
    exchange.client.connection.close(within: .milliseconds(100))
    _ = try receiver.events.code(2)
    var other = try PairingExchange(port, try receiver.events.code(2), from: "127.0.0.4")
    expect(try other.err(), is: .codeMismatch)
    let left = receiver.events.all.compactMap { event in
      if case .wrongCode(_, _, _, let left) = event { left } else { nil }
    }
    expect(left, is: [98, 96])
    receiver.stop()
  }
}
