import MigrationSystem

/// The records of an instance on one interface.
struct CachedInstance: Sendable {
  /// The number of its addresses that are kept.
  static let mostAddresses = 16

  /// The device that announced it. If there are too many instances, the device with the most
  /// instances loses some.
  let source: SocketAddress
  var pointer: Lifetime
  /// When it was first heard.
  let since: Double
  /// SRV; the last one received.
  private(set) var location: (ServiceLocation, Lifetime)?
  /// The id in TXT, nil for a text without one; the last one received.
  private(set) var text: (UInt64?, Lifetime)?
  private(set) var addresses: [SocketAddress: Lifetime] = [:]

  init(_ pointer: Lifetime, from source: SocketAddress, now: Double) {
    self.source = source
    self.pointer = pointer
    since = now
  }

  /// Whether it can be connected to.
  var isComplete: Bool { location != nil && !addresses.isEmpty }

  // Records

  mutating func take(_ found: ServiceLocation, ttl: UInt32, now: Double) {
    guard ttl > 0 else {
      if location?.0 == found { location?.1.end(now: now) }
      return
    }
    if location?.0.target != found.target { addresses = [:] }
    location = (found, Lifetime(ttl: ttl, now: now))
  }

  mutating func take(id: UInt64?, ttl: UInt32, now: Double) {
    guard ttl > 0 else {
      if let text, text.0 == id { self.text?.1.end(now: now) }
      return
    }
    text = (id, Lifetime(ttl: ttl, now: now))
  }

  /// Takes the addresses of its host from a packet. Records that flush end the older addresses of
  /// their family, except those received within the last second (RFC 6762 §10.2). If there are too
  /// many, the known addresses are kept.
  mutating func take(_ heard: HeardAddresses, now: Double) {
    for (address, lifetime) in addresses
    where (address.isV6 ? heard.flushesV6 : heard.flushesV4) && lifetime.received < now - Lifetime.farewell {
      addresses[address]?.end(now: now)
    }
    for (address, ttl) in heard.addresses {
      guard ttl > 0 else {
        addresses[address]?.end(now: now)
        continue
      }
      if addresses[address] == nil, addresses.count >= Self.mostAddresses {
        guard let ending = addresses.min(by: { $0.value.expires < $1.value.expires }), ending.value.isEnding(now: now)
        else { continue }
        addresses[ending.key] = nil
      }
      addresses[address] = Lifetime(ttl: ttl, now: now)
    }
  }

  // Time

  /// Forgets expired records; false if none are left.
  mutating func forget(now: Double) -> Bool {
    if location?.1.isOver(now: now) == true {
      location = nil
      addresses = [:]
    }
    if text?.1.isOver(now: now) == true { text = nil }
    addresses = addresses.filter { !$0.value.isOver(now: now) }
    return !pointer.isOver(now: now)
  }

  private var lifetimes: [Lifetime] { [location?.1, text?.1].compactMap { $0 } + addresses.values }

  /// When the next record expires.
  var expiry: Double { lifetimes.reduce(pointer.expires) { min($0, $1.expires) } }
}
