/// An instance of the service that can be connected to.
package struct Found: Hashable, Sendable {
  /// The device's name, and behind it digits where another one has the same name; escape it before showing it.
  package let name: String
  /// The receiver's run, nil if it is not given.
  package let instance: UInt64?
  package let port: UInt16
  /// At least one, the most useful first.
  package let addresses: [Address]

  package init(name: String, instance: UInt64?, port: UInt16, addresses: [Address]) {
    self.name = name
    self.instance = instance
    self.port = port
    self.addresses = addresses
  }

  /// An instance as one interface knows it, if it can be connected to.
  private struct Candidate {
    /// Its location. The host's name distinguishes runs of receivers; the id does not, because any
    /// device can copy it.
    struct HostAndPort: Hashable {
      let host: DNSName
      let port: UInt16
    }

    let label: [UInt8]
    let interface: UInt32
    let location: ServiceLocation
    let known: CachedInstance

    var instance: UInt64? { known.text?.0 }
    var place: HostAndPort { HostAndPort(host: location.target, port: location.port) }

    /// Whether its data about the same instance is more recent.
    func isNewer(than other: Candidate) -> Bool {
      let times = (known.pointer.received, other.known.pointer.received)
      return times.0 != times.1 ? times.0 > times.1 : other.label.lexicographicallyPrecedes(label)
    }
  }

  /// The instances of all interfaces, by name. Instances at the same host and port are one instance
  /// with its newest name: it is known on several interfaces, or by several names. Instances at
  /// different locations are different, regardless of their other data.
  static func all(_ caches: [UInt32: InterfaceCache]) -> [Found] {
    var groups: [Candidate.HostAndPort: [Candidate]] = [:]
    for (interface, cache) in caches {
      for (name, known) in cache.instances where known.isComplete {
        guard let location = known.location?.0, location.port > 0,
          let label = name.label(before: ServiceNames.type)
        else { continue }
        let candidate = Candidate(label: label, interface: interface, location: location, known: known)
        groups[candidate.place, default: []].append(candidate)
      }
    }
    let found = Set(groups.values.compactMap(merged))
    let shares = found.reduce(into: [:]) { $0[$1.plainName, default: 0] += 1 }
    return found.map { shares[$0.plainName] == 1 ? $0.named($0.plainName) : $0 }.sorted { left, right in
      left.name != right.name ? left.name < right.name : left.order.lexicographicallyPrecedes(right.order)
    }
  }

  /// The device's name, which several may have: the label without the end that the run's number gives it.
  private var plainName: String {
    guard let end = instance.map(Service.labelEnd), name.hasSuffix(end) else { return name }
    return String(name.dropLast(end.count))
  }

  private func named(_ name: String) -> Found {
    Found(name: name, instance: instance, port: port, addresses: addresses)
  }

  private static func merged(_ group: [Candidate]) -> Found? {
    guard let first = group.first else { return nil }
    let newest = group.dropFirst().reduce(first) { $1.isNewer(than: $0) ? $1 : $0 }
    var addresses: Set<Address> = []
    for one in group {
      addresses.formUnion(one.known.addresses.keys.map { Address($0, heardOn: one.interface) })
    }
    let named = group.filter { $0.instance != nil }.max { $1.isNewer(than: $0) }
    return Found(
      name: String(decoding: newest.label, as: UTF8.self), instance: named?.instance, port: newest.location.port,
      addresses: Address.inOrder(addresses))
  }

  /// The sort order of instances with the same name; no two different instances have the same
  /// order.
  private var order: [UInt64] {
    [instance == nil ? 0 : 1, instance ?? 0, UInt64(port)]
      + addresses.flatMap { [UInt64($0.interface), $0.address.isV6 ? 6 : 4] + $0.address.bytes.map(UInt64.init) }
  }

  /// An address of an instance.
  package struct Address: Hashable, Sendable {
    package let address: IPAddress
    /// The interface of a link-local address, which is its scope; 0 for all others.
    package let interface: UInt32

    package init(_ address: IPAddress, heardOn interface: UInt32) {
      self.address = address
      self.interface = address.isLinkLocal ? interface : 0
    }

    /// Addresses in the order in which to use them: addresses that routers know; addresses of a link,
    /// IPv6 first, which names its interface; addresses of this device. In the other groups IPv4 is
    /// first, because it is shorter to read.
    static func inOrder(_ addresses: Set<Address>) -> [Address] {
      addresses.sorted { left, right in
        let ranks = (left.rank, right.rank)
        if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
        if left.interface != right.interface { return left.interface < right.interface }
        return left.address.bytes.lexicographicallyPrecedes(right.address.bytes)
      }
    }

    private var rank: Int {
      if address.isLoopback { return address.isV6 ? 5 : 4 }
      if address.isLinkLocal { return address.isV6 ? 2 : 3 }
      return address.isV6 ? 1 : 0
    }
  }
}
