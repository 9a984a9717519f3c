import Glibc

/// An Internet address and a port.
///
/// An IPv4-mapped IPv6 address, as dual-stack sockets show it, is converted to the IPv4 address.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
  /// The version of the Internet Protocol.
  package enum Family: Hashable, Sendable {
    case v4
    case v6

    var number: CInt { self == .v4 ? AF_INET : AF_INET6 }
  }

  /// The version of the Internet Protocol.
  package let family: Family
  /// Four or sixteen bytes.
  package let bytes: [UInt8]
  /// The interface of a link-local IPv6 address; zero for none.
  package let scope: UInt32
  /// The port.
  package var port: UInt16

  /// Combines the parts. IPv4 has no scope: a given scope is ignored.
  package init(family: Family, bytes: [UInt8], scope: UInt32 = 0, port: UInt16) {
    precondition(bytes.count == (family == .v4 ? 4 : 16), "an address has four or sixteen bytes")
    self.family = family
    self.bytes = bytes
    self.scope = family == .v6 ? scope : 0
    self.port = port
  }

  /// Parses a numeric address, without asking name servers.
  package init?(numeric text: String, port: UInt16) {
    var v4 = in_addr()
    var v6 = in6_addr()
    if unsafe inet_pton(AF_INET, text, &v4) == 1 {
      self.init(family: .v4, bytes: unsafe withUnsafeBytes(of: v4) { unsafe Array($0) }, port: port)
    } else if unsafe inet_pton(AF_INET6, text, &v6) == 1 {
      self.init(family: .v6, bytes: unsafe withUnsafeBytes(of: v6) { unsafe Array($0) }, port: port)
    } else {
      return nil
    }
  }

  /// This machine's loopback address.
  package static func loopback(port: UInt16) -> SocketAddress {
    SocketAddress(family: .v4, bytes: [127, 0, 0, 1], port: port)
  }

  /// The unspecified address, for every address of this machine.
  static func any(_ family: Family, port: UInt16) -> SocketAddress {
    SocketAddress(family: family, bytes: Array(repeating: 0, count: family == .v4 ? 4 : 16), port: port)
  }

  /// Whether it stands for every address of this machine.
  package var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

  /// Whether it refers to this machine.
  package var isLoopback: Bool {
    switch family {
    case .v4: bytes[0] == 127
    case .v6: bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }
  }

  /// Whether it is valid only on one network, fe80::/10 or 169.254/16.
  package var isLinkLocal: Bool {
    switch family {
    case .v4: bytes[0] == 169 && bytes[1] == 254
    case .v6: bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
    }
  }

  /// The address in figures: "192.0.2.7", "fe80::1%eth0".
  package var hostDescription: String {
    let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      unsafe inet_ntop(family.number, bytes, buffer.baseAddress!, socklen_t(buffer.count))
      return unsafe String(cString: buffer.baseAddress!)
    }
    return scope == 0 ? text : "\(text)%\(Self.interfaceName(scope))"
  }

  /// The address and the port: "192.0.2.7:47470", "[::1]:47470".
  package var description: String {
    family == .v4 ? "\(hostDescription):\(port)" : "[\(hostDescription)]:\(port)"
  }

  private static func interfaceName(_ index: UInt32) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { buffer in
      guard unsafe if_indextoname(index, buffer.baseAddress!) != nil else { return String(index) }
      return unsafe String(cString: buffer.baseAddress!)
    }
  }

  /// The addresses that share one host's quota with this address.
  ///
  /// At a distance, one host has all addresses of an IPv6 /64. On a link of this machine, and with
  /// IPv4, each address counts separately: otherwise one neighbour would use up the quota of all.
  package func network(onLink isOnLink: @autoclosure () -> Bool) -> AddressRange {
    if family == .v4 || isLinkLocal || isLoopback || isOnLink() { return AddressRange(self) }
    return AddressRange(self, bits: 64)
  }

  /// The IPv4 address in an IPv4-mapped IPv6 address; nil for any other address.
  fileprivate var mapped: SocketAddress? {
    guard family == .v6, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF else { return nil }
    return SocketAddress(family: .v4, bytes: Array(bytes[12...]), port: port)
  }

  /// The address in the form that connections show.
  fileprivate var plain: SocketAddress { mapped ?? self }
}

extension SocketAddress {
  /// The addresses of this machine's interfaces, in the kernel's order.
  package static func localAddresses(port: UInt16) throws(SystemError) -> [SocketAddress] {
    try ofInterfaces().filter(\.isUp).map { address, _, _ in
      SocketAddress(family: address.family, bytes: address.bytes, scope: address.scope, port: port)
    }
  }

  /// The addresses of this machine's interfaces with their masks, also of interfaces that are down.
  fileprivate static func ofInterfaces() throws(SystemError) -> [(address: Self, mask: Self?, isUp: Bool)] {
    var list: UnsafeMutablePointer<ifaddrs>?
    try perform("list the network interfaces") { unsafe getifaddrs(&list) }
    defer { unsafe freeifaddrs(list) }

    var found: [(address: Self, mask: Self?, isUp: Bool)] = []
    var entry = unsafe list
    while let current = unsafe entry {
      if let address = unsafe current.pointee.ifa_addr.flatMap({ unsafe SocketAddress($0) }) {
        let mask = unsafe current.pointee.ifa_netmask.flatMap { unsafe SocketAddress($0) }
        found.append((address, mask, unsafe current.pointee.ifa_flags & UInt32(IFF_UP) != 0))
      }
      unsafe entry = current.pointee.ifa_next
    }
    return found
  }

  /// Reads the kernel's format; nil if it is not an Internet address.
  init?(_ address: UnsafePointer<sockaddr>) {
    switch unsafe CInt(address.pointee.sa_family) {
    case AF_INET:
      let v4 = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
      let bytes = unsafe withUnsafeBytes(of: v4.sin_addr) { unsafe Array($0) }
      self.init(family: .v4, bytes: bytes, port: UInt16(bigEndian: v4.sin_port))
    case AF_INET6:
      let v6 = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self)
      let bytes = unsafe withUnsafeBytes(of: v6.sin6_addr) { unsafe Array($0) }
      let port = UInt16(bigEndian: v6.sin6_port)
      self = SocketAddress(family: .v6, bytes: bytes, scope: v6.sin6_scope_id, port: port).plain
    default:
      return nil
    }
  }

  /// Reads the address that a call fills in for a socket.
  static func read(
    _ operation: String, _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
  ) throws(SystemError) -> (result: CInt, address: SocketAddress) {
    var storage = sockaddr_storage()
    return try unsafe withUnsafeMutableBytes(of: &storage) {
      (buffer) throws(SystemError) -> (result: CInt, address: SocketAddress) in
      let address = unsafe buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      let result = try calling(operation) {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe call(address, &length)
      }
      return unsafe (result, SocketAddress(address) ?? .any(.v4, port: 0))
    }
  }

  /// Lends the address in the kernel's format.
  func withKernelForm<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    switch family {
    case .v4:
      var form = sockaddr_in()
      form.sin_family = sa_family_t(AF_INET)
      form.sin_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &form.sin_addr) { unsafe $0.copyBytes(from: bytes) }
      return unsafe Self.withPointer(to: &form, body)
    case .v6:
      var form = sockaddr_in6()
      form.sin6_family = sa_family_t(AF_INET6)
      form.sin6_port = port.bigEndian
      form.sin6_scope_id = scope
      unsafe withUnsafeMutableBytes(of: &form.sin6_addr) { unsafe $0.copyBytes(from: bytes) }
      return unsafe Self.withPointer(to: &form, body)
    }
  }

  private static func withPointer<Form, Result>(
    to form: inout Form, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    unsafe withUnsafeBytes(of: &form) { bytes in
      unsafe body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}

extension AddressRange {
  /// The links of this machine, as ranges of their addresses, from the kernel; none if it does not
  /// answer.
  package static func ofLocalLinks() -> [AddressRange] {
    ((try? SocketAddress.ofInterfaces()) ?? []).compactMap { address, mask, _ in
      guard let mask, mask.family == address.family else { return nil }
      let bits = mask.bytes.reduce(0) { $0 + $1.nonzeroBitCount }
      // A tunnel to all addresses is not a link.
      return bits > 0 ? AddressRange(address, bits: bits) : nil
    }
  }
}

extension [AddressRange] {
  /// Whether an address is in one of the ranges.
  package func contains(_ address: SocketAddress) -> Bool { contains { $0.contains(address) } }
}

/// An address, or all addresses that begin with the same bits: "192.0.2.7", "192.0.2.0/24",
/// "fe80::1%eth0".
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  /// The first address of the range, without a port.
  private let first: SocketAddress
  /// The number of bits that all addresses of the range share.
  package let bits: Int

  /// The range of the addresses that share this many first bits with an address (default: all
  /// bits).
  package init(_ address: SocketAddress, bits: Int? = nil) {
    let width = address.bytes.count * 8
    let bits = min(max(0, bits ?? width), width)
    let bytes = address.bytes.enumerated().map { $0.element & Self.mask(bits - $0.offset * 8) }
    first = SocketAddress(family: address.family, bytes: bytes, scope: address.scope, port: 0)
    self.bits = bits
  }

  /// Whether an address is in the range; its port does not matter.
  ///
  /// A range that names an interface contains only the addresses on that interface.
  package func contains(_ address: SocketAddress) -> Bool {
    guard address.family == first.family, first.scope == 0 || address.scope == first.scope else { return false }
    return zip(address.bytes, first.bytes).enumerated().allSatisfy { index, pair in
      pair.0 & Self.mask(bits - index * 8) == pair.1
    }
  }

  /// The range in figures; the bits follow if it has more than one address.
  package var description: String {
    bits == first.bytes.count * 8 ? first.hostDescription : "\(first.hostDescription)/\(bits)"
  }

  /// A byte whose first bits are set.
  private static func mask(_ bits: Int) -> UInt8 {
    bits >= 8 ? 0xFF : bits <= 0 ? 0 : ~(0xFF >> UInt8(bits))
  }

  package typealias ParseError = HostAndPort.ParseError

  /// Reads "ADDRESS" or "ADDRESS/BITS", in figures; a link-local address may name its interface
  /// behind a '%'.
  package static func parse(_ text: String) throws(ParseError) -> AddressRange {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let address = try address(parts[0])
    guard parts.count > 1 else { return AddressRange(address.plain) }
    let bits = try bits(parts[1], atMost: address.bytes.count * 8)
    if let plain = address.mapped {
      // The first 96 bits mark an IPv4-mapped address.
      guard bits >= 96 else {
        throw ParseError(description: "'\(shown(text))' spans IPv4 and IPv6 addresses; write one range for each")
      }
      return AddressRange(plain, bits: bits - 96)
    }
    guard address.scope == 0 || bits >= linkLocalBits else {
      throw ParseError(
        description: "'\(shown(text))' names an interface and has addresses that are not link-local; write at least "
          + "/\(linkLocalBits)")
    }
    return AddressRange(address, bits: bits)
  }

  /// The bits that all link-local IPv6 addresses share.
  private static let linkLocalBits = 10

  private static func address(_ text: Substring) throws(ParseError) -> SocketAddress {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = SocketAddress(numeric: String(parts[0]), port: 0) else {
      throw ParseError(description: "'\(shown(text))' is not a numeric address")
    }
    guard parts.count > 1 else { return address }
    guard address.family == .v6, address.isLinkLocal else {
      throw ParseError(
        description: "only a link-local IPv6 address can name an interface, and '\(shown(text))' is not one")
    }
    let scope = unsafe if_nametoindex(String(parts[1]))
    guard scope != 0 else {
      throw ParseError(description: "no network interface '\(shown(parts[1]))'")
    }
    return SocketAddress(family: .v6, bytes: address.bytes, scope: scope, port: 0)
  }

  private static func bits(_ text: Substring, atMost most: Int) throws(ParseError) -> Int {
    // Int would also accept a sign.
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let bits = Int(text),
      bits <= most
    else {
      throw ParseError(description: "'/\(shown(text))' is not a number of bits from 0 to \(most)")
    }
    return bits
  }

  private static func shown(_ text: some StringProtocol) -> String { EscapedText.describing(text.utf8) }
}
