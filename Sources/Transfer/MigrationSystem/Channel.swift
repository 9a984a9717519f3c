/// One end of the connection between two processes: messages of any length, in packets, with
/// descriptors.
///
/// One thread receives; several may send if they take turns.
package struct Channel: ~Copyable, Sendable {
  /// The longest message. A request with all its options fits into it.
  package static let longestMessage = 2 << 20

  /// The other end has sent a packet that is no message. The description is a lower-case clause.
  package struct Malformed: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
  }

  /// The first byte of a packet.
  private enum Part: UInt8 {
    case last = 0
    case more = 1
  }

  private let socket: PacketSocket
  private var collected: [UInt8] = []

  package init(_ socket: consuming PacketSocket) { self.socket = socket }

  /// The descriptor to wait for.
  package var raw: CInt { socket.raw }

  /// Sends a message, with a copy of a descriptor. It waits while the other end does not read, and
  /// fails at the deadline.
  package func send(
    _ message: [UInt8], passing descriptor: CInt? = nil, until deadline: BootInstant? = nil
  ) throws(SystemError) {
    let size = PacketSocket.longestPacket - 1
    var rest = message[...]
    while rest.count > size {
      try send(packet: [Part.more.rawValue] + rest.prefix(size), nil, until: deadline)
      rest = rest.dropFirst(size)
    }
    try send(packet: [Part.last.rawValue] + rest, descriptor, until: deadline)
  }

  private func send(packet: [UInt8], _ descriptor: CInt?, until deadline: BootInstant?) throws(SystemError) {
    while try !socket.send(packet, passing: descriptor, waiting: deadline == nil) {
      var poller = try Poller()
      guard try !poller.wait(for: .writable, on: raw, until: deadline).isEmpty else {
        throw SystemError(reason: "the other end does not read", operation: "send a packet")
      }
    }
  }

  /// The time, in nanoseconds, for which waiting awake for an answer pays: the other end's time for
  /// a small file.
  private static let promptness: Int64 = 100_000

  /// Waits awake for the time of a prompt answer; returns whether a message has arrived.
  package func awaitPromptly() -> Bool { socket.isReadable(withinNanoseconds: Self.promptness) }

  /// Receives a message. Throws `Malformed`, or a `SystemError` of the kernel.
  package mutating func receive(waiting: Bool = true) throws -> PacketSocket.Arrival {
    while true {
      let arrival = try socket.receive(waiting: waiting)
      switch consume arrival {
      case .nothing: return .nothing
      case .end: return .end
      case .packet(var packet):
        guard let kind = packet.bytes.first.flatMap({ Part(rawValue: $0) }) else {
          throw Malformed("a packet of the channel is of unknown kind")
        }
        guard collected.count + packet.bytes.count <= Self.longestMessage else {
          throw Malformed("a message of the channel is too long")
        }
        // Only a full packet may precede another one, so that a message ends soon.
        guard kind == .last || packet.bytes.count == PacketSocket.longestPacket else {
          throw Malformed("a packet of the channel is too short")
        }
        collected += packet.bytes.dropFirst()
        if kind == .more { continue }
        let message = collected
        collected = []
        return .packet(PacketSocket.Packet(bytes: message, descriptor: packet.descriptor.take()))
      }
    }
  }
}
