extension Found {
  /// What is known of an instance on an interface, as far as it can be connected to.
  private struct Candidate {
    /// The run of a receiver, or where there is no id, the host.
    enum Identity: Hashable {
      case instance(UInt64)
      case host(DNSName)
    }

    let label: [UInt8]
    let interface: UInt32
    let location: ServiceLocation
    let known: CachedInstance

    var instance: UInt64? { known.text?.0 }
    var identity: Identity { instance.map(Identity.instance) ?? .host(location.target) }

    /// Whether it tells more recently of the same.
    func isNewer(than other: Candidate) -> Bool {
      let times = (known.pointer.received, other.known.pointer.received)
      return times.0 != times.1 ? times.0 > times.1 : other.label.lexicographicallyPrecedes(label)
    }
  }

  /// The instances of all interfaces, by name. One that is known on several, or by several names, is one, with its newest
  /// name; what contradicts its newest place is left out.
  static func all(_ caches: [UInt32: InterfaceCache]) -> [Found] {
    var groups: [Candidate.Identity: [Candidate]] = [:]
    for (interface, cache) in caches {
      for (name, known) in cache.instances where known.isComplete {
        guard let location = known.location?.0, location.port > 0,
          let label = name.label(before: ServiceNames.type)
        else { continue }
        let candidate = Candidate(label: label, interface: interface, location: location, known: known)
        groups[candidate.identity, default: []].append(candidate)
      }
    }
    return groups.values.compactMap(merged).sorted { left, right in
      left.name != right.name ? left.name < right.name : left.order.lexicographicallyPrecedes(right.order)
    }
  }

  private static func merged(_ group: [Candidate]) -> Found? {
    guard let first = group.first else { return nil }
    let newest = group.dropFirst().reduce(first) { $1.isNewer(than: $0) ? $1 : $0 }
    var addresses: Set<FoundAddress> = []
    for one in group where one.location.port == newest.location.port && one.location.target == newest.location.target {
      addresses.formUnion(one.known.addresses.keys.map { FoundAddress($0, heardOn: one.interface) })
    }
    return Found(
      name: String(decoding: newest.label, as: UTF8.self), instance: newest.instance, port: newest.location.port,
      addresses: FoundAddress.inOrder(addresses))
  }

  /// By which those of the same name are sorted.
  private var order: [UInt64] {
    [instance ?? 0, UInt64(port)] + addresses.prefix(1).flatMap { $0.address.bytes.map(UInt64.init) }
  }
}
