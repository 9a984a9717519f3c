import Expectations
import Glibc
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Many exchanges of one code at a time, of which the receiver judges no more than it says.
@Suite struct GuessingTests {
  /// Brings `count` exchanges to just before CONF_A, and then lets all of them confirm at once.
  /// Returns the receiver's answers, nil where it accepts one.
  ///
  /// Each comes from an address of its own, or all from one.
  private func guess(
    _ count: Int, _ receiver: RunningReceiver, right: Bool, sharing: Bool = false
  ) throws -> [AbortReason?] {
    let (port, code) = (try receiver.port(), try receiver.events.code())
    let reasons = Condition<[AbortReason?]>([])
    let ready = Condition(0)
    let go = Outcome<Void>(of: "the moment to guess")
    var threads: [RunningThread<Void>] = []
    defer { go.set(()) }
    for number in 0..<count {
      threads.append(
        try RunningThread("guesser") {
          let host = "127.0.0.\(sharing ? 2 : number + 2)"
          guard var client = try? StrangeClient(port: port, from: host), let shares = try? client.exchangeShares(code)
          else {
            return
          }
          ready.withLock { $0 += 1 }
          ready.broadcast()
          _ = try? go.wait()
          let confirmation = right ? shares.confirmA : [UInt8](repeating: 9, count: 32)
          let reason = try client.confirm(confirmation)
          reasons.withLock { $0.append(reason) }
        })
    }
    _ = try ready.wait(for: "that all are about to guess") { $0 == count ? true : nil }
    go.set(())
    for thread in threads { try thread.value() }
    return reasons.withLock { $0 }
  }

  @Test func `twenty guesses at once get three comparisons and no more`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let reasons = try guess(20, receiver, right: false)
    expect(reasons.count { $0 == .codeMismatch }, is: 3)
    expect(reasons.count { $0 == .codeExpired }, is: 17)
    expect(receiver.events.wrongCodes, is: 3)
    let attempts = receiver.events.all.compactMap { event in
      if case .wrongCode(let attempt, 3, _, _) = event { attempt } else { nil }
    }
    expect(attempts.sorted(), is: [1, 2, 3])
    receiver.stop()
  }

  @Test func `twenty guesses at once from one address get one comparison and no more`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let reasons = try guess(20, receiver, right: false, sharing: true)
    expect(reasons.count { $0 == .codeMismatch }, is: 1)
    expect(reasons.count { $0 == .busy }, is: 19)
    expect(receiver.events.wrongCodes, is: 1)
    receiver.stop()
  }

  @Test func `of six right confirmations at once one pairs`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let reasons = try guess(6, receiver, right: true)
    expect(reasons.count { $0 == nil }, is: 1)
    expect(reasons.count { $0 == .codeExpired }, is: 5)
    expect(receiver.events.wrongCodes, is: 0)
    receiver.stop()
  }

  @Test func `a late wrong guess at an old code does no harm to the new one`() {
    var receiver = PlayedReceiver()
    let (late, _) = receiver.ask(.pair, from: "192.0.2.1")
    // While the last guess is on its way, others burn the code and another is shown.
    for number in 2...4 { expect(receiver.guess(from: "192.0.2.\(number)"), is: .codeMismatch) }
    expect(receiver.codes, is: 2)
    expect(receiver.prove(late, isRight: false), is: .codeExpired)
    receiver.now += 60
    expect(receiver.guess(from: "192.0.2.5", isRight: true) == nil)
    expect(receiver.actions.contains { if case .confirm = $0 { true } else { false } })
  }

  @Test func `an address outside of the ranges is refused, and told of once, of few`() {
    var receiver = PlayedReceiver()
    expect(PlayedReceiver.reason(receiver.ask(.pair, from: "192.0.2.127").1) == nil)
    for number in 128...255 {
      for _ in 1...2 {
        let (id, said) = receiver.ask(.pair, from: "192.0.2.\(number)", mayPair: false)
        expect(PlayedReceiver.reason(said), is: .notPairing)
        receiver.feed(.departed(id))
      }
    }
    let notices = receiver.actions.compactMap { if case .tell(.notice(let text), _, _) = $0 { text } else { nil } }
    expect(notices.count, is: 8)
    expect(notices.first, is: "192.0.2.128 wants to pair, and is not allowed to")
  }

  @Test func `only addresses in the ranges of the user may pair`() throws {
    var names = ConnectionListener.RemoteNames(mayPair: [try AddressRange.parse("192.0.2.0/25")])
    let inside = try #require(SocketAddress(numeric: "192.0.2.127", port: 1))
    expect(names.remote(at: inside).mayPair)
    let outside = try #require(SocketAddress(numeric: "192.0.2.128", port: 1))
    expect(!names.remote(at: outside).mayPair)
    expect(names.remote(at: outside).address, is: "192.0.2.128:1")
  }
}
