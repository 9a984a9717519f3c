import CSystem
import Glibc

extension SocketAddress {
  /// The address of this device from which it reaches what lies beyond its own networks, without a port; nil if the family
  /// has no default route here, or its interface no address.
  ///
  /// No packet is sent: a socket for datagrams that is connected has chosen its own address.
  package static func ofDefaultRoute(_ family: Family) -> SocketAddress? {
    // Addresses for documentation, which no network has and no route names.
    let beyond = SocketAddress(numeric: family == .v4 ? "192.0.2.1" : "2001:db8::1", port: 9)
    guard let beyond, var address = try? ownAddress(towards: beyond), address.family == family else { return nil }
    address.port = 0
    return address
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
