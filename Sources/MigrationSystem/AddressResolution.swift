import Glibc

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

  /// The addresses of this machine's interfaces, in the kernel's order.
  package static func localAddresses(port: UInt16) throws(SystemError) -> [SocketAddress] {
    var list: UnsafeMutablePointer<ifaddrs>?
    try perform("list the network interfaces") { unsafe getifaddrs(&list) }
    defer { unsafe freeifaddrs(list) }

    var addresses: [SocketAddress] = []
    var entry = unsafe list
    while let current = unsafe entry {
      let isUp = unsafe current.pointee.ifa_flags & UInt32(IFF_UP) != 0
      if isUp, var address = unsafe current.pointee.ifa_addr.flatMap({ unsafe SocketAddress($0) }) {
        address.port = port
        addresses.append(address)
      }
      unsafe entry = current.pointee.ifa_next
    }
    return addresses
  }
}
