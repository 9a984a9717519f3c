import Expectations
import Glibc
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationPage

/// What the server answers, on real connections.
@Suite struct PageServerTests {
  /// A program that keeps what it is asked for.
  private final class Keeper: PageProgram {
    let events: PageEvents
    let calls = Mutex<[Call]>([])
    let isRunning = Mutex(true)
    let ends = Mutex(0)
    let opened = Condition<[String]>([])
    let wants = Mutex(false)

    init() throws { events = try PageEvents() }

    func content(of file: Route.PageFile) -> [UInt8]? { file == .page ? Array("page".utf8) : nil }

    func perform(_ call: Call, _ form: [String: String]) -> Status {
      calls.withLock { $0.append(call) }
      return form["refused"] == nil ? .done : .conflict
    }

    func isNeeded(isShown: Bool) -> Bool { isRunning.withLock { $0 } }

    func wantsPage(isShown: Bool) -> Bool { wants.withLock { exchange(&$0, with: false) } && !isShown }

    func open(_ address: String) {
      opened.withLock { $0.append(address) }
      opened.broadcast()
    }

    func endTickets() { ends.withLock { $0 += 1 } }
  }

  /// What a server tells of itself.
  private struct Facts: Sendable {
    let port: UInt16
    let secret: String
    let ticket: String
  }

  /// A server on a thread of its own.
  private final class Served {
    let keeper: Keeper
    let stop: Wakeup
    let thread: OwnerThread
    let port: UInt16
    let secret: String
    let ticket: String

    init(owner: UInt32 = CurrentProcess.effectiveUserID) throws {
      let (keeper, stop) = (try Keeper(), try Wakeup())
      let facts = Condition<Facts?>(nil)
      thread = try OwnerThread(name: "page") {
        guard var server = try? PageServer(keeper, owner: owner), let address = try? server.newAddress() else { return }
        let found = Facts(
          port: server.port, secret: server.secret, ticket: String(address.drop { $0 != "#" }.dropFirst()))
        facts.withLock { $0 = found }
        facts.broadcast()
        _ = try? server.run(until: stop.raw)
      }
      let found = try #require(facts.wait(until: .now() + .seconds(30)) { $0 })
      (port, secret, ticket) = (found.port, found.secret, found.ticket)
      (self.keeper, self.stop) = (keeper, stop)
    }

    deinit {
      stop.signal()
      thread.join()
    }

    /// Sends bytes, and returns all that comes until the end; nil without a connection.
    func ask(_ text: String) throws -> String {
      let socket = try StreamSocket.connect(to: .loopback(port: port))
      var poller = try Poller()
      let deadline = BootInstant.now() + .seconds(30)
      _ = try poller.wait(for: .writable, on: socket.raw, until: deadline)
      _ = try? socket.send(Array(text.utf8).span)
      var answer: [UInt8] = []
      while BootInstant.now() < deadline {
        guard try !poller.wait(for: .readable, on: socket.raw, until: deadline).isEmpty else { break }
        var buffer = [UInt8](repeating: 0, count: 4096)
        var memory = buffer.mutableSpan
        guard let count = try? socket.receive(into: &memory), count > 0 else { break }
        answer += buffer[..<count]
        // A stream of events has no end.
        if String(decoding: answer, as: UTF8.self).contains("{\"last\"") { break }
      }
      return String(decoding: answer, as: UTF8.self)
    }

    func request(_ line: String, _ fields: String...) -> String {
      ([line + " HTTP/1.1", "Host: 127.0.0.1:\(port)"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }

    var origin: String { "Origin: http://127.0.0.1:\(port)" }
    var key: String { "X-Peer-Secret: \(secret)" }
  }

  private func status(_ answer: String) -> Int? { Int(answer.split(separator: " ").dropFirst().first ?? "") }

  @Test func `a page exchanges its ticket, once`() throws {
    let served = try Served()
    let request = served.request("POST /exchange", served.origin, "X-Peer-Ticket: \(served.ticket)")
    let answer = try served.ask(request)
    expect(answer.hasSuffix("\r\n\r\n\(served.secret)"))
    expect(status(try served.ask(request)), is: 403)
    expect(served.keeper.ends.withLock { $0 }, is: 1)
  }

  @Test func `a page that was closed for the move is opened again, by a ticket that works`() throws {
    let served = try Served()
    served.keeper.wants.withLock { $0 = true }
    served.keeper.events.add("{}")
    let address = try #require(served.keeper.opened.wait(until: .now() + .seconds(30)) { $0.first })
    let ticket = address.drop { $0 != "#" }.dropFirst()
    expect(status(try served.ask(served.request("POST /exchange", served.origin, "X-Peer-Ticket: \(ticket)"))), is: 200)
  }

  @Test func `without the secret there are no events, no effects and no tickets`() throws {
    let served = try Served()
    expect(status(try served.ask(served.request("GET /events"))), is: 403)
    for call in Call.allCases.map({ "/\($0.rawValue)" }) + ["/ticket"] {
      expect(status(try served.ask(served.request("POST \(call)", served.origin))), is: 403)
      expect(status(try served.ask(served.request("POST \(call)", served.key))), is: 421)
      expect(status(try served.ask(served.request("GET \(call)", served.key))), is: 404)
    }
    expect(served.keeper.calls.withLock { $0.isEmpty })
    expect(status(try served.ask(served.request("POST /stop", served.origin, served.key))), is: 204)
    expect(served.keeper.calls.withLock { $0 }, is: [.stop])
  }

  @Test func `another user of the machine gets nothing`() throws {
    let served = try Served(owner: CurrentProcess.effectiveUserID + 1)
    expect(try served.ask(served.request("GET /")), is: "")
  }

  @Test func `each response forbids frames, other places and guesses`() throws {
    let answer = try Served().ask("nonsense\r\n\r\n")
    for field in ["Content-Security-Policy: default-src 'none'", "X-Frame-Options: DENY", "nosniff", "no-store"] {
      expect(answer.contains(field))
    }
    expect(!answer.contains("Access-Control"))
  }

  @Test func `a page that comes late reads all events`() throws {
    let served = try Served()
    served.keeper.events.begin(with: "{\"first\":1}")
    served.keeper.events.show(progress: "{\"progress\":1}")
    served.keeper.events.show(progress: "{\"progress\":2}")
    served.keeper.events.add("{\"last\":1}")
    let answer = try served.ask(served.request("GET /events", served.key))
    expect(answer.hasSuffix("\r\n\r\n{\"first\":1}\n{\"last\":1}\n{\"progress\":2}\n"))
  }

  @Test func `many connections that say nothing do not keep a page out`() throws {
    let served = try Served()
    var sockets: [SharedDescriptor] = []
    for _ in 0..<300 {
      sockets.append(SharedDescriptor(try StreamSocket.connect(to: .loopback(port: served.port)).release()))
    }
    expect(status(try served.ask(served.request("GET /"))), is: 200)
    extendLifetime(sockets)
  }

  @Test func `the kernel names the owner of an open connection from 127.0.0.1, and of no other`() throws {
    let listener = try ListeningSocket(on: .loopback(port: 0))
    func ownerOfAccepted() throws -> UInt32? {
      var poller = try Poller()
      _ = try poller.wait(for: .readable, on: listener.raw, until: .now() + .seconds(30))
      guard let accepted = try listener.accept() else { throw SystemError(reason: "none", operation: "accept") }
      return accepted.ownerOfOtherEnd
    }
    let first = try StreamSocket.connect(to: .loopback(port: listener.port))
    expect(try ownerOfAccepted(), is: CurrentProcess.effectiveUserID)
    // Another end with the port of one of the owner's.
    let other = Descriptor(owning: socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0))
    func call(
      _ function: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt, _ address: UInt32, _ port: UInt16
    ) -> CInt {
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      (name.sin_port, name.sin_addr.s_addr) = (port.bigEndian, address.bigEndian)
      return unsafe withUnsafePointer(to: &name) { name in
        unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe function(other.raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    try #require(call({ unsafe bind($0, $1, $2) }, 0x7F00_0002, first.localAddress().port) == 0)
    try #require(call({ unsafe connect($0, $1, $2) }, 0x7F00_0001, listener.port) == 0)
    expect(try ownerOfAccepted() == nil)
    // One that is closed before it is accepted: the kernel calls it root's.
    _ = try StreamSocket.connect(to: .loopback(port: listener.port))
    expect(try ownerOfAccepted() == nil)
    extendLifetime(first)
    extendLifetime(other)
  }
}
