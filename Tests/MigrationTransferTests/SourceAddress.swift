import Glibc
import MigrationSystem

extension StreamSocket {
  /// Connects to a port of this machine from one of its addresses: all of 127/8 are.
  static func toThisMachine(_ port: UInt16, from host: String) throws -> StreamSocket {
    let descriptor = Descriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    for (name, isOwn) in [(host, true), ("127.0.0.1", false)] {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = isOwn ? 0 : port.bigEndian
      inet_pton(AF_INET, name, &address.sin_addr)
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          let size = socklen_t(MemoryLayout<sockaddr_in>.size)
          return isOwn ? bind(descriptor.raw, $0, size) : Glibc.connect(descriptor.raw, $0, size)
        }
      }
      guard result == 0 else { throw SystemError(errno: errno, operation: "connect a test from \(host)") }
    }
    _ = fcntl(descriptor.raw, F_SETFL, O_NONBLOCK)
    return StreamSocket(owning: descriptor, remoteAddress: .loopback(port: port))
  }
}
