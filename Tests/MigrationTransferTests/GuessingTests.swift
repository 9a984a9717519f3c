import Glibc
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization
import TestSupport
import Testing

@testable import MigrationTransfer

/// Many exchanges of one code at a time, without the limits on connections: the office alone must hold.
@Suite struct GuessingTests {
  /// Serves one connection as the receiver does; the reason why it was refused.
  private static func serve(
    _ socket: consuming StreamSocket, _ context: TLSContext, _ identity: Identity, _ office: CodeOffice
  ) throws -> AbortReason? {
    var connection = try Connection(socket, context, wakeup: try Wakeup())
    try connection.handshake(until: soon())
    do {
      let (_, hello) = try ServerPairing.hello(&connection, until: soon())
      _ = try ServerPairing.pair(
        &connection, hello: hello, office: office, own: identity.fingerprint, until: soon())
      return nil
    } catch let reason as AbortReason {
      connection.abort(reason)
      return reason
    }
  }

  /// Brings `count` exchanges to just before CONF_A, and then lets all of them confirm at once; the receiver's reasons.
  ///
  /// Each comes from an address of its own, or all from one.
  private func guess(_ count: Int, _ events: Events, right: Bool, sharing: Bool = false) throws -> [AbortReason?] {
    let office = CodeOffice { events.add($0) }
    try office.issueIfWanted()
    let code = try events.code()
    let identity = try Identity.generate()
    let context = try TLSContext(role: .server, identity: identity)
    let listening = try ListeningSocket(host: "127.0.0.1", port: 0)
    let port = listening.port
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
          _ = try? client.confirm(right ? shares.confirmA : [UInt8](repeating: 9, count: 32))
        })
      let parcel = Condition<StreamSocket?>(try listening.acceptNext())
      threads.append(
        try RunningThread("server") {
          guard let socket = parcel.withLock({ $0.take() }) else { return }
          guard let reason = try? Self.serve(socket, context, identity, office) else { return }
          reasons.withLock { $0.append(reason) }
        })
    }
    _ = try ready.wait(for: "that all are about to guess") { $0 == count ? true : nil }
    go.set(())
    for thread in threads { try thread.value() }
    return reasons.withLock { $0 }
  }

  @Test func `twenty guesses at once get three comparisons and no more`() throws {
    let events = Events()
    let reasons = try guess(20, events, right: false)
    #expect(reasons.count { $0 == .codeMismatch } == 3)
    #expect(reasons.count { $0 == .codeExpired } == 17)
    #expect(events.wrongCodes == 3)
    let attempts = events.all.compactMap { if case .wrongCode(let attempt, 3, _, _) = $0 { attempt } else { nil } }
    #expect(attempts.sorted() == [1, 2, 3])
  }

  @Test func `twenty guesses at once from one address get one comparison and no more`() throws {
    let events = Events()
    let reasons = try guess(20, events, right: false, sharing: true)
    #expect(reasons.count { $0 == .codeMismatch } == 1)
    #expect(reasons.count { $0 == .busy } == 19)
    #expect(events.wrongCodes == 1)
  }

  @Test func `of six right confirmations at once one pairs`() throws {
    let events = Events()
    let reasons = try guess(6, events, right: true)
    // The one that was taken never says READY, and so is refused last of all.
    #expect(reasons.allSatisfy { $0 == .codeExpired })
    #expect(reasons.count <= 5)
    #expect(events.wrongCodes == 0)
  }

  @Test func `a late wrong guess at an old code does no harm to the new one`() throws {
    let office = CodeOffice { _ in }
    try office.issueIfWanted()
    let addresses = try (1...4).map { try #require(SocketAddress(numeric: "192.0.2.\($0)", port: 9)) }
    let old = try office.live(for: addresses[0])
    // While the last guess is compared, others burn the code and another is shown.
    let reason = office.judge(old.number, from: addresses[0]) {
      for address in addresses[1...2] { #expect(office.judge(old.number, from: address) { false } == .codeMismatch) }
      #expect((try? office.issueIfWanted()) != nil)
      return false
    }
    #expect(reason == .codeMismatch)
    let new = try soonLive(office, for: addresses[3])
    #expect(new.number != old.number)
    #expect(office.judge(new.number, from: addresses[3]) { true } == nil)
  }

  /// The code for an address, as soon as no guess of another one delays it.
  private func soonLive(_ office: CodeOffice, for address: SocketAddress) throws -> CodeOffice.Live {
    let deadline = soon()
    while true {
      do throws(AbortReason) {
        return try office.live(for: address)
      } catch {
        guard error == .busy, BootInstant.now() < deadline else { throw error }
        sched_yield()
      }
    }
  }

  @Test func `an address outside of the ranges is refused, and told of once, of few`() throws {
    let events = Events()
    let office = CodeOffice(from: [try AddressRange.parse("192.0.2.0/25")]) { events.add($0) }
    let inside = try #require(SocketAddress(numeric: "192.0.2.127", port: 1))
    #expect(office.admits(inside) && events.all.isEmpty)
    for number in 128...255 {
      let outside = try #require(SocketAddress(numeric: "192.0.2.\(number)", port: 1))
      #expect(!office.admits(outside) && !office.admits(outside))
    }
    let notices = events.all.compactMap { if case .notice(let text) = $0 { text } else { nil } }
    #expect(notices.count == 8)
    #expect(notices.first == "192.0.2.128 wants to pair, and --from does not name it")
  }
}
