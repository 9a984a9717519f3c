import CSystem
import Glibc

/// One end of a TCP connection. It never blocks.
package struct StreamSocket: ~Copyable, Sendable {
  private let descriptor: Descriptor
  /// The other end.
  package let remoteAddress: SocketAddress

  /// Takes ownership of a connected, non-blocking socket.
  package init(owning descriptor: consuming Descriptor, remoteAddress: SocketAddress) {
    self.descriptor = descriptor
    self.remoteAddress = remoteAddress
  }

  /// The descriptor to wait for.
  package var raw: CInt { descriptor.raw }

  /// Gives the descriptor away.
  package consuming func release() -> Descriptor {
    descriptor
  }

  static func open(_ family: SocketAddress.Family, for operation: String) throws(SystemError) -> Descriptor {
    Descriptor(owning: try calling(operation) { csystem_socket(family.number) })
  }

  /// The largest segment that fits into a packet of 1280 bytes, which every IPv6 network carries,
  /// behind the headers of IPv6 and TCP.
  package static let smallSegment = 1220

  /// Starts connecting. Once the socket is writable, `finishConnecting` returns the result.
  ///
  /// With `hasSmallSegments`, both ends send segments of at most `smallSegment` bytes. `port` says
  /// which port this end has.
  package static func connect(
    to address: SocketAddress, hasSmallSegments: Bool = false, from port: LocalPort = .any
  ) throws(SystemError) -> StreamSocket {
    let socket = try open(address.family, for: "connect")
    if port != .any { try socket.sharePort() }
    if case .shared(let number) = port {
      let own = SocketAddress.any(address.family, port: number)
      try perform("connect from", own.description) {
        unsafe own.withKernelForm { unsafe bind(socket.raw, $0, $1) }
      }
    }
    if hasSmallSegments { try socket.setOption(CInt(IPPROTO_TCP), TCP_MAXSEG, CInt(smallSegment)) }
    do {
      // After an interruption the kernel continues to connect; another call would return EALREADY.
      let result = unsafe address.withKernelForm { unsafe Glibc.connect(socket.raw, $0, $1) }
      if result == -1, errno != EINPROGRESS, errno != EINTR {
        throw SystemError(errno: errno, operation: "connect to", subject: address.description)
      }
    }
    return StreamSocket(owning: socket, remoteAddress: address)
  }

  /// The port of this end of a connection.
  package enum LocalPort: Equatable, Sendable {
    /// A port that no other socket has.
    case any
    /// A port that other sockets of this program may have later.
    case shareable
    /// This port, which another socket of this program has as `shareable`.
    case shared(UInt16)
  }

  /// True once connected, false while connecting; throws the reason for a failure.
  package func finishConnecting() throws(SystemError) -> Bool {
    var record = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
    let count = try calling("connect") { unsafe poll(&record, 1, 0) }
    if count == 0 { return false }
    let failure = try descriptor.option(SOL_SOCKET, SO_ERROR)
    if failure != 0 {
      throw SystemError(errno: failure, operation: "connect to", subject: remoteAddress.description)
    }
    return true
  }

  /// This end.
  package func localAddress() throws(SystemError) -> SocketAddress {
    try unsafe SocketAddress.read("examine a connection") { unsafe getsockname(raw, $0, $1) }.address
  }

  /// The user who owns the other end of an accepted connection from 127.0.0.1 to 127.0.0.1, by the
  /// kernel. Nil if the kernel does not say, if that end is closed, or if it is at another address.
  package var ownerOfOtherEnd: UInt32? {
    var owner: UInt32 = 0
    return unsafe csystem_other_end_owner(raw, &owner) == 0 ? owner : nil
  }

  /// Sends as many bytes as the kernel accepts; nil if it accepts none without waiting.
  package func send(_ bytes: Span<UInt8>) throws(SystemError) -> Int? {
    try unsafe bytes.withUnsafeBytes { (buffer) throws(SystemError) in
      try ready("send") { unsafe Glibc.send(raw, buffer.baseAddress, buffer.count, CInt(MSG_NOSIGNAL)) }
    }
  }

  /// Receives as many of the available bytes as the memory has room for: 0 after the other end's
  /// last byte, nil if there are none yet.
  package func receive(into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int? {
    try unsafe memory.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try ready("receive") { unsafe recv(raw, buffer.baseAddress, buffer.count, 0) }
    }
  }

  /// Reads the available bytes without removing them: 0 after the other end's last byte, nil if
  /// there are none yet.
  package func peek(into bytes: inout [UInt8]) throws(SystemError) -> Int? {
    var memory = bytes.mutableSpan
    return try unsafe memory.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try ready("receive") { unsafe recv(raw, buffer.baseAddress, buffer.count, CInt(MSG_PEEK)) }
    }
  }

  /// The result of a call; nil if it would have to wait.
  private func ready(_ operation: String, _ call: () -> Int) throws(SystemError) -> Int? {
    do throws(SystemError) {
      return try calling(operation) { call() }
    } catch  where error.isWouldBlock {
      return nil
    }
  }

  /// Tells the other end that no more bytes will come.
  package func shutdownWrite() throws(SystemError) {
    try perform("end a connection") { shutdown(raw, CInt(SHUT_WR)) }
  }

  /// Sends small pieces immediately instead of collecting them.
  package func setNoDelay(_ isOn: Bool = true) throws(SystemError) {
    try descriptor.setOption(CInt(IPPROTO_TCP), TCP_NODELAY, isOn ? 1 : 0)
  }

  /// Sets how many bytes the kernel accepts that it cannot send yet; the kernel still tunes the
  /// amount that is on its way.
  package func setUnsentLimit(bytes: Int) throws(SystemError) {
    try descriptor.setOption(CInt(IPPROTO_TCP), TCP_NOTSENT_LOWAT, CInt(clamping: bytes))
  }

  /// Sets how long sent bytes may go unacknowledged before the connection counts as lost.
  package func setUserTimeout(_ timeout: Duration) throws(SystemError) {
    let milliseconds = CInt(clamping: timeout.wholeNanoseconds / 1_000_000)
    try descriptor.setOption(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, milliseconds)
  }

  /// Has the kernel probe a connection without a byte after 20 s, and each 5 s: after 40 s without an answer
  /// it is lost.
  package func keepAlive() throws(SystemError) {
    for (name, value) in [(TCP_KEEPIDLE, 20), (TCP_KEEPINTVL, 5), (TCP_KEEPCNT, 4)] as [(CInt, CInt)] {
      try descriptor.setOption(CInt(IPPROTO_TCP), name, value)
    }
    try descriptor.setOption(SOL_SOCKET, SO_KEEPALIVE, 1)
  }

  /// For how many seconds the other end has acknowledged nothing while the kernel sends again, or probes.
  package var unanswered: Double { Double(csystem_unanswered_milliseconds(raw)) / 1000 }

  /// Makes the socket readable only when this many bytes are available, or the other end has sent
  /// its last byte.
  package func setReadableFrom(bytes: Int) throws(SystemError) {
    try descriptor.setOption(SOL_SOCKET, SO_RCVLOWAT, CInt(clamping: bytes))
  }

  /// The number of accepted bytes that the other end's kernel has not acknowledged.
  package var waitingBytes: Int { max(0, Int(csystem_waiting_bytes(raw))) }

  /// The size of the segments that this end sends.
  package func segmentBytes() throws(SystemError) -> Int {
    Int(try descriptor.option(CInt(IPPROTO_TCP), TCP_MAXSEG))
  }
}

extension Descriptor {
  /// Lets other sockets of this user have the same port, if they allow it too.
  fileprivate func sharePort() throws(SystemError) {
    try setOption(SOL_SOCKET, SO_REUSEADDR, 1)
    try setOption(SOL_SOCKET, SO_REUSEPORT, 1)
  }

  func setOption(_ level: CInt, _ name: CInt, _ value: CInt) throws(SystemError) {
    try perform("set a socket option") {
      unsafe withUnsafePointer(to: value) { value in
        unsafe setsockopt(raw, level, name, value, socklen_t(MemoryLayout<CInt>.size))
      }
    }
  }

  func option(_ level: CInt, _ name: CInt) throws(SystemError) -> CInt {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    try perform("read a socket option") { unsafe getsockopt(raw, level, name, &value, &length) }
    return value
  }
}

/// A socket that accepts connections.
package struct ListeningSocket: ~Copyable, Sendable {
  /// As many as the kernel lets wait: the program accepts them immediately, but a flood comes
  /// faster than a thread wakes.
  private static let backlog: CInt = 4096

  private let descriptor: Descriptor
  /// The address on which it listens, with its actual port.
  package let address: SocketAddress

  /// Listens on one address; port 0 lets the kernel choose. A shared port is one that connections of
  /// this program have too.
  package init(on address: SocketAddress, sharesPort: Bool = false) throws(SystemError) {
    let socket = try StreamSocket.open(address.family, for: "listen")
    try socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
    if sharesPort { try socket.sharePort() }
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
  package init(host: String?, port: UInt16, sharesPort: Bool = false) throws(SystemError) {
    let candidates: [SocketAddress]
    if let host {
      candidates = try SocketAddress.resolve(host: host, port: port, passive: true)
    } else {
      candidates = [.any(.v6, port: port), .any(.v4, port: port)]
    }
    var failure = SystemError(errno: EADDRNOTAVAIL, operation: "listen")
    for address in candidates {
      do throws(SystemError) {
        self = try ListeningSocket(on: address, sharesPort: sharesPort)
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
