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
    /// The number of first bits that the addresses on the link share with it.
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

/// Reports when links or addresses of this device come, go or change. It never blocks.
package final class InterfaceChanges: Sendable {
  private let descriptor: Descriptor

  /// Starts to listen for changes; list the interfaces afterwards, so that no change is missed.
  package init() throws(SystemError) {
    descriptor = Descriptor(
      owning: try calling("watch the network interfaces") { csystem_route_socket(csystem_interface_changes) })
  }

  /// The descriptor to wait for: readable when there are changes.
  package var raw: CInt { descriptor.raw }

  /// The reported changes.
  package struct News: Equatable, Sendable {
    /// Whether there were any changes. Listing the interfaces shows them.
    package var isAny = false
    /// The numbers of interfaces that carried no packets for a while, or were removed: the list
    /// does not show this if they are back.
    package var interrupted: Set<UInt32> = []
  }

  /// Takes the news.
  package func take() -> News {
    var news = News()
    var bytes = [UInt8](repeating: 0, count: LinkMessage.length)
    // Changes that come faster than they are read are left for a later call.
    for _ in 0..<256 {
      // Each call takes one message, of which only the beginning is needed.
      let count = unsafe bytes.withUnsafeMutableBytes { unsafe recv(raw, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT)) }
      if count == -1, errno == EAGAIN { break }
      // Also after an error: messages were lost (ENOBUFS).
      news.isAny = true
      if let link = LinkMessage(bytes.prefix(max(0, count))), link.isInterrupted { news.interrupted.insert(link.index) }
    }
    return news
  }

  /// The beginning of a message about a link: rtnetlink(7). Reads only bytes.
  struct LinkMessage: Equatable {
    /// A header and the fields that all links have.
    static let length = 32
    let index: UInt32
    /// Whether the link carries no packets, or was removed.
    let isInterrupted: Bool

    /// Nil if the message is not about a link.
    init?(_ bytes: some Collection<UInt8>) {
      let fields = RouteRecords.Fields(Array(bytes)[...])
      let kinds = [RouteRecords.Kind.link, RouteRecords.Kind.removedLink]
      guard let kind = fields.half(at: 4), kinds.contains(kind), bytes.count >= Self.length,
        let index = fields.word(at: 20), let flags = fields.word(at: 24)
      else { return nil }
      self.index = index
      isInterrupted =
        kind == RouteRecords.Kind.removedLink
        || !NetworkInterface.Flags(rawValue: flags).isSuperset(of: [.up, .running])
    }
  }
}
