/// The addresses of a host in one packet: each once, and no more than needed, so that a packet
/// costs little regardless of the number of instances in it.
struct HeardAddresses: Sendable {
  /// The most addresses of a host that count in a packet.
  static let most = 32

  /// The addresses with the seconds for which each is valid, in the packet's order; the last value
  /// counts.
  private(set) var addresses: [(IPAddress, UInt32)] = []
  /// Whether they replace the older addresses of their family.
  private(set) var flushesV4 = false
  private(set) var flushesV6 = false

  mutating func add(_ address: IPAddress, ttl: UInt32, flushes: Bool) {
    if let index = addresses.firstIndex(where: { $0.0 == address }) {
      addresses[index].1 = ttl
    } else if addresses.count < Self.most {
      addresses.append((address, ttl))
    } else {
      return
    }
    if flushes {
      if address.isV6 { flushesV6 = true } else { flushesV4 = true }
    }
  }
}
