/// What one packet says of a host's addresses: each once, and no more than can matter, so that a packet costs little however
/// many instances say that they are there.
struct HeardAddresses: Sendable {
  /// So many addresses of a host count in a packet.
  static let most = 32

  /// For how many seconds each holds, in the packet's order; its last word counts.
  private(set) var addresses: [(IPAddress, UInt32)] = []
  /// Whether they replace the older ones of their family.
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
