import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct SocketTests {
  /// Holds a value that an expectation cannot.
  private final class Held {
    let socket: StreamSocket
    init?(_ socket: consuming StreamSocket?) {
      guard let socket else { return nil }
      self.socket = socket
    }
  }

  private func receive(_ end: borrowing StreamSocket, upTo count: Int = 64) throws -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: count)
    var memory = buffer.mutableSpan
    guard let count = try end.receive(into: &memory) else { return nil }
    return Array(buffer[..<count])
  }

  @Test func `two ends communicate without blocking`() throws {
    let connection = try ConnectedPair()
    expect(try receive(connection.far) == nil)
    expect(try connection.near.send("ping".utf8.span), is: 4)
    var poller = try Poller()
    expect(try poller.wait(for: .readable, on: connection.far.raw, until: soon()), is: .readable)
    expect(try receive(connection.far), is: Array("ping".utf8))
    try connection.near.shutdownWrite()
    _ = try poller.wait(for: .readable, on: connection.far.raw, until: soon())
    expect(try receive(connection.far), is: [])
    expect(try connection.far.send("pong".utf8.span), is: 4)
    _ = try poller.wait(for: .readable, on: connection.near.raw, until: soon())
    expect(try receive(connection.near), is: Array("pong".utf8))
    expect(try connection.far.remoteAddress == connection.near.localAddress())
  }

  @Test func `a full connection accepts no more bytes, and accepts them again once it is read`() throws {
    let connection = try ConnectedPair()
    var size: CInt = 16 << 10
    let answer = setsockopt(connection.near.raw, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    expect(answer, is: 0)
    let block = [UInt8](repeating: 7, count: 64 << 10)
    var sent = 0
    while let count = try connection.near.send(block.span) { sent += count }
    expect(sent > 0)
    var poller = try Poller()
    var received = 0
    while received < sent {
      _ = try poller.wait(for: .readable, on: connection.far.raw, until: soon())
      received += try receive(connection.far, upTo: 1 << 20)?.count ?? 0
    }
    expect(try poller.wait(for: .writable, on: connection.near.raw, until: soon()).contains(.writable))
    expect(try connection.near.send(block.span) != nil)
  }

  @Test func `options are accepted`() throws {
    let connection = try ConnectedPair()
    try connection.near.setNoDelay()
    try connection.near.setUserTimeout(.seconds(30))
  }

  @Test func `a refused connection is reported as refused`() throws {
    let port = try HeldPort()
    let address = SocketAddress.loopback(port: port.number)
    do {
      let socket = try StreamSocket.connect(to: address)
      var poller = try Poller()
      _ = try poller.wait(for: .writable, on: socket.raw, until: soon())
      _ = try socket.finishConnecting()
      Issue.record("connected without a listener")
    } catch {
      expect(error.isConnectionRefused)
      expect("\(error)", is: "cannot connect to \(address): Connection refused")
    }
  }

  @Test func `sending to a closed end is an error and causes no signal`() throws {
    let listener = try ListeningSocket(on: .loopback(port: 0))
    let near = try StreamSocket.connect(to: listener.address)
    var poller = try Poller()
    _ = try poller.wait(for: .readable, on: listener.raw, until: soon())
    do { _ = try listener.accept() }
    _ = try poller.wait(for: .readable, on: near.raw, until: soon())
    let error = #expect(throws: SystemError.self) {
      while true {
        _ = try near.send("x".utf8.span)
        _ = try poller.wait(for: [], on: near.raw, until: soon())
      }
    }
    expect(error?.isConnectionLost, is: true)
  }

  @Test func `without a host both IPv4 and IPv6 are listened on, and IPv4 addresses are shown as such`() throws {
    let listener = try ListeningSocket(host: nil, port: 0)
    expect(listener.port != 0)
    _ = try StreamSocket.connect(to: .loopback(port: listener.port))
    var poller = try Poller()
    _ = try poller.wait(for: .readable, on: listener.raw, until: soon())
    let accepted = try #require(Held(try listener.accept()))
    expect(accepted.socket.remoteAddress.hostDescription, is: "127.0.0.1")
    expect(Held(try listener.accept()) == nil)
  }

  @Test func `a port that is taken is reported as such`() throws {
    let listener = try ListeningSocket(on: .loopback(port: 0))
    let address = listener.address
    let error = #expect(throws: SystemError.self) { _ = try ListeningSocket(on: address) }
    expect(error?.isAddressInUse, is: true)
  }
}
