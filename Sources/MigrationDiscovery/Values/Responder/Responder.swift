/// Announces one service on several links by multicast DNS (RFC 6762): probes for its name,
/// announces, answers, defends the name or takes another, and withdraws its records at the end.
///
/// A value: events in, actions out. Times are seconds on any clock that runs during sleep. It
/// recognises its own packets by their content when they come back: the host name contains the
/// run's random number.
package struct Responder: Sendable {
  package enum Event: Sendable {
    /// The current links, each with the addresses of its interface, of either family.
    case links([Link: [IPAddress]])
    /// A packet has arrived.
    case packet([UInt8], Link, from: Source)
    /// No event came before `nextMoment`.
    case timePassed
    /// The service ends.
    case withdraw
  }

  package enum Action: Equatable, Sendable {
    /// Sends a packet to the group, or to one asker, from port 5353.
    case send([UInt8], Link, unicastTo: Source?)
    /// The label under which the service is announced, as soon as it is established on one link to
    /// other devices. The event is repeated when the label changes, for example because of a link
    /// on which probing ends later.
    case established(name: String)
    /// The goodbyes have been sent. No action follows.
    case over
  }

  let service: Service
  var random: SeededRandom
  var records: OwnRecords
  var links: [Link: AnnouncedLink] = [:]
  var nameConflicts = NameConflicts()
  /// The number of the attempt at a name, from 1 on.
  var attempt = 1
  private var told: Int?
  private var isWithdrawn = false

  package init(_ service: Service, random seed: UInt64) {
    self.service = service
    random = SeededRandom(seed: seed)
    records = OwnRecords(service, label: InstanceLabel.bytes(service.label))
  }

  /// When `timePassed` is due; this may be in the past.
  package var nextMoment: Double? { isWithdrawn ? nil : links.values.lazy.compactMap(\.nextMoment).min() }

  package mutating func handle(_ event: Event, now: Double) -> [Action] {
    guard !isWithdrawn else { return [] }
    var actions: [Action] = []
    switch event {
    case .links(let links): actions += update(LinkTable.usable(links), now: now)
    case .packet(let bytes, let link, let source): actions += read(bytes, link, source, now: now)
    case .timePassed: break
    case .withdraw: return withdraw()
    }
    for link in links.keys.sorted() where links[link]?.nextMoment.map({ $0 <= now }) == true {
      actions += advance(link, now: now)
    }
    if told != attempt, links.values.contains(where: { $0.isProbed && !$0.isLoopback }) {
      told = attempt
      actions.append(.established(name: label))
    }
    return actions
  }

  /// The label that is announced, or probed for.
  private var label: String { String(decoding: InstanceLabel.bytes(service.label, attempt: attempt), as: UTF8.self) }

  // Links

  /// Probes on new links, and announces again on links whose addresses changed (RFC 6762 §8.4,
  /// §10.1).
  private mutating func update(_ now: [Link: [IPAddress]], now time: Double) -> [Action] {
    var actions: [Action] = []
    for link in now.keys.sorted() {
      let addresses = now[link] ?? []
      guard var known = links[link] else {
        links[link] = AnnouncedLink(addresses, probingAt: time + initialDelay(), now: time)
        continue
      }
      guard known.addresses != addresses else { continue }
      let gone = known.addresses.filter { !addresses.contains($0) }
      known.addresses = addresses
      known.renew(where: \.namesAddresses)
      if known.isProbed {
        known.phase = .announcing(said: 0, at: time)
        if !gone.isEmpty { actions.append(goodbye(records.records([.v4, .v6], gone), on: link)) }
      }
      links[link] = known
    }
    links = links.filter { now[$0.key] != nil }
    return actions
  }

  private mutating func withdraw() -> [Action] {
    isWithdrawn = true
    var actions: [Action] = []
    for (link, known) in links.sorted(by: { $0.key < $1.key }) where known.isProbed {
      actions.append(goodbye(records.records(.withdrawn, known.addresses), on: link))
    }
    links = [:]
    return actions + [.over]
  }

  // Helpers for the other parts

  /// The delay before the first probe, so that devices that start together do not send together
  /// (§8.1).
  mutating func initialDelay() -> Double { random.seconds(0...0.25) }

  /// Withdraws records. They flush nothing: another device may have the name by now.
  func goodbye(_ records: [DNSRecord], on link: Link) -> Action {
    var packet = DNSPacket.response
    packet.answers = records.map { DNSRecord($0.name, $0.data, ttl: 0) }
    return .send(packet.encoded(), link, unicastTo: nil)
  }
}
