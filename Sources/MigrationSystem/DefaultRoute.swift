import CSystem
import Glibc

extension SocketAddress {
  /// The address of this device from which it reaches what lies beyond its own networks, without a port; nil if the family
  /// has no default route here, or its interface no address.
  ///
  /// No packet is sent: a socket for datagrams that is connected has chosen its own address.
  package static func ofDefaultRoute(_ family: Family) -> SocketAddress? {
    // Networks for documentation and for measuring, which no route but the default one leads to; where a laboratory has one
    // of them, the other two outvote it.
    let beyond =
      family == .v4 ? ["192.0.2.1", "198.51.100.1", "203.0.113.1"] : ["2001:db8::1", "3fff::1", "2001:2::1"]
    let own = beyond.compactMap { text in
      SocketAddress(numeric: text, port: 9).flatMap { try? ownAddress(towards: $0) }
    }
    return own.first { candidate in own.count { $0.bytes == candidate.bytes } > 1 }
      .map { SocketAddress(family: $0.family, bytes: $0.bytes, scope: $0.scope, port: 0) }
  }

  /// The address of this device from which datagrams to another address would be sent.
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
