import CSystem
import Glibc

/// One end of a pair of sockets between two processes: packets arrive whole and in order, and may bring a descriptor.
package struct PacketSocket: ~Copyable, Sendable {
  /// The longest packet; the kernel's usual buffer holds several.
  package static let longestPacket = 32 << 10

  /// What one call received.
  package struct Packet: ~Copyable {
    package let bytes: [UInt8]
    package var descriptor: Descriptor?
  }

  /// How waiting for a packet ended.
  package enum Arrival: ~Copyable {
    case packet(Packet)
    /// There is none yet. Only where waiting was not wanted.
    case nothing
    /// The other end is gone.
    case end
  }

  private let descriptor: Descriptor

  /// Takes over a connected socket.
  package init(owning descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// The descriptor to wait for.
  package var raw: CInt { descriptor.raw }

  /// Gives the descriptor away.
  package consuming func release() -> Descriptor { descriptor }

  /// Another handle on the same end, so that one thread can send while another one receives.
  package func duplicate() throws(SystemError) -> PacketSocket { PacketSocket(owning: try descriptor.duplicate()) }

  /// Two ends that are connected to each other.
  package static func pair() throws(SystemError) -> Pair {
    var raw: [CInt] = [-1, -1]
    try perform("make a pair of sockets") { unsafe csystem_packet_pair(&raw) }
    return Pair(
      one: PacketSocket(owning: Descriptor(owning: raw[0])), other: PacketSocket(owning: Descriptor(owning: raw[1])))
  }

  /// Both ends.
  package struct Pair: ~Copyable {
    fileprivate var one: PacketSocket?
    fileprivate var other: PacketSocket?

    /// Gives an end away, once.
    package mutating func takeOne() -> PacketSocket { one.take()! }
    /// Gives an end away, once.
    package mutating func takeOther() -> PacketSocket { other.take()! }
  }

  /// Sends a packet, and with it a copy of a descriptor; false if there is no room and waiting is not wanted.
  package func send(_ bytes: [UInt8], passing passed: CInt? = nil, waiting: Bool = true) throws(SystemError) -> Bool {
    precondition(bytes.count <= Self.longestPacket, "a packet has a longest size")
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

  /// Whether there is something to receive within a time that is shorter than going to sleep and being woken takes; other
  /// threads that could run have their turn meanwhile.
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
    // Nobody sends empty packets.
    if count == 0 { return .end }
    bytes.removeSubrange(count...)
    return .packet(Packet(bytes: bytes, descriptor: descriptor))
  }
}
