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
}

extension SocketAddress {
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
      let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
      if isMapped {
        self.init(family: .v4, bytes: Array(bytes[12...]), port: port)
      } else {
        self.init(family: .v6, bytes: bytes, scope: v6.sin6_scope_id, port: port)
      }
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
