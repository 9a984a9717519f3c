import MigrationSystem

/// The sockets of the links, which follow the interfaces as they come and go.
struct OpenLinks {
  private let reach: SocketAddress?
  private var sockets: [Link: MulticastSocket] = [:]
  private(set) var choice = LinkChoice([])
  private var buffer = MulticastSocket.Buffer(longest: MulticastDNS.longestPacket)
  /// Why a socket is missing; nil if none is.
  private(set) var failure: SystemError?

  /// Starts without links. `reach` is where the service listens, if it is not everywhere.
  init(reaching reach: SocketAddress?) { self.reach = reach }

  /// The links in use, with the addresses of this device.
  var links: [Link: [SocketAddress]] { choice.links.filter { sockets[$0.key] != nil } }

  /// The sockets to wait for.
  var interests: [(link: Link, raw: CInt)] { sockets.map { ($0.key, $0.value.raw) } }

  /// Updates the links after a listing of the interfaces: opens sockets for new links, and closes
  /// the sockets of removed links.
  mutating func update(_ interfaces: [NetworkInterface]) {
    choice = LinkChoice(interfaces, reaching: reach)
    failure = nil
    sockets = sockets.filter { choice.links[$0.key] != nil }
    for link in choice.links.keys.sorted() where sockets[link] == nil {
      do throws(SystemError) {
        let group = link.isV6 ? MulticastDNS.groupV6 : MulticastDNS.groupV4
        sockets[link] = try MulticastSocket(group: group, interface: link.interface)
      } catch {
        failure = error
      }
    }
  }

  /// Records that the interfaces could not be listed; the links remain unchanged.
  mutating func keep(_ error: SystemError) { failure = error }

  /// Closes the sockets of interrupted interfaces. Returns whether there were any. The next listing
  /// opens new sockets.
  mutating func close(_ interrupted: Set<UInt32>) -> Bool {
    let closed = sockets.keys.filter { interrupted.contains($0.interface) }
    for link in closed { sockets[link] = nil }
    return !closed.isEmpty
  }

  /// Closes a link's socket that has failed; the next listing of the interfaces opens a new one.
  mutating func close(_ link: Link, _ error: SystemError) {
    sockets[link] = nil
    failure = error
  }

  /// Sends a packet. One that cannot be sent is lost like any other packet: a device that misses it
  /// asks again.
  func send(_ bytes: [UInt8], _ link: Link) { try? sockets[link]?.send(bytes) }

  /// Hands over a batch of packets from devices on the link. Returns the number of packets.
  mutating func receive(_ link: Link, _ take: ([UInt8], SocketAddress) -> Void) throws(SystemError) -> Int {
    guard let open = sockets[link] else { return 0 }
    return try buffer.receive(from: open) { datagram in
      if choice.isOfLink(datagram, link) { take(datagram.bytes, datagram.sender) }
    }
  }
}
