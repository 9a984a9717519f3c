import Expectations
import MigrationEngine
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationTransfer

/// The connections before the engine knows them.
@Suite struct ConnectionListenerTests {
  @Test func `a connection that this device has made is a visitor only once its other end speaks`() throws {
    let other = try ListeningSocket(on: .loopback(port: 0))
    var listener = ConnectionListener(try ListeningSocket(on: .loopback(port: 0)), mayPair: [])
    for _ in 0...ConnectionListener.mostSilent {
      listener.add(reached: try StreamSocket.toThisMachine(other.port, from: "127.0.0.1"))
    }
    // The oldest has given way.
    let count = listener.interests().count
    expect(count, is: 1 + ConnectionListener.mostSilent)
    _ = try other.accept()
    guard let speaking = try other.accept() else { throw TookTooLong("a connection") }
    // The shortest first record of TLS.
    let hello: [UInt8] = [22, 3, 1, 0, 1, 1]
    let sent = try speaking.send(hello.span)
    expect(sent, is: hello.count)
    var poller = try Poller()
    let deadline = soon()
    while BootInstant.now() < deadline {
      var interests = listener.interests()
      _ = try poller.wait(&interests, until: deadline)
      guard let id = listener.speaking(interests[...]).first else { continue }
      guard case .complete? = listener.look(at: id) else { continue }
      let (first, second) = (listener.takeReached(id), listener.takeReached(id))
      expect(first?.mayPair == false && second == nil)
      return
    }
    throw TookTooLong("a first record")
  }
}
