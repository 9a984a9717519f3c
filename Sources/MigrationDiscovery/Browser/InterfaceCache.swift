/// The instances that are known on one interface.
///
/// Records count only if they belong to an instance that is known, so that a flood of others takes no memory.
struct InterfaceCache: Sendable {
  /// How many instances are kept. Further ones are ignored, so that false ones do not drive out those that are known; but
  /// one that never became complete gives way.
  static let mostInstances = 64
  /// For how long one that is incomplete does not give way to a name alone, in seconds.
  private static let patience = 1.0
  /// How many give way to the instances of one packet.
  private static let mostGivingWay = 4

  /// Whether the interface leads to this device only. Elsewhere a loopback address would lead astray.
  var isLoopback: Bool
  private(set) var instances: [DNSName: CachedInstance] = [:]

  init(isLoopback: Bool) { self.isLoopback = isLoopback }

  /// Takes what an answer says of instances; false where it says nothing of any.
  mutating func take(_ packet: DNSPacket, _ link: Link, now: Double) -> Bool {
    let records = packet.answers + packet.additionals
    var isHeeded = false
    var mayGiveWay = Self.mostGivingWay
    let located = Set(records.lazy.filter { $0.type == .srv }.map(\.name))
    for record in records where record.name == ServiceNames.type {
      guard case .pointer(let name) = record.data else { continue }
      let patience = located.contains(name) ? 0 : Self.patience
      if takePointer(name, record.ttl, link, now: now, patience, &mayGiveWay) { isHeeded = true }
    }
    guard !instances.isEmpty else { return isHeeded }
    var heard: [DNSName: [HeardAddress]] = [:]
    for record in records {
      switch record.data {
      case .service(let location) where instances[record.name] != nil:
        instances[record.name]?.take(location, ttl: record.ttl, now: now)
      case .text(let bytes) where instances[record.name] != nil:
        instances[record.name]?.take(id: ServiceText.instance(bytes), ttl: record.ttl, now: now)
      case .address(let address) where address.isDevice && (isLoopback || !address.isLoopback):
        let one = HeardAddress(address: address, ttl: record.ttl, flushes: record.flushes)
        heard[record.name, default: []].append(one)
        continue
      default: continue
      }
      instances[record.name]?.link = link
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

  /// Takes news of an instance; false where it is ignored. Incomplete ones that are older than `patience` give way to it.
  private mutating func takePointer(
    _ name: DNSName, _ ttl: UInt32, _ link: Link, now: Double, _ patience: Double, _ mayGiveWay: inout Int
  ) -> Bool {
    guard name.label(before: ServiceNames.type) != nil else { return false }
    if instances[name] != nil {
      if ttl > 0 {
        instances[name]?.pointer = Lifetime(ttl: ttl, now: now)
        instances[name]?.link = link
      } else {
        instances[name]?.pointer.end(now: now)
      }
      return true
    }
    guard ttl > 0 else { return false }
    if instances.count >= Self.mostInstances {
      let incomplete = instances.lazy.filter { !$1.isComplete && $1.pointer.received < now - patience }
      guard mayGiveWay > 0, let oldest = incomplete.min(by: { $0.value.pointer.received < $1.value.pointer.received })
      else {
        mayGiveWay = 0
        return false
      }
      mayGiveWay -= 1
      instances[oldest.key] = nil
    }
    instances[name] = CachedInstance(link, Lifetime(ttl: ttl, now: now), now: now)
    return true
  }

  /// Forgets what is over, and says what has to be asked for, where, of as many instances as fit into a packet.
  mutating func sweep(now: Double) -> [(Link, [DNSQuestion])] {
    var asking: [(Link, [DNSQuestion])] = []
    for name in instances.keys.sorted(by: { $0.wire.lexicographicallyPrecedes($1.wire) }) {
      guard instances[name]?.forget(now: now) == true else {
        instances[name] = nil
        continue
      }
      guard asking.count < Browser.mostInPacket, let link = instances[name]?.link else { continue }
      let questions = instances[name]?.questions(name, now: now) ?? []
      if !questions.isEmpty { asking.append((link, questions)) }
    }
    return asking
  }

  /// When `sweep` has something to do.
  func nextMoment(now: Double) -> Double {
    instances.values.reduce(.infinity) { min($0, $1.nextMoment(now: now)) }
  }

  /// The instances that other devices need not tell again, each with the seconds for which it still holds.
  func knownPointers(now: Double) -> [DNSRecord] {
    instances.filter { $1.pointer.isFresh(now: now) && !$1.pointer.isEnding(now: now) }
      .sorted { $0.key.wire.lexicographicallyPrecedes($1.key.wire) }
      .map { DNSRecord(ServiceNames.type, .pointer($0.key), ttl: UInt32($0.value.pointer.expires - now)) }
  }
}
