import Expectations
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
      expect(refusal == nil)
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
    expect(heard, is: 7)
  }
}
