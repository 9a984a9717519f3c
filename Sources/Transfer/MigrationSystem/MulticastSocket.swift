import CSystem
import Glibc

/// A UDP socket that receives a multicast group's packets on one interface, and sends to the group
/// from its port. It never blocks.
///
/// It is bound to the group and not to all addresses, so that packets to this device's own
/// addresses still reach the program that has received them so far: avahi-daemon, systemd-resolved.
/// Each interface has its own socket, which does not receive the packets of others.
package final class MulticastSocket: Sendable {
  /// The most datagrams that one call receives.
  package static let longestBatch = 32

  private let descriptor: Descriptor
  private let group: SocketAddress
  /// The interface's number.
  package let interface: UInt32

  /// Joins a group, whose port is shared with all other programs that share it.
  package init(group: SocketAddress, interface: UInt32) throws(SystemError) {
    let scope = group.family == .v6 ? interface : 0
    let group = SocketAddress(family: group.family, bytes: group.bytes, scope: scope, port: group.port)
    let operation = "listen on"
    let socket = Descriptor(
      owning: try calling(operation, group.description) { csystem_datagram_socket(group.family.number) })
    try socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
    try perform(operation, group.description) {
      csystem_prepare_multicast(socket.raw, group.family.number, interface)
    }
    do throws(SystemError) {
      try Self.bind(socket, to: group)
    } catch  where error.isAddressInUse {
      // The program that has the port may share it only in this way; then all of them must belong
      // to one user.
      try socket.setOption(SOL_SOCKET, SO_REUSEPORT, 1)
      try Self.bind(socket, to: group)
    }
    try perform(operation, group.description) {
      unsafe group.withKernelForm { unsafe csystem_join_group(socket.raw, interface, $0, $1) }
    }
    descriptor = socket
    self.group = group
    self.interface = interface
  }

  private static func bind(_ socket: borrowing Descriptor, to group: SocketAddress) throws(SystemError) {
    try perform("listen on", group.description) {
      unsafe group.withKernelForm { unsafe Glibc.bind(socket.raw, $0, $1) }
    }
  }

  /// The descriptor to wait for.
  package var raw: CInt { descriptor.raw }

  /// Sends a datagram through the interface: to the group, or to one address.
  package func send(_ bytes: [UInt8], to address: SocketAddress? = nil) throws(SystemError) {
    _ = try calling("send") {
      unsafe bytes.withUnsafeBytes { buffer in
        unsafe (address ?? group).withKernelForm {
          unsafe csystem_send_datagram(raw, buffer.baseAddress, buffer.count, $0, $1, interface)
        }
      }
    }
  }

  /// A received datagram.
  package struct Datagram: Equatable, Sendable {
    package let bytes: [UInt8]
    package let sender: SocketAddress
    /// The number of the interface on which it arrived.
    package let interface: UInt32
    /// How many more routers could have forwarded it: 255 if none has; nil if the kernel did not
    /// report it.
    package let hopLimit: Int?
  }

  /// The memory for the datagrams of a multicast socket, reused for each batch.
  package struct Buffer: Sendable {
    private let each: Int
    private var bytes: [UInt8]
    private var found: [csystem_datagram]

    /// Memory for datagrams of up to `longest` bytes; longer datagrams are dropped.
    package init(longest: Int) {
      each = longest
      bytes = Array(repeating: 0, count: longest * MulticastSocket.longestBatch)
      found = Array(repeating: csystem_datagram(), count: MulticastSocket.longestBatch)
    }

    /// Receives the waiting datagrams, at most a batch of them, and hands over those that are
    /// complete and come from an Internet address. Returns their number.
    package mutating func receive(
      from socket: MulticastSocket, _ take: (MulticastSocket.Datagram) -> Void
    ) throws(SystemError) -> Int {
      let raw = socket.raw
      let count: CInt
      do throws(SystemError) {
        count = try calling("receive") {
          unsafe csystem_receive_datagrams(raw, &bytes, each, &found, UInt32(MulticastSocket.longestBatch))
        }
      } catch  where error.isWouldBlock {
        return 0
      }
      for index in 0..<Int(count) where found[index].is_cut == 0 {
        let sender = unsafe withUnsafeBytes(of: &found[index].sender) { buffer in
          unsafe SocketAddress(buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self))
        }
        guard let sender else { continue }
        take(
          MulticastSocket.Datagram(
            bytes: Array(bytes[index * each..<index * each + Int(found[index].size)]), sender: sender,
            interface: found[index].interface,
            hopLimit: found[index].hop_limit < 0 ? nil : Int(found[index].hop_limit)))
      }
      return Int(count)
    }
  }
}
