import Glibc
import MigrationSystem

/// A port of the loopback that belongs to one test as long as this object exists.
///
/// When a listener closes, the kernel may immediately give its port to another test's listener or
/// connection. This socket keeps the port bound and never listens: the kernel does not give the
/// port to others, and refuses connections to it. A listener of the program can still bind it
/// repeatedly, because both sockets set SO_REUSEADDR.
package final class HeldPort: Sendable {
  /// Its number.
  package let number: UInt16
  private let descriptor: Descriptor

  /// Binds a free port.
  package init() throws {
    let raw = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard raw >= 0 else { throw SystemError(errno: errno, operation: "hold a port") }
    descriptor = Descriptor(owning: raw)
    var isReusable: CInt = 1
    setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &isReusable, socklen_t(MemoryLayout<CInt>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(raw, pointer, size) == 0 ? getsockname(raw, pointer, &size) : -1
      }
    }
    guard code == 0 else { throw SystemError(errno: errno, operation: "hold a port") }
    number = UInt16(bigEndian: address.sin_port)
  }
}
