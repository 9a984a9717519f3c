import CCredentials
import MigrationSystem
import MigrationWire

/// The destination of a program's requests for its credentials.
package enum CredentialConnection: Sendable {
  /// The broker that `peer app run` started for this program, if it did.
  case broker
  /// A storage in this process, for a test.
  case memory(CredentialService<MemoryCredentials>)
  /// No destination: an extension in a test has no credentials, as on a device.
  case none

  /// The tester's configuration for the current task.
  @TaskLocal package static var ofTask: CredentialConnection?

  private static let registered = Mutex<CredentialConnection?>(nil)

  /// The tester's configuration for the whole process.
  package static var ofProcess: CredentialConnection? {
    get { registered.withLock { $0 } }
    set { registered.withLock { $0 = newValue } }
  }

  /// The connection that applies to the current task.
  package static var current: CredentialConnection { ofTask ?? ofProcess ?? .broker }

  /// The time for which a request waits for its answer. The broker answers in milliseconds, but may
  /// wait for other programs that change the same storage.
  private static let patience = Duration.seconds(60)

  /// Sends a request, and waits for the answer. Many threads may ask at once: each gets its own
  /// answer.
  ///
  /// Without a broker, the status is `notAvailable`, and nothing has changed. If the answer to a
  /// request does not come, the status is `io`: the change may have been made.
  package func ask(_ request: CredentialRequest) -> Answer {
    let bytes = request.encoded
    switch self {
    case .none: return Answer(.notAvailable)
    case .memory(let service):
      var answer = Answer(.io)
      for message in service.answer(bytes, now: .coarseNow()) {
        guard let reply = try? CredentialReply(message), !answer.take(reply) else { break }
      }
      return answer
    case .broker:
      let number = ccredentials_socket()
      guard number != -1 else { return Answer(.notAvailable) }
      guard bytes.count <= PacketSocket.longestPacket else { return Answer(.dataTooLarge) }
      return Self.ask(bytes, by: number)
    }
  }

  private static func ask(_ bytes: [UInt8], by number: CInt) -> Answer {
    let deadline = BootInstant.now() + patience
    do {
      return try receive(from: try send(bytes, by: number, until: deadline), until: deadline)
    } catch {
      return Answer(error as? CredentialStatus ?? .io)
    }
  }

  /// Sends a request by this process's socket, with one end of a new pair; returns the other end,
  /// on which the answer comes.
  private static func send(
    _ bytes: [UInt8], by number: CInt, until deadline: BootInstant
  ) throws(CredentialStatus) -> PacketSocket {
    do throws(SystemError) {
      let socket = PacketSocket(owning: try Descriptor.duplicate(of: number))
      var pair = try PacketSocket.pair()
      // Closes with this scope. The broker then has the only copy: if the broker ends, the answer
      // ends.
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
  ) throws -> Answer {
    var channel = Channel(socket)
    var answer = Answer(.io)
    var poller = try Poller()
    while true {
      switch try channel.receive(waiting: false) {
      case .packet(let message):
        if answer.take(try CredentialReply(message.bytes)) { return answer }
      case .nothing:
        if try poller.wait(for: .readable, on: channel.raw, until: deadline).isEmpty { return Answer(.io) }
      case .end: return Answer(.io)
      }
    }
  }

  /// The answer to a request.
  package struct Answer: Equatable, Sendable {
    /// A requested item.
    package struct Item: Equatable, Sendable {
      package let item: CredentialItem
      /// The identifier of the program that stored it.
      package let group: String
    }

    package var status: CredentialStatus
    package var items: [Item] = []
    /// The record of the requested user.
    package var account: AccountState?

    init(_ status: CredentialStatus) { self.status = status }

    /// Adds a message; returns whether it was the last one.
    mutating func take(_ reply: CredentialReply) -> Bool {
      switch reply {
      case .item(let item, let group):
        items.append(Item(item: item, group: group))
        return false
      case .ended(let status):
        self.status = status
        return true
      case .account(let state):
        status = .success
        account = state
        return true
      }
    }
  }
}
