package import MigrationSystem

extension ListeningSocket {
  /// Waits for the next connection, and takes it.
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
