package import MigrationSystem

extension ListeningSocket {
  /// Waits for the next connection that sends a byte, and accepts it: a sender first connects only
  /// to check for a listener, before it asks for a code.
  package func acceptNextThatSpeaks(until deadline: BootInstant = soon()) throws -> StreamSocket {
    while true {
      let socket = try acceptNext(until: deadline)
      if try socket.speaks(until: deadline) { return socket }
    }
  }

  /// Waits for the next connection, and accepts it.
  package func acceptNext(until deadline: BootInstant = soon()) throws -> StreamSocket {
    var poller = try Poller()
    while true {
      if let socket = try accept() { return socket }
      guard try !poller.wait(for: .readable, on: raw, until: deadline).isEmpty else {
        throw TookTooLong("a connection to port \(port)")
      }
    }
  }
}

extension StreamSocket {
  /// Waits for the first byte; false if the connection ends without one.
  package func speaks(until deadline: BootInstant = soon()) throws -> Bool {
    var poller = try Poller()
    guard try !poller.wait(for: .readable, on: raw, until: deadline).isEmpty else {
      throw TookTooLong("the first word of a connection")
    }
    var first: [UInt8] = [0]
    return (try? peek(into: &first)) == 1
  }
}

/// Both ends of a connection over the loopback.
package final class ConnectedPair: Sendable {
  /// The end that connected.
  package let near: StreamSocket
  /// The end that was connected to.
  package let far: StreamSocket

  /// Connects two ends.
  package init() throws {
    let listener = try ListeningSocket(on: .loopback(port: 0))
    let near = try StreamSocket.connect(to: listener.address)
    var poller = try Poller()
    guard try !poller.wait(for: .writable, on: near.raw, until: soon()).isEmpty, try near.finishConnecting() else {
      throw TookTooLong("a connection over the loopback")
    }
    far = try listener.acceptNext()
    self.near = near
  }
}
