import Glibc
import MigrationSystem

/// A port of the loopback that belongs to one test as long as this lives.
///
/// A port that a listener had and gave back may be anybody's at once: the kernel gives it to another test's listener or
/// connection. This one is bound and never listened on. So the kernel gives it to nobody who asks for any port, nobody else
/// binds it, and whoever connects is refused; but a listener of the program, which may reuse addresses as this does, can be
/// started there again and again.
package final class HeldPort: Sendable {
  /// Its number.
  package let number: UInt16
  private let descriptor: Descriptor

  /// Takes a port that nobody has.
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
