import CSystem
import Glibc

/// A socket that accepts connections.
package struct ListeningSocket: ~Copyable, Sendable {
  /// As many as the kernel lets wait: the program accepts them immediately, but a flood comes
  /// faster than a thread wakes.
  private static let backlog: CInt = 4096

  private let descriptor: Descriptor
  /// The address on which it listens, with its actual port.
  package let address: SocketAddress

  /// Listens on one address; port 0 lets the kernel choose.
  package init(on address: SocketAddress) throws(SystemError) {
    let socket = try StreamSocket.open(address.family, for: "listen")
    try socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
    if address.family == .v6 {
      let isForAll = address == .any(.v6, port: address.port)
      try socket.setOption(CInt(IPPROTO_IPV6), IPV6_V6ONLY, isForAll ? 0 : 1)
    }
    try perform("listen on", address.description) {
      unsafe address.withKernelForm { unsafe bind(socket.raw, $0, $1) }
    }
    try perform("listen on", address.description) { listen(socket.raw, Self.backlog) }
    self.address = try unsafe SocketAddress.read("listen") { unsafe getsockname(socket.raw, $0, $1) }.address
    descriptor = socket
  }

  /// Listens on a host's first address that works; without a host, on all addresses, of both IPv4
  /// and IPv6 if available.
  package init(host: String?, port: UInt16) throws(SystemError) {
    let candidates: [SocketAddress]
    if let host {
      candidates = try SocketAddress.resolve(host: host, port: port, passive: true)
    } else {
      candidates = [.any(.v6, port: port), .any(.v4, port: port)]
    }
    var failure = SystemError(errno: EADDRNOTAVAIL, operation: "listen")
    for address in candidates {
      do throws(SystemError) {
        self = try ListeningSocket(on: address)
        return
      } catch let error where error.errno == EAFNOSUPPORT || error.errno == EADDRNOTAVAIL {
        failure = error
      }
    }
    throw failure
  }

  /// The descriptor to wait for; readable when there is a connection to accept.
  package var raw: CInt { descriptor.raw }

  /// The actual port.
  package var port: UInt16 { address.port }

  /// The next connection, or nil if there is none yet.
  ///
  /// A shortage of descriptors (`isDescriptorShortage`) leaves the connection in the queue, so the
  /// socket stays readable: wait a while before the next try.
  package func accept() throws(SystemError) -> StreamSocket? {
    while true {
      do throws(SystemError) {
        let (raw, address) = try unsafe SocketAddress.read("accept a connection") {
          unsafe csystem_accept(descriptor.raw, $0, $1)
        }
        return StreamSocket(owning: Descriptor(owning: raw), remoteAddress: address)
      } catch let error where error.isWouldBlock {
        return nil
      } catch let error where error.isConnectionLost || error.errno == EPROTO || error.errno == ENOPROTOOPT {
        // Linux reports the error of a connection that failed in the queue. The next connection may
        // be fine.
      }
    }
  }
}
