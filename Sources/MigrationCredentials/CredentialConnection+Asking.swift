import CCredentials
import MigrationChannel
import MigrationSystem
import MigrationWire

extension CredentialConnection {
  /// For how long a request waits for its answer. The broker answers in milliseconds, and waits itself for other programs that
  /// change the same storage.
  private static let patience = Duration.seconds(60)

  /// Asks, and waits for the answer. Any thread may ask, many at once: each has its own answer.
  ///
  /// Where there is nothing to ask, the status is `notAvailable`, and nothing has happened. Where the answer to a request did
  /// not come, it is `io`: what was to be changed may have been.
  package func ask(_ request: CredentialRequest) -> CredentialAnswer {
    let bytes = request.encoded
    switch self {
    case .none: return CredentialAnswer(.notAvailable)
    case .memory(let service):
      var answer = CredentialAnswer(.io)
      for message in service.answer(bytes, now: .coarseNow()) {
        guard let reply = try? CredentialReply(message), !answer.take(reply) else { break }
      }
      return answer
    case .broker:
      let number = ccredentials_socket()
      guard number != -1 else { return CredentialAnswer(.notAvailable) }
      guard bytes.count <= PacketSocket.longestPacket else { return CredentialAnswer(.dataTooLarge) }
      return Self.ask(bytes, by: number)
    }
  }

  private static func ask(_ bytes: [UInt8], by number: CInt) -> CredentialAnswer {
    let deadline = BootInstant.now() + patience
    do {
      return try receive(from: try send(bytes, by: number, until: deadline), until: deadline)
    } catch {
      return CredentialAnswer(error as? CredentialStatus ?? .io)
    }
  }

  /// Sends a request by the socket that this process was given, with one end of a new pair; returns the end that is answered on.
  private static func send(
    _ bytes: [UInt8], by number: CInt, until deadline: BootInstant
  ) throws(CredentialStatus) -> PacketSocket {
    do throws(SystemError) {
      let socket = PacketSocket(owning: try Descriptor.duplicate(of: number))
      var pair = try PacketSocket.pair()
      // Closes with this scope, so that the broker has the only copy: if the broker ends, the answer ends.
      let theirs = pair.takeOther()
      while try !socket.send(bytes, passing: theirs.raw, waiting: false) {
        var poller = try Poller()
        guard try !poller.wait(for: .writable, on: socket.raw, until: deadline).isEmpty else {
          throw SystemError(reason: "the broker does not read", operation: "ask for credentials")
        }
      }
      return pair.takeOne()
    } catch {
      throw .notAvailable
    }
  }

  private static func receive(
    from socket: consuming PacketSocket, until deadline: BootInstant
  ) throws -> CredentialAnswer {
    var channel = Channel(socket)
    var answer = CredentialAnswer(.io)
    var poller = try Poller()
    while true {
      switch try channel.receive(waiting: false) {
      case .message(let message):
        if answer.take(try CredentialReply(message.bytes)) { return answer }
      case .nothing:
        if try poller.wait(for: .readable, on: channel.raw, until: deadline).isEmpty { return CredentialAnswer(.io) }
      case .end: return CredentialAnswer(.io)
      }
    }
  }
}
