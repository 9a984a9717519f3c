import CSystem
import Glibc

/// A network interface of this device, as the kernel listed it.
package struct NetworkInterface: Hashable, Sendable {
  /// The properties of an interface.
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// It is switched on.
    package static let up = Flags(rawValue: UInt32(IFF_UP))
    /// It can carry packets: a cable is plugged in, or a network was joined.
    package static let running = Flags(rawValue: UInt32(IFF_RUNNING))
    /// It leads only to this device.
    package static let loopback = Flags(rawValue: UInt32(IFF_LOOPBACK))
    /// It leads to one other device: a tunnel.
    package static let pointToPoint = Flags(rawValue: UInt32(IFF_POINTOPOINT))
    /// One packet reaches several devices.
    package static let multicast = Flags(rawValue: UInt32(IFF_MULTICAST))
  }

  /// An address of this device on an interface.
  package struct Address: Hashable, Sendable {
    /// The address, without a port; a link-local IPv6 address includes the interface.
    package let address: SocketAddress
    /// How many first bits the addresses on the link share with it.
    package let prefix: Int
    /// Whether it can receive packets: the kernel has made sure that no other device has it.
    package let isReady: Bool
    /// Whether only existing connections should use it.
    package let isDeprecated: Bool

    package init(_ address: SocketAddress, prefix: Int, isReady: Bool = true, isDeprecated: Bool = false) {
      self.address = address
      self.prefix = prefix
      self.isReady = isReady
      self.isDeprecated = isDeprecated
    }
  }

  /// The kernel's number of the interface.
  package let index: UInt32
  /// Its name: "eth0".
  package let name: String
  package let flags: Flags
  /// Whether it only carries packets for another interface, a bridge or a bond.
  package let isPort: Bool
  /// Whether it is virtual, such as a bridge or one end of a cable to a guest, and not a device.
  package let isMadeUp: Bool
  /// Its addresses, in the kernel's order.
  package let addresses: [Address]

  package init(
    index: UInt32, name: String, flags: Flags, isPort: Bool = false, isMadeUp: Bool = false, addresses: [Address]
  ) {
    self.index = index
    self.name = name
    self.flags = flags
    self.isPort = isPort
    self.isMadeUp = isMadeUp
    self.addresses = addresses
  }

  /// Whether an address is in one of the networks of the interface's addresses.
  package func isOnLink(_ address: SocketAddress) -> Bool {
    addresses.contains { AddressRange($0.address, bits: $0.prefix).contains(address) }
  }
}

extension NetworkInterface {
  private static let operation = "list the network interfaces"

  /// All current interfaces, by their numbers.
  package static func all() throws(SystemError) -> [NetworkInterface] {
    let socket = Descriptor(owning: try calling(operation) { csystem_route_socket(0) })
    var records = RouteRecords()
    // A list that changed while it was read is read again; the third attempt is used in any case,
    // because the change is reported as well.
    for _ in 0..<3 {
      records = RouteRecords()
      try read(.links, from: socket, into: &records)
      try read(.addresses, from: socket, into: &records)
      if !records.isInterrupted { break }
    }
    return records.interfaces
  }

  private enum Question: CInt {
    case links = 0
    case addresses = 1
  }

  private static func read(
    _ question: Question, from socket: borrowing Descriptor, into records: inout RouteRecords
  ) throws(SystemError) {
    try perform(operation) { csystem_ask_interfaces(socket.raw, question.rawValue) }
    records.begin()
    while !records.isAtEnd {
      var bytes = [UInt8](repeating: 0, count: 64 << 10)
      // The kernel has each part of its answer ready at the request.
      let count = try calling(operation) {
        unsafe bytes.withUnsafeMutableBytes { unsafe recv(socket.raw, $0.baseAddress, $0.count, 0) }
      }
      bytes.removeSubrange(count...)
      if count == 0 { return }
      records.add(bytes)
    }
    if records.failure != 0 { throw SystemError(errno: records.failure, operation: operation) }
  }
}
