import MigrationChannel
package import MigrationCredentials
package import MigrationSystem

/// Answers one program, in a process of its own: the requests that come by its socket, until the last process that has the other
/// end closes it.
///
/// Each request is a packet with a socket, by which the answer goes. Nothing that comes ends the process: what is no request is
/// refused, or left without an answer where nothing leads to who asked.
package struct CredentialBroker<Storage: CredentialStorage>: ~Copyable {
  /// How long an answer waits for a reader that takes nothing, and how long after one that took nothing at all: the next one who
  /// asks is not to wait for a thousand of them.
  private static var patience: (usual: Duration, short: Duration) { (.seconds(2), .milliseconds(5)) }

  private let service: CredentialService<Storage>
  private let socket: PacketSocket
  private var wait = Self.patience.usual

  package init(for principal: CredentialPrincipal, storage: Storage, at socket: consuming PacketSocket) {
    service = CredentialService(for: principal, storage: storage)
    self.socket = socket
  }

  /// Answers until the socket has ended.
  package mutating func serve() {
    var isOpen = true
    while isOpen {
      do throws(SystemError) {
        isOpen = try answerNext()
      } catch {
        // What is no packet of ours is left without an answer.
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
      // Without a way back it is not looked at.
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
      // The program has gone, what it passed is no socket, or it takes nothing.
      if BootInstant.now() >= deadline { wait = Self.patience.short }
    }
  }
}

extension CredentialBroker {
  /// Starts the process that answers a program, and returns the other end of its socket, which nothing inherits yet.
  ///
  /// The calling process has no other thread. What it knows of secrets, the new one has: so it knows none.
  package static func start(
    for principal: CredentialPrincipal, storage: Storage
  ) throws(SystemError) -> Descriptor {
    var pair = try PacketSocket.pair()
    let end = pair.takeOther()
    try CurrentProcess.detach(named: "peer-broker", with: pair.takeOne()) { socket in
      // Before anything secret is read.
      guard (try? CurrentProcess.keepMemorySecret()) != nil else { return }
      var broker = CredentialBroker(for: principal, storage: storage, at: socket)
      broker.serve()
    }
    return end.release()
  }
}
