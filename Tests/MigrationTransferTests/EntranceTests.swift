import Expectations
import MigrationEngine
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationTransfer

/// The connections before the lobby's engine knows them.
@Suite struct EntranceTests {
  @Test func `a connection that this device has made is a visitor only once its other end speaks`() throws {
    let other = try ListeningSocket(on: .loopback(port: 0))
    var entrance = Entrance(try ListeningSocket(on: .loopback(port: 0)), mayPair: [])
    for _ in 0...Entrance.mostSilent {
      entrance.add(reached: try StreamSocket.toThisMachine(other.port, from: "127.0.0.1"))
    }
    // The oldest has given way.
    let count = entrance.interests().count
    expect(count, is: 1 + Entrance.mostSilent)
    _ = try other.accept()
    guard let speaking = try other.accept() else { throw TookTooLong("a connection") }
    // The shortest first record of TLS.
    let hello: [UInt8] = [22, 3, 1, 0, 1, 1]
    let sent = try speaking.send(hello.span)
    expect(sent, is: hello.count)
    var poller = try Poller()
    let deadline = soon()
    while BootInstant.now() < deadline {
      var interests = entrance.interests()
      _ = try poller.wait(&interests, until: deadline)
      guard let id = entrance.speaking(interests[...]).first else { continue }
      guard case .complete? = entrance.look(at: id) else { continue }
      let (first, second) = (entrance.takeReached(id), entrance.takeReached(id))
      expect(first?.mayPair == false && second == nil)
      return
    }
    throw TookTooLong("a first record")
  }
}
