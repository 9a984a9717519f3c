/// Announces one service on several links by multicast DNS (RFC 6762): probes for its name, announces, answers, defends
/// the name or takes another, and says goodbye.
///
/// A value: events in, actions out. Times are seconds on any clock that counts sleep. Own packets that come back are known
/// by what they say: the host name has the run's random number in it.
package struct Responder: Sendable {
  package enum Event: Sendable {
    /// The links that there are now, each with addresses of its interface, of either family.
    case links([Link: [IPAddress]])
    /// A packet has come.
    case packet([UInt8], Link, from: Source)
    /// Nothing happened until `nextMoment`.
    case timePassed
    /// The service ends.
    case withdraw
  }

  package enum Action: Equatable, Sendable {
    /// A packet goes to the group, or to one asker, from port 5353.
    case send([UInt8], Link, unicastTo: Source?)
    /// The label under which the service is announced, as soon as it stands on one link to other devices; again when it
    /// changes, which a link where it is probed for later may bring about.
    case established(name: String)
    /// The goodbyes are sent. Nothing follows.
    case over
  }

  let service: Service
  var random: SeededRandom
  var records: OwnRecords
  var links: [Link: AnnouncedLink] = [:]
  var nameConflicts = NameConflicts()
  /// Which name after the wanted one it is, from 1 on.
  var attempt = 1
  private var told: Int?
  private var isWithdrawn = false

  package init(_ service: Service, random seed: UInt64) {
    self.service = service
    random = SeededRandom(seed: seed)
    records = OwnRecords(service, label: InstanceLabel.bytes(service.label))
  }

  /// When `timePassed` has something to do, which may be over already.
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

  /// Probes on links that are new, and announces again where addresses changed (RFC 6762 §8.4, §10.1).
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

  // What other parts need

  /// How long the first probe waits, so that devices that start together do not send together (§8.1).
  mutating func initialDelay() -> Double { random.seconds(0...0.25) }

  /// Takes records back. They flush nothing: another device may have the name by now.
  func goodbye(_ records: [DNSRecord], on link: Link) -> Action {
    var packet = DNSPacket.response
    packet.answers = records.map { DNSRecord($0.name, $0.data, ttl: 0) }
    return .send(packet.encoded(), link, unicastTo: nil)
  }
}
