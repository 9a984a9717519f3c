import CSystem
import Glibc

extension SocketAddress {
  /// The address of this device from which it reaches other networks, without a port; nil if the
  /// family has no default route here, or its interface has no address.
  ///
  /// No packet is sent: a connected datagram socket has chosen its own address.
  package static func ofDefaultRoute(_ family: Family) -> SocketAddress? {
    // Networks for documentation and for benchmarks, to which only the default route leads; if a
    // laboratory uses one of them, the other two outvote it.
    let beyond =
      family == .v4 ? ["192.0.2.1", "198.51.100.1", "203.0.113.1"] : ["2001:db8::1", "3fff::1", "2001:2::1"]
    let own = beyond.compactMap { text in
      SocketAddress(numeric: text, port: 9).flatMap { try? ownAddress(towards: $0) }
    }
    return own.first { candidate in own.count { $0.bytes == candidate.bytes } > 1 }
      .map { SocketAddress(family: $0.family, bytes: $0.bytes, scope: $0.scope, port: 0) }
  }

  /// The source address of datagrams from this device to another address.
  package static func ownAddress(towards other: SocketAddress) throws(SystemError) -> SocketAddress {
    let operation = "find a route to"
    let socket = Descriptor(
      owning: try calling(operation, other.hostDescription) { csystem_datagram_socket(other.family.number) })
    try perform(operation, other.hostDescription) {
      unsafe other.withKernelForm { unsafe connect(socket.raw, $0, $1) }
    }
    return try unsafe SocketAddress.read(operation) { unsafe getsockname(socket.raw, $0, $1) }.address
  }
}
