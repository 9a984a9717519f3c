import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTLS
@testable import MigrationTransfer

/// Newcomers that come in numbers, come slowly, or never get to the point.
@Suite struct FloodTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  /// Waits until the other end has ended a silent connection; how long that took.
  private func end(of socket: borrowing StreamSocket) throws -> Double {
    let watch = try Stopwatch()
    var poller = try Poller()
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      guard try !poller.wait(for: .readable, on: socket.raw, until: soon()).isEmpty else {
        throw TookTooLong("the end of a silent connection")
      }
      do {
        var memory = bytes.mutableSpan
        if try socket.receive(into: &memory) == 0 { break }
      } catch {
        break
      }
    }
    return watch.seconds
  }

  @Test func `a connection that never shakes hands is ended in time`() throws {
    let receiver = try RunningReceiver(try Scratch(), pace: LoopClock(speed: 10))
    let port = try receiver.port()
    let start = BootInstant.now()
    let silent = try StreamSocket.toThisMachine(port, from: "127.0.0.2")
    expect(try end(of: silent) < 5)
    expect(BootInstant.now().seconds(since: start) > 0.3)
    receiver.stop()
  }

  @Test func `a connection that shakes hands and says nothing, or too little at a time, is ended in time`() throws {
    let receiver = try RunningReceiver(try Scratch(), pace: LoopClock(speed: 5))
    let port = try receiver.port()
    let start = BootInstant.now()
    var silent = try shaken(port)
    var slow = try shaken(port)
    for byte in PairingFrame.clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair).bytes
      .prefix(8)
    {
      guard (try? slow.say([byte])) != nil else { break }
    }
    for _ in 0..<2 {
      let error = #expect(throws: ConnectionError.self) { _ = try silent.connection.readExactly(1, until: soon()) }
      expect(error?.code != .timedOut)
      swap(&silent, &slow)
    }
    expect(BootInstant.now().seconds(since: start) > 1)
    receiver.stop()
  }

  /// A client that has shaken hands. A receiver with a fast clock may give up one that a busy
  /// machine keeps waiting.
  private func shaken(_ port: UInt16) throws -> StrangeClient {
    let deadline = soon()
    while BootInstant.now() < deadline {
      if let client = try? StrangeClient(port: port) { return client }
    }
    throw TookTooLong("a handshake")
  }

  @Test func `a paired device keeps its conversation and may join streams through a flood`() throws {
    let destination = try Scratch()
    let receiver = try RunningReceiver(destination)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    let flood = Flood()
    for host in 2...200 {
      for _ in 0..<2 { flood.add(try .toThisMachine(port, from: "127.0.0.\(host)")) }
    }
    sender.control.say(.ping(7))
    let token: UInt64? = try sender.next { if case .pong(let token) = $0 { token } else { nil } }
    expect(token, is: 7)
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    let path = try ArchivePath(Array("root".utf8))
    var frame = StrangeFrame()
    frame.item(ItemRecord(path: path, generation: 1, body: .directory, mode: 0o755))
    try stream.say(frame.frame(0))
    expect(try stream.connection.readExactly(1, until: soon()), is: [FrameType.ack.rawValue])
    // The first of the flood had to go for the last of it.
    expect(try flood.first { try end(of: $0) } < 5)
    sender.control.say(.close(Close(.interrupted, "enough")))
    sender.control.close()
    expect(receiver.failure()?.kind, is: .connectionLost)
  }

  @Test func `pings without end are answered, and do not keep the receiver from stopping`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    _ = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    for token in 1...20_000 as ClosedRange<UInt64> { sender.control.say(.ping(token)) }
    var last: UInt64 = 0
    while last < 20_000 {
      last = try #require(try sender.next { if case .pong(let token) = $0 { token } else { nil } })
    }
    let watch = try Stopwatch()
    receiver.receiver.stop(.interrupted)
    let code = try sender.next { message -> Close.Code? in
      if case .close(let close) = message { return close.code }
      return nil
    }
    expect(code, is: .interrupted)
    sender.control.close()
    expect(receiver.failure()?.kind, is: .interrupted)
    expect(watch.seconds < 5)
  }

  @Test func `a sender that asks without end and never listens cannot hold the receiver`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var client = try StrangeClient(port: try receiver.port())
    let confirmations = try client.exchangeShares(try receiver.events.code())
    expect(try client.confirm(confirmations.confirmA) == nil)
    try client.connection.say(.ready, until: soon())
    _ = try receiver.events.first { if case .code = $0 { true } else { nil } }
    let pings = (0..<5000).flatMap { _ in ControlMessage.ping(1).frame }
    try client.say(StrangeSender.greeting.frame)
    let watch = try Stopwatch()
    // Until neither end takes more: the answers have no reader.
    var count = 0
    while count < 1000, (try? client.connection.writeAll(pings, until: .now().advanced(by: .milliseconds(300)))) != nil
    {
      count += 1
    }
    expect(count < 1000)
    expect(receiver.stop()?.kind, is: .interrupted)
    expect(watch.seconds < 15)
  }

  @Test func `a paired device that falls silent is given up`() throws {
    let receiver = try RunningReceiver(try Scratch(), pace: LoopClock(speed: 10))
    var sender = try greeted(receiver)
    expect(receiver.failure()?.kind, is: .connectionLost)
    sender.control.close()
  }

  /// A sender that has paired and been greeted, at the first try that a fast clock lets pass.
  private func greeted(_ receiver: RunningReceiver) throws -> StrangeSender {
    let deadline = soon()
    while BootInstant.now() < deadline {
      if var sender = try? shaken(try receiver.port()).pair(try receiver.events.lastCode()) {
        sender.control.say(StrangeSender.greeting)
        if (try? sender.next { if case .greeting = $0 { true } else { nil } }) == true { return sender }
      }
    }
    throw TookTooLong("a pairing")
  }
}

/// Connections that only wait.
private final class Flood: Sendable {
  private let sockets = Mutex<[Box]>([])

  private final class Box: Sendable {
    let socket: StreamSocket
    init(_ socket: consuming StreamSocket) { self.socket = socket }
  }

  func add(_ socket: consuming StreamSocket) {
    let box = Box(socket)
    sockets.withLock { $0.append(box) }
  }

  func first<Value>(_ body: (borrowing StreamSocket) throws -> Value) rethrows -> Value {
    let box = sockets.withLock { $0[0] }
    return try body(box.socket)
  }
}
