import CSystem
import Glibc

/// One end of a socket pair between two processes: packets arrive whole and in order, and may carry
/// a descriptor.
package struct PacketSocket: ~Copyable, Sendable {
  /// The longest packet; the kernel's default buffer holds several.
  package static let longestPacket = 32 << 10

  /// The bytes of a packet or a message, and the descriptor that came with them.
  package struct Packet: ~Copyable {
    package let bytes: [UInt8]
    package var descriptor: Descriptor?
  }

  /// The result of waiting for a packet, or for a message of a channel.
  package enum Arrival: ~Copyable {
    case packet(Packet)
    /// There is no packet yet; only if `waiting` is false.
    case nothing
    /// The other end is closed.
    case end
  }

  private let descriptor: Descriptor

  /// Takes ownership of a connected socket.
  package init(owning descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// The descriptor to wait for.
  package var raw: CInt { descriptor.raw }

  /// Gives the descriptor away.
  package consuming func release() -> Descriptor { descriptor }

  /// Another handle on the same end, so that one thread can send while another one receives.
  package func duplicate() throws(SystemError) -> PacketSocket { PacketSocket(owning: try descriptor.duplicate()) }

  /// Two connected ends.
  package static func pair() throws(SystemError) -> Pair {
    var raw: [CInt] = [-1, -1]
    try perform("create a pair of sockets") { unsafe csystem_packet_pair(&raw) }
    return Pair(
      one: PacketSocket(owning: Descriptor(owning: raw[0])), other: PacketSocket(owning: Descriptor(owning: raw[1])))
  }

  /// Both ends.
  package struct Pair: ~Copyable {
    fileprivate var one: PacketSocket?
    fileprivate var other: PacketSocket?

    /// Gives one end away, once.
    package mutating func takeOne() -> PacketSocket { one.take()! }
    /// Gives one end away, once.
    package mutating func takeOther() -> PacketSocket { other.take()! }
  }

  /// Sends a packet, and with it a copy of a descriptor; false if there is no space and `waiting`
  /// is false.
  package func send(_ bytes: [UInt8], passing passed: CInt? = nil, waiting: Bool = true) throws(SystemError) -> Bool {
    precondition(bytes.count <= Self.longestPacket, "a packet has at most the longest size")
    do {
      _ = try calling("send a packet") {
        unsafe bytes.withUnsafeBytes { buffer in
          unsafe csystem_send_packet(raw, buffer.baseAddress, buffer.count, passed ?? -1, waiting ? 1 : 0)
        }
      }
      return true
    } catch  where error.isWouldBlock {
      return false
    }
  }

  /// Whether there is a packet to receive within a time that is shorter than sleeping and waking
  /// takes; meanwhile other runnable threads get their turn.
  package func isReadable(withinNanoseconds time: Int64) -> Bool {
    var record = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
    let end = BootInstant.now().nanoseconds + time
    repeat {
      if unsafe poll(&record, 1, 0) != 0 { return true }
      sched_yield()
    } while BootInstant.now().nanoseconds < end
    return false
  }

  /// Receives a packet.
  package func receive(waiting: Bool = true) throws(SystemError) -> Arrival {
    var passed: CInt = -1
    var bytes = [UInt8](repeating: 0, count: Self.longestPacket)
    let count: Int
    do {
      count = try calling("receive a packet") {
        unsafe bytes.withUnsafeMutableBytes { buffer in
          unsafe csystem_receive_packet(raw, buffer.baseAddress, buffer.count, &passed, waiting ? 1 : 0)
        }
      }
    } catch  where error.isWouldBlock {
      return .nothing
    } catch  where error.isConnectionLost {
      return .end
    }
    let descriptor = passed >= 0 ? Descriptor(owning: passed) : nil
    // The other end never sends empty packets.
    if count == 0 { return .end }
    bytes.removeSubrange(count...)
    return .packet(Packet(bytes: bytes, descriptor: descriptor))
  }
}
