import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// The control connection by itself.
@Suite struct LinkTests {
  @Test func `messages from before the other end's exit are heard, although it can receive nothing any more`() throws {
    let receiver = try StrangeReceiver()
    let (port, code) = (receiver.port, receiver.code)
    let mayGo = Outcome<Void>(of: "that something lies unread at the client")
    let client = try RunningThread("client") {
      var client = try StrangeClient(port: port)
      let confirmations = try client.exchangeShares(code)
      let refusal = try client.confirm(confirmations.confirmA)
      #expect(refusal == nil)
      try client.connection.say(.ready, until: soon())
      try mayGo.wait(until: soon())
      // Bytes that it has not read make its end a reset.
      try client.say(ControlMessage.ping(7).frame)
    }
    var control = try receiver.pair()
    control.control.say(.ping(1))
    try control.passOn()
    mayGo.set(.success(()))
    try client.value()
    control.control.say(.ping(2))
    let heard = try control.next { message -> UInt64? in if case .ping(let token) = message { token } else { nil } }
    #expect(heard == 7)
  }

  // MARK: Bytes as they may come

  private func directory() throws -> [UInt8] {
    var frame = StrangeFrame()
    frame.item(try record("root", .directory))
    return frame.frame(0)
  }

  /// A client that comes back as one that has paired, up to where it says READY.
  private func client(_ mode: ConnectionMode, _ port: UInt16, as identity: Identity) throws -> StrangeClient {
    var client = try StrangeClient(port: port, identity: identity)
    try client.connection.say(.clientHello(versions: 1...1, mode: mode), until: soon())
    _ = try client.connection.pairingFrame(until: soon())
    return client
  }

  @Test func `READY and the next frame may come in one record, on a data stream as well`() throws {
    let receiver = try RunningReceiver(try Scratch(), giveUpAfter: 60)
    let port = try receiver.port()
    let paired = try StrangeClient(port: port).pair(try receiver.events.code())
    let identity = paired.identity
    var returning = try client(.resume, port, as: identity)
    try returning.say(
      PairingFrame.ready.bytes + StrangeSender.greeting.frame + StrangeSender.offer([Attack.root]).frame)
    var sender = StrangeSender(control: BlockingLink(returning.connection, pace: .patient), identity: identity)
    let accept = try #require(try sender.next { if case .accept(let accept) = $0 { accept } else { nil } })
    _ = try sender.next { if case .heldEnd = $0 { true } else { nil } }
    var stream = try client(.join, port, as: identity)
    try stream.say(
      PairingFrame.ready.bytes + StreamMessage.join(Join(session: accept.session, stream: 0)).frame()
        + (try directory()))
    #expect(try stream.connection.readExactly(1, until: soon()) == [FrameType.ack.rawValue])
    _ = consume paired
    receiver.stop()
  }

  @Test func `a sender that says one byte at a time is understood`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var client = try StrangeClient(port: try receiver.port())
    let confirmations = try client.exchangeShares(try receiver.events.code())
    let refusal = try client.confirm(confirmations.confirmA)
    #expect(refusal == nil)
    let words = PairingFrame.ready.bytes + StrangeSender.greeting.frame + StrangeSender.offer([Attack.root]).frame
    for byte in words { try client.say([byte]) }
    let identity = client.identity
    var sender = StrangeSender(control: BlockingLink(client.connection, pace: .patient), identity: identity)
    let accept = try sender.next { if case .accept(let accept) = $0 { accept } else { nil } }
    #expect(accept != nil)
    sender.control.close()
    receiver.stop()
  }
}
