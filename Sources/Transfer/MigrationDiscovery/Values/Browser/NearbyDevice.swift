package import MigrationSystem

/// A receiver that was found on a network. Its own statements prove nothing.
package struct NearbyDevice: Hashable, Sendable {
  /// Its own name, and behind it digits where another one has the same name: text from the network, to be
  /// escaped before it is shown.
  package let label: String
  /// The number of its run; nil if it gives none.
  package let instance: UInt64?
  /// Its addresses, at least one, the most useful first. A link-local IPv6 address includes its
  /// interface.
  package let addresses: [SocketAddress]
}

extension NearbyDevice {
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
  static func all(_ caches: [UInt32: InterfaceCache]) -> [NearbyDevice] {
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
      left.label != right.label ? left.label < right.label : left.order.lexicographicallyPrecedes(right.order)
    }
  }

  /// The device's name, which several may have: the label without the end that the run's number gives it.
  private var plainName: String {
    guard let end = instance.map(Service.labelEnd), label.hasSuffix(end) else { return label }
    return String(label.dropLast(end.count))
  }

  private func named(_ label: String) -> NearbyDevice {
    NearbyDevice(label: label, instance: instance, addresses: addresses)
  }

  private static func merged(_ group: [Candidate]) -> NearbyDevice? {
    guard let first = group.first else { return nil }
    let newest = group.dropFirst().reduce(first) { $1.isNewer(than: $0) ? $1 : $0 }
    var addresses: Set<SocketAddress> = []
    for one in group {
      for known in one.known.addresses.keys {
        let scope = known.isLinkLocal ? one.interface : 0
        addresses.insert(
          SocketAddress(family: known.family, bytes: known.bytes, scope: scope, port: newest.location.port))
      }
    }
    let named = group.filter { $0.instance != nil }.max { $1.isNewer(than: $0) }
    return NearbyDevice(
      label: String(decoding: newest.label, as: UTF8.self), instance: named?.instance, addresses: inOrder(addresses))
  }

  /// The sort order of instances with the same name; no two different instances have the same
  /// order.
  private var order: [UInt64] {
    [instance == nil ? 0 : 1, instance ?? 0, UInt64(addresses.first?.port ?? 0)]
      + addresses.flatMap { [UInt64($0.scope), $0.isV6 ? 6 : 4] + $0.bytes.map(UInt64.init) }
  }

  /// Addresses in the order in which to use them: addresses that routers know; addresses of a link,
  /// IPv6 first, which names its interface; addresses of this device. In the other groups IPv4 is
  /// first, because it is shorter to read.
  private static func inOrder(_ addresses: Set<SocketAddress>) -> [SocketAddress] {
    addresses.sorted { left, right in
      let ranks = (rank(left), rank(right))
      if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
      if left.scope != right.scope { return left.scope < right.scope }
      return left.bytes.lexicographicallyPrecedes(right.bytes)
    }
  }

  private static func rank(_ address: SocketAddress) -> Int {
    if address.isLoopback { return address.isV6 ? 5 : 4 }
    if address.isLinkLocal { return address.isV6 ? 2 : 3 }
    return address.isV6 ? 1 : 0
  }
}
