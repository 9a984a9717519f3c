extension Found {
  /// An instance as one interface knows it, if it can be connected to.
  private struct Candidate {
    /// Its location. The host's name distinguishes runs of receivers; the id does not, because any
    /// device can copy it.
    struct Place: Hashable {
      let host: DNSName
      let port: UInt16
    }

    let label: [UInt8]
    let interface: UInt32
    let location: ServiceLocation
    let known: CachedInstance

    var instance: UInt64? { known.text?.0 }
    var place: Place { Place(host: location.target, port: location.port) }

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
    var groups: [Candidate.Place: [Candidate]] = [:]
    for (interface, cache) in caches {
      for (name, known) in cache.instances where known.isComplete {
        guard let location = known.location?.0, location.port > 0,
          let label = name.label(before: ServiceNames.type)
        else { continue }
        let candidate = Candidate(label: label, interface: interface, location: location, known: known)
        groups[candidate.place, default: []].append(candidate)
      }
    }
    return Set(groups.values.compactMap(merged)).sorted { left, right in
      left.name != right.name ? left.name < right.name : left.order.lexicographicallyPrecedes(right.order)
    }
  }

  private static func merged(_ group: [Candidate]) -> Found? {
    guard let first = group.first else { return nil }
    let newest = group.dropFirst().reduce(first) { $1.isNewer(than: $0) ? $1 : $0 }
    var addresses: Set<FoundAddress> = []
    for one in group {
      addresses.formUnion(one.known.addresses.keys.map { FoundAddress($0, heardOn: one.interface) })
    }
    let named = group.filter { $0.instance != nil }.max { $1.isNewer(than: $0) }
    return Found(
      name: String(decoding: newest.label, as: UTF8.self), instance: named?.instance, port: newest.location.port,
      addresses: FoundAddress.inOrder(addresses))
  }

  /// The sort order of instances with the same name; no two different instances have the same
  /// order.
  private var order: [UInt64] {
    [instance == nil ? 0 : 1, instance ?? 0, UInt64(port)]
      + addresses.flatMap { [UInt64($0.interface), $0.address.isV6 ? 6 : 4] + $0.address.bytes.map(UInt64.init) }
  }
}
