import MigrationSystem

/// The instances that are known on one interface.
///
/// Only records of known instances count, so that a flood of others takes no memory.
struct InterfaceCache: Sendable {
  /// The most instances that are kept. False instances must not displace known ones, so a further
  /// instance displaces only an instance that never became complete, or an instance of the device
  /// that announced the most, in favour of another device.
  static let mostInstances = 64
  /// The seconds for which a mere name cannot displace an incomplete instance.
  private static let patience = 1.0
  /// The most instances that are displaced by the instances of one packet.
  private static let mostGivingWay = 4

  /// Whether the interface leads only to this device. On other interfaces a loopback address would
  /// be misleading.
  var isLoopback: Bool
  private(set) var instances: [DNSName: CachedInstance] = [:]
  /// The number of instances that each device announced.
  private var shares: [SocketAddress: Int] = [:]

  init(isLoopback: Bool) { self.isLoopback = isLoopback }

  /// Takes the instances of a device's answer; false if it names none.
  mutating func take(_ packet: DNSPacket, from source: SocketAddress, now: Double) -> Bool {
    let records = packet.answers + packet.additionals
    var isHeeded = false
    var mayGiveWay = Self.mostGivingWay
    let located = Set(records.lazy.filter { $0.type == .srv }.map(\.name))
    for record in records where record.name == ServiceNames.type {
      guard case .pointer(let name) = record.data else { continue }
      let patience = located.contains(name) ? 0 : Self.patience
      if takePointer(name, record.ttl, source, now: now, patience, &mayGiveWay) { isHeeded = true }
    }
    guard !instances.isEmpty else { return isHeeded }
    var heard: [DNSName: CachedInstance.HeardAddresses] = [:]
    for record in records {
      switch record.data {
      case .service(let location) where instances[record.name] != nil:
        instances[record.name]?.take(location, ttl: record.ttl, now: now)
      case .text(let bytes) where instances[record.name] != nil:
        instances[record.name]?.take(id: Service.instance(ofText: bytes), ttl: record.ttl, now: now)
      case .address(let address) where address.isDevice && (isLoopback || !address.isLoopback):
        heard[record.name, default: CachedInstance.HeardAddresses()].add(
          address, ttl: record.ttl, flushes: record.flushes)
        continue
      default: continue
      }
      isHeeded = true
    }
    guard !heard.isEmpty else { return isHeeded }
    for (name, instance) in instances {
      guard let target = instance.location?.0.target, let addresses = heard[target] else { continue }
      instances[name]?.take(addresses, now: now)
      isHeeded = true
    }
    return isHeeded
  }

  /// Takes news of an instance; false if it is ignored. The news displaces incomplete instances
  /// that are older than `patience`.
  private mutating func takePointer(
    _ name: DNSName, _ ttl: UInt32, _ source: SocketAddress, now: Double, _ patience: Double, _ mayGiveWay: inout Int
  ) -> Bool {
    guard name.label(before: ServiceNames.type) != nil else { return false }
    if instances[name] != nil {
      if ttl > 0 {
        instances[name]?.pointer = CachedInstance.Lifetime(ttl: ttl, now: now)
      } else {
        instances[name]?.pointer.end(now: now)
      }
      return true
    }
    guard ttl > 0 else { return false }
    if instances.count >= Self.mostInstances {
      guard mayGiveWay > 0, let leaving = leaving(for: source, now: now, patience) else {
        mayGiveWay = 0
        return false
      }
      mayGiveWay -= 1
      remove(leaving)
    }
    instances[name] = CachedInstance(CachedInstance.Lifetime(ttl: ttl, now: now), from: source, now: now)
    shares[source, default: 0] += 1
    return true
  }

  /// The instance that a device's next instance displaces. This is the oldest incomplete instance
  /// of a device that announced no fewer, or the newest instance of the device that announced the
  /// most, if that device still has no fewer afterwards.
  private func leaving(for source: SocketAddress, now: Double, _ patience: Double) -> DNSName? {
    let own = shares[source] ?? 0
    let incomplete = instances.lazy.filter { [shares] in
      !$1.isComplete && $1.pointer.received < now - patience && (shares[$1.source] ?? 0) >= own
    }
    if let oldest = incomplete.min(by: { $0.value.pointer.received < $1.value.pointer.received }) { return oldest.key }
    guard let most = shares.values.max(), most > own + 1 else { return nil }
    return instances.lazy.filter { [shares] in shares[$1.source] == most }.max { $0.value.since < $1.value.since }?.key
  }

  private mutating func remove(_ name: DNSName) {
    guard let source = instances.removeValue(forKey: name)?.source, let share = shares[source] else { return }
    shares[source] = share > 1 ? share - 1 : nil
  }

  /// Forgets expired records.
  mutating func forget(now: Double) {
    for name in Array(instances.keys) where instances[name]?.forget(now: now) == false { remove(name) }
  }

  /// When the next record expires.
  var expiry: Double { instances.values.reduce(.infinity) { min($0, $1.expiry) } }
}
