import MigrationSystem

/// Finds the instances of the service on several links by multicast DNS (RFC 6762 §5.2).
///
/// It asks for the service, again and again, and names no instances that it knows: so each answers with
/// all its records (RFC 6763 §12.1), of which none expires.
package struct Browser: LinkHandler {
  /// The news is all instances that can be connected to now, by name.
  package typealias Action = LinkAction<[NearbyDevice]>

  /// The seconds for which news waits for more news, so that changes in between are processed
  /// together.
  private static let patience = 0.05
  /// The longest pause between two questions, in seconds; the pauses double from the first on.
  private static let longestPause = 30.0

  private var random: SeededRandom
  /// When each link is asked next, and the pause after that.
  private var asking: [Link: (at: Double, pause: Double)] = [:]
  private var caches: [UInt32: InterfaceCache] = [:]
  private var sweepAt = Double.infinity
  private var told: [NearbyDevice] = []

  package init(random seed: UInt64) { random = SeededRandom(seed: seed) }

  package var nextMoment: Double? {
    let next = asking.values.reduce(sweepAt) { min($0, $1.at) }
    return next < .infinity ? next : nil
  }

  package mutating func handle(_ event: LinkEvent, now: Double) -> [Action] {
    switch event {
    case .links(let links): update(links, now: now)
    case .packet(let bytes, let link, let source): read(bytes, link, source, now: now)
    case .timePassed: break
    case .stop: return [.over]
    }
    var actions: [Action] = []
    for (link, ask) in asking.sorted(by: { $0.key < $1.key }) where ask.at <= now {
      asking[link] = (at: now + ask.pause, pause: min(Self.longestPause, ask.pause * 2))
      actions.append(.send(question.encoded(), link))
    }
    if sweepAt <= now { actions += sweep(now: now) }
    return actions
  }

  private mutating func update(_ links: [Link: [SocketAddress]], now: Double) {
    for link in links.keys.sorted() where asking[link] == nil {
      asking[link] = (at: now + random.seconds(0.02...0.12), pause: 1)
    }
    asking = asking.filter { links[$0.key] != nil }
    for (link, addresses) in links {
      let isLoopback = addresses.allSatisfy(\.isLoopback)
      caches[link.interface, default: InterfaceCache(isLoopback: isLoopback)].isLoopback = isLoopback
    }
    let interfaces = Set(links.keys.map(\.interface))
    caches = caches.filter { interfaces.contains($0.key) }
    sweepAt = now
  }

  private mutating func read(_ bytes: [UInt8], _ link: Link, _ source: SocketAddress, now: Double) {
    guard asking[link] != nil, let packet = try? DNSPacket(bytes), packet.isResponse, packet.isPlain else { return }
    if caches[link.interface]?.take(packet, from: source, now: now) == true {
      sweepAt = min(sweepAt, now + Self.patience)
    }
  }

  /// The answer may go to all devices: if another program shares the port, an answer to this device
  /// alone might reach that program instead.
  private var question: DNSPacket {
    var packet = DNSPacket.query
    packet.questions = [DNSQuestion(ServiceNames.type, .ptr)]
    return packet
  }

  /// Forgets expired records, and reports the receivers that were found.
  private mutating func sweep(now: Double) -> [Action] {
    for interface in caches.keys { caches[interface]?.forget(now: now) }
    sweepAt = max(caches.values.reduce(.infinity) { min($0, $1.expiry) }, now + Self.patience)
    let found = NearbyDevice.all(caches)
    guard found != told else { return [] }
    told = found
    return [.tell(found)]
  }
}

extension CachedInstance {
  /// The addresses of a host in one packet: each once, and no more than needed, so that a packet
  /// costs little regardless of the number of instances in it.
  struct HeardAddresses: Sendable {
    /// The most addresses of a host that count in a packet.
    static let most = 32

    /// The addresses with the seconds for which each is valid, in the packet's order; the last value
    /// counts.
    private(set) var addresses: [(SocketAddress, UInt32)] = []
    /// Whether they replace the older addresses of their family.
    private(set) var flushesV4 = false
    private(set) var flushesV6 = false

    mutating func add(_ address: SocketAddress, ttl: UInt32, flushes: Bool) {
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

  /// The time during which a record is valid.
  struct Lifetime: Equatable, Sendable {
    /// The longest lifetime that is accepted, in seconds.
    private static let longest = 4500.0
    /// The seconds for which a record remains valid after it is withdrawn or replaced (RFC 6762
    /// §10.1, §10.2).
    static let farewell = 1.0

    let received: Double
    private(set) var expires: Double

    init(ttl: UInt32, now: Double) {
      received = now
      expires = now + min(Double(ttl), Self.longest)
    }

    func isOver(now: Double) -> Bool { expires <= now }
    func isEnding(now: Double) -> Bool { expires <= now + Self.farewell }

    /// Ends the lifetime, because the record was withdrawn.
    mutating func end(now: Double) { expires = min(expires, now + Self.farewell) }
  }
}
