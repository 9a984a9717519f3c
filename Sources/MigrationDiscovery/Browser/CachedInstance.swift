/// What is known of an instance on one interface.
struct CachedInstance: Sendable {
  /// How many of its addresses are kept.
  static let mostAddresses = 16
  /// How long its other records may take after the first, before they are asked for, in seconds.
  private static let patience = 0.1
  /// The longest pause between two questions for the same, in seconds.
  private static let longestPause = 60.0

  /// Where it was last heard of, and is asked.
  var link: Link
  var pointer: Lifetime
  /// SRV; the last that came.
  private(set) var location: (ServiceLocation, Lifetime)?
  /// The id in TXT, nil in a text without one; the last that came.
  private(set) var text: (UInt64?, Lifetime)?
  private(set) var addresses: [IPAddress: Lifetime] = [:]
  /// How often in a row its records were asked for, and when they may be again.
  private var asked = 0
  private var askAt: Double

  init(_ link: Link, _ pointer: Lifetime, now: Double) {
    self.link = link
    self.pointer = pointer
    askAt = now + Self.patience
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

  /// Takes the addresses of its host in a packet. Those that flush end the older ones of their family, unless they have
  /// come within the last second (RFC 6762 §10.2). Of too many the known ones stay.
  mutating func take(_ heard: [HeardAddress], now: Double) {
    for one in heard where one.flushes {
      for (address, lifetime) in addresses
      where address.isV6 == one.address.isV6 && lifetime.received < now - Lifetime.farewell {
        addresses[address]?.end(now: now)
      }
    }
    for one in heard {
      guard one.ttl > 0 else {
        addresses[one.address]?.end(now: now)
        continue
      }
      if addresses[one.address] == nil, addresses.count >= Self.mostAddresses {
        guard let ending = addresses.min(by: { $0.value.expires < $1.value.expires }), ending.value.isEnding(now: now)
        else { continue }
        addresses[ending.key] = nil
      }
      addresses[one.address] = Lifetime(ttl: one.ttl, now: now)
    }
  }

  // Time

  /// Forgets what is over; false where nothing is left.
  mutating func forget(now: Double) -> Bool {
    if location?.1.isOver(now: now) == true {
      location = nil
      addresses = [:]
    }
    if text?.1.isOver(now: now) == true { text = nil }
    addresses = addresses.filter { !$0.value.isOver(now: now) }
    return !pointer.isOver(now: now)
  }

  /// What has to be asked now, each once a second at first, and then ever more seldom.
  mutating func questions(_ name: DNSName, now: Double) -> [DNSQuestion] {
    let missing = missing(name, now: now)
    guard !missing.isEmpty else {
      asked = 0
      return []
    }
    guard askAt <= now else { return [] }
    askAt = now + min(Self.longestPause, Double(1 << min(asked, 6)))
    asked += 1
    return missing
  }

  /// Asks for what is not known, or soon no more.
  private func missing(_ name: DNSName, now: Double) -> [DNSQuestion] {
    var missing: [DNSQuestion] = []
    if location.map({ $0.1.aging <= now }) ?? true { missing.append(DNSQuestion(name, .srv)) }
    if text.map({ $0.1.aging <= now }) ?? true { missing.append(DNSQuestion(name, .txt)) }
    guard let target = location?.0.target else { return missing }
    for type in [DNSType.a, .aaaa] {
      let isAging = addresses.contains { $0.key.isV6 == (type == .aaaa) && $0.value.aging <= now }
      if addresses.isEmpty || isAging { missing.append(DNSQuestion(target, type)) }
    }
    return missing
  }

  /// When something has to be forgotten or asked for.
  func nextMoment(now: Double) -> Double {
    let lifetimes = [location?.1, text?.1].compactMap { $0 } + addresses.values
    let expiry = lifetimes.reduce(pointer.expires) { min($0, $1.expires) }
    let isMissing = location == nil || text == nil || addresses.isEmpty
    let aging = lifetimes.reduce(.infinity) { min($0, $1.aging) }
    return min(expiry, max(askAt, isMissing ? now : aging))
  }
}

/// An address record as it was heard.
struct HeardAddress: Sendable {
  let address: IPAddress
  let ttl: UInt32
  let flushes: Bool
}
