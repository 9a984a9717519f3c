import Glibc
package import MigrationSystem

/// A port of the loopback that does not answer: the queue of a listener that accepts no connection
/// is full.
package final class SilentPort: Sendable {
  package let address: SocketAddress
  private let listener: Descriptor
  private let waiting: [ConnectedSocket]

  private final class ConnectedSocket: Sendable {
    let socket: StreamSocket
    init(_ socket: consuming StreamSocket) { self.socket = socket }
  }

  package init() throws {
    let held = try HeldPort()
    let raw = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard raw >= 0 else { throw SystemError(errno: errno, operation: "create a silent port") }
    listener = Descriptor(owning: raw)
    var isReusable: CInt = 1
    setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &isReusable, socklen_t(MemoryLayout<CInt>.size))
    var form = sockaddr_in()
    form.sin_family = sa_family_t(AF_INET)
    form.sin_port = held.number.bigEndian
    form.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &form) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0, listen(raw, 0) == 0 else { throw SystemError(errno: errno, operation: "create a silent port") }
    let address = SocketAddress.loopback(port: held.number)
    self.address = address
    // The kernel accepts one more connection than the queue has places, and then none.
    waiting = try (0..<3).map { _ in ConnectedSocket(try StreamSocket.connect(to: address)) }
  }
}
