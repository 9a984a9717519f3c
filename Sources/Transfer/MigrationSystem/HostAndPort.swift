import Glibc

/// A host and a port as the user writes them: "HOST:PORT", "[IPv6]:PORT", "HOST", "IPv6" or
/// ":PORT".
package struct HostAndPort: Equatable, Sendable {
  /// Why a text is not a host and port, or a range of addresses. The description is a lower-case clause.
  package struct ParseError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

  /// The name or the address, without brackets; nil if only a port was given. As a user writes it.
  package var text: String {
    let host = host ?? ""
    return (host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host) + ":\(port)"
  }

  package let host: String?
  /// The port that was given, or the default.
  package let port: UInt16

  /// Combines the parts.
  package init(host: String?, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Parses an address to connect to.
  package static func parse(_ text: String, defaultPort: UInt16) throws(ParseError) -> HostAndPort {
    if text.isEmpty { throw ParseError(description: "missing host") }
    if text.utf8.first == UInt8(ascii: "[") { return try parseBracketed(text, defaultPort: defaultPort) }
    let parts = split(text[...], at: ":", most: 2)
    switch parts.count {
    case 1:
      return HostAndPort(host: try host(parts[0], in: text), port: defaultPort)
    case 2:
      let host = parts[0].isEmpty ? nil : try host(parts[0], in: text)
      return HostAndPort(host: host, port: try port(parts[1]))
    default:
      guard SocketAddress(numeric: String(split(text[...], at: "%", most: 1)[0]), port: 0) != nil else {
        throw ParseError(
          description: "'\(shown(text))' has more than one colon; an IPv6 address with a port is written [ADDRESS]:PORT"
        )
      }
      return HostAndPort(host: try host(text[...], in: text), port: defaultPort)
    }
  }

  /// Parses an address to listen on: a number alone is the port.
  package static func parseListening(_ text: String, defaultPort: UInt16) throws(ParseError) -> HostAndPort {
    if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      return HostAndPort(host: nil, port: try port(text[...]))
    }
    return try parse(text, defaultPort: defaultPort)
  }

  private static func parseBracketed(_ text: String, defaultPort: UInt16) throws(ParseError) -> HostAndPort {
    let parts = split(Substring(text.utf8.dropFirst()), at: "]", most: 1)
    let address = String(parts[0])
    let figures = String(split(parts[0], at: "%", most: 1)[0])
    guard parts.count == 2, address.utf8.contains(UInt8(ascii: ":")), SocketAddress(numeric: figures, port: 0) != nil
    else {
      throw ParseError(description: "'\(shown(text))' has no IPv6 address in its brackets")
    }
    // Behind the percent sign there may be characters that no host has.
    _ = try host(parts[0], in: text)
    if parts[1].isEmpty { return HostAndPort(host: address, port: defaultPort) }
    guard parts[1].utf8.first == UInt8(ascii: ":") else {
      throw ParseError(description: "a port after brackets is written [ADDRESS]:PORT")
    }
    return HostAndPort(host: address, port: try port(Substring(parts[1].utf8.dropFirst())))
  }

  /// Splits by bytes: a separator that forms one character with its neighbour separates too.
  private static func split(_ text: Substring, at separator: Unicode.Scalar, most: Int) -> [Substring] {
    text.utf8.split(separator: UInt8(ascii: separator), maxSplits: most, omittingEmptySubsequences: false)
      .map { Substring($0) }
  }

  private static func port(_ text: Substring) throws(ParseError) -> UInt16 {
    // UInt16 would also accept a sign.
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let port = UInt16(text) else {
      throw ParseError(
        description: "'\(shown(String(text)))' is not a port; ports are numbers from 1 to 65535")
    }
    return port
  }

  private static func host(_ text: Substring, in whole: String) throws(ParseError) -> String {
    let isPlausible = text.unicodeScalars.allSatisfy { scalar in
      scalar.properties.generalCategory != .control && !scalar.properties.isWhitespace
        && !"/[]@".unicodeScalars.contains(scalar)
    }
    guard isPlausible, !text.isEmpty else {
      throw ParseError(description: "'\(shown(whole))' is not the name or address of a device")
    }
    let address = SocketAddress(numeric: String(text), port: 0)
    guard address?.family != .v6 || address?.isLinkLocal != true || text.utf8.contains(UInt8(ascii: "%")) else {
      throw ParseError(
        description: "'\(shown(whole))' names no interface, and every network has such an address: "
          + "add one of this device, as in \(text)%eth0")
    }
    return String(text)
  }

  private static func shown(_ text: String) -> String {
    EscapedText.describing(text.utf8)
  }
}

extension SocketAddress {
  /// The addresses of a host, in the order in which to try them. Blocks while name servers are
  /// asked.
  ///
  /// - Parameter passive: whether the addresses are for listening; then no host means all
  ///   addresses.
  package static func resolve(
    host: String?, port: UInt16, passive: Bool = false
  ) throws(SystemError) -> [SocketAddress] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)
    var list: UnsafeMutablePointer<addrinfo>?
    LoopThread.check("look a name up")
    let code = unsafe getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { throw failure(code, host: host) }
    defer { unsafe freeaddrinfo(list) }

    var addresses: [SocketAddress] = []
    var entry = unsafe list
    while let current = unsafe entry {
      if let address = unsafe current.pointee.ai_addr.flatMap({ unsafe SocketAddress($0) }),
        !addresses.contains(address)
      {
        addresses.append(address)
      }
      unsafe entry = current.pointee.ai_next
    }
    return addresses
  }

  private static func failure(_ code: CInt, host: String?) -> SystemError {
    let operation = "find the address of"
    let subject = host.map { EscapedText.describing($0.utf8) } ?? "this device"
    if code == EAI_SYSTEM { return SystemError(errno: errno, operation: operation, subject: subject) }
    let reason = unsafe String(cString: gai_strerror(code))
    return SystemError(reason: reason, operation: operation, subject: subject)
  }
}
