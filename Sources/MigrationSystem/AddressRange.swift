import Glibc

/// An address, or all addresses that begin with the same bits: "192.0.2.7", "192.0.2.0/24",
/// "fe80::1%eth0".
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  /// The first address of the range, without a port.
  private let first: SocketAddress
  /// How many bits all addresses of the range share.
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
}

extension AddressRange {
  /// Why a text is not a range. The description is a lower-case clause.
  package struct ParseError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

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

extension SocketAddress {
  /// The IPv4 address in an IPv4-mapped IPv6 address; nil for any other address.
  fileprivate var mapped: SocketAddress? {
    guard family == .v6, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF else { return nil }
    return SocketAddress(family: .v4, bytes: Array(bytes[12...]), port: port)
  }

  /// The address in the form that connections show.
  fileprivate var plain: SocketAddress { mapped ?? self }
}
