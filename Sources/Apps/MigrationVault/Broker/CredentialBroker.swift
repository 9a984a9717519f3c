package import MigrationCredentials
package import MigrationSystem

/// Answers the requests of one program, in a separate process. The requests come by its socket,
/// until the last process that has the other end closes it.
///
/// Each request is a packet with a socket for the answer. No packet ends the process: it refuses a
/// packet that is not a request, and leaves it without an answer if the packet has no socket.
package struct CredentialBroker<Storage: CredentialStorage>: ~Copyable {
  /// The time for which an answer waits for a reader that takes nothing, and the shorter time after
  /// a reader that took nothing at all. The next request must not wait for a thousand such readers.
  private static var patience: (usual: Duration, short: Duration) { (.seconds(2), .milliseconds(5)) }

  private let service: CredentialService<Storage>
  private let socket: PacketSocket
  private var wait = Self.patience.usual

  package init(for principal: CredentialPrincipal, storage: Storage, at socket: consuming PacketSocket) {
    service = CredentialService(for: principal, storage: storage)
    self.socket = socket
  }

  /// Answers requests until the socket has ended.
  package mutating func serve() {
    var isOpen = true
    while isOpen {
      do throws(SystemError) {
        isOpen = try answerNext()
      } catch {
        // A packet of another form gets no answer.
        isOpen = error.isMalformedPacket
      }
    }
  }

  /// Waits for a request and answers it; false if the socket has ended.
  private mutating func answerNext() throws(SystemError) -> Bool {
    let arrival = try socket.receive()
    switch consume arrival {
    case .nothing: break
    case .end: return false
    case .packet(var packet):
      // The broker ignores a packet without a way back.
      guard let reply = packet.descriptor.take() else { break }
      answer(packet.bytes, at: PacketSocket(owning: reply))
    }
    return true
  }

  private mutating func answer(_ request: [UInt8], at socket: consuming PacketSocket) {
    let messages = service.answer(request, now: .coarseNow())
    let channel = Channel(socket)
    let deadline = BootInstant.now().advanced(by: wait)
    do throws(SystemError) {
      for message in messages { try channel.send(message, until: deadline) }
      wait = Self.patience.usual
    } catch {
      // The program has ended, has passed another descriptor than a socket, or takes nothing.
      if BootInstant.now() >= deadline { wait = Self.patience.short }
    }
  }

  /// Starts the process that answers a program, and returns the other end of its socket, which no
  /// process inherits yet.
  ///
  /// The calling process has no other thread. It must know no secrets, since the new process would
  /// have them too.
  package static func start(
    for principal: CredentialPrincipal, storage: Storage
  ) throws(SystemError) -> Descriptor {
    var pair = try PacketSocket.pair()
    let end = pair.takeOther()
    try CurrentProcess.detach(named: "peer-broker", with: pair.takeOne()) { socket in
      // This comes before the process reads any secret.
      do throws(SystemError) {
        try CurrentProcess.forbidCores()
        try CurrentProcess.keepMemorySecret()
      } catch {
        return
      }
      var broker = CredentialBroker(for: principal, storage: storage, at: socket)
      broker.serve()
    }
    return end.release()
  }
}
