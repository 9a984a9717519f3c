/// Announces one service on several links by multicast DNS (RFC 6762): probes for its name,
/// announces, answers, defends the name or takes another, and withdraws its records at the end.
///
/// It recognises its own packets by their content when they come back: the host name contains the
/// run's random number.
package struct Responder: LinkHandler {
  /// The news is the label, once it is established on a link to other devices.
  package typealias Action = LinkAction<String>

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
    records = OwnRecords(service, label: Service.labelBytes(service.label))
  }

  package var nextMoment: Double? { isWithdrawn ? nil : links.values.lazy.compactMap(\.nextMoment).min() }

  package mutating func handle(_ event: LinkEvent, now: Double) -> [Action] {
    guard !isWithdrawn else { return [] }
    var actions: [Action] = []
    switch event {
    case .links(let links): actions += update(links.usable, now: now)
    case .packet(let bytes, let link, let source): actions += read(bytes, link, source, now: now)
    case .timePassed: break
    case .stop: return withdraw()
    }
    for link in links.keys.sorted() where links[link]?.nextMoment.map({ $0 <= now }) == true {
      actions += advance(link, now: now)
    }
    if told != attempt, links.values.contains(where: { $0.isProbed && !$0.isLoopback }) {
      told = attempt
      actions.append(.tell(label))
    }
    return actions
  }

  /// The label that is announced, or probed for.
  private var label: String { String(decoding: Service.labelBytes(service.label, attempt: attempt), as: UTF8.self) }

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

  /// The number of probes, and the time between them (RFC 6762 §8.1).
  private static let probes = 3
  private static let probeInterval = 0.25
  /// The number of announcements that follow; the pauses between them start at one second and
  /// double (§8.3).
  private static let announcements = 3

  /// Performs the steps that are due on a link.
  mutating func advance(_ link: Link, now: Double) -> [Action] {
    guard var known = links[link] else { return [] }
    var actions: [Action] = []
    if case .probing(let sent, let at, _) = known.phase, at <= now {
      if sent < Self.probes {
        known.phase = .probing(sent: sent + 1, at: now + Self.probeInterval, isDeferred: false)
        actions.append(.send(probe(known.addresses).encoded(), link, unicastTo: nil))
      } else {
        known.phase = .announcing(said: 0, at: now)
      }
    }
    if case .announcing(let said, let at) = known.phase, at <= now {
      known.owe(.announced, from: now)
      let next = now + AnnouncedLink.pause * Double(1 << said)
      known.phase = said + 1 < Self.announcements ? .announcing(said: said + 1, at: next) : .standing
    }
    known.owe(known.takeHeld(now: now), from: now)
    let kinds = known.takeDue(now: now)
    if !kinds.isEmpty {
      let additions = known.sendable(records.additions(kinds), now: now)
      known.sent(kinds.union(additions), now: now)
      let packet = response(kinds, additions, known.addresses)
      if !packet.answers.isEmpty { actions.append(.send(packet.encoded(), link, unicastTo: nil)) }
    }
    links[link] = known
    return actions
  }

  /// An answer with its additional records.
  func response(_ kinds: AnswerSet, _ additions: AnswerSet, _ addresses: [IPAddress]) -> DNSPacket {
    var packet = DNSPacket.response
    packet.answers = records.records(kinds, addresses)
    packet.additionals = records.records(additions, addresses)
    return packet
  }

  /// Asks for the names, and proposes its own records for them. The answer may go to all devices:
  /// if another program shares the port, an answer to this device alone might reach that program
  /// instead.
  private func probe(_ addresses: [IPAddress]) -> DNSPacket {
    var packet = DNSPacket.query
    packet.questions = [DNSQuestion(records.instance, .any), DNSQuestion(records.host, .any)]
    packet.authorities = records.records([.service, .text, .v4, .v6], addresses).map {
      DNSRecord($0.name, $0.data, ttl: $0.ttl)
    }
    return packet
  }

  /// The seconds that a device waits after its probe has lost against another (RFC 6762 §8.2).
  private static let deference = 1.0

  /// Compares a probe of another device with the responder's own: the greater proposal continues,
  /// and the lesser waits and then receives the other's answer (RFC 6762 §8.2).
  ///
  /// Before the first probe there is nothing to compare.
  mutating func meet(_ probe: DNSPacket, on link: Link, now: Double) {
    guard case .probing(let sent, _, _) = links[link]?.phase, sent > 0 else { return }
    let theirs = Self.proposal(probe.authorities.filter { $0.name == records.instance })
    guard !theirs.isEmpty else { return }
    let ours = Self.proposal(records.records([.service, .text], []))
    guard ours.lexicographicallyPrecedes(theirs, by: { $0.lexicographicallyPrecedes($1) }) else { return }
    links[link]?.probe(at: now + (nameConflicts.count(now: now) ?? Self.deference), isDeferred: true)
  }

  /// Records in the order of comparison: by class, type and content, the least first.
  private static func proposal(_ records: some Sequence<DNSRecord>) -> [[UInt8]] {
    records.map { record in
      [record.recordClass, record.type.rawValue].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
        + record.data.uncompressed
    }.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Processes the answers of another device, or of this one (RFC 6762 §6.6, §7.4, §9).
  mutating func hear(_ response: DNSPacket, on link: Link, now: Double) -> [Action] {
    // Once for all records of the packet, which may be very many.
    let own = OwnWords(records, links, on: link)
    for record in [response.answers, response.additionals].joined() where record.recordClass == DNSQuestion.internet {
      switch record.name {
      case records.instance:
        guard record.type != .nsec else { continue }
        if own.has(record) {
          repair(record, own, on: link, now: now)
        } else if record.ttl > 0, links[link]?.isProbed == false || record.type == .srv || record.type == .txt {
          return conflict(on: link, now: now)
        }
      case records.host:
        if own.has(record) {
          repair(record, own, on: link, now: now)
        } else if record.ttl > 0, links[link]?.isProbed == true, record.type == .a || record.type == .aaaa {
          links[link]?.owe([.v4, .v6], from: now)
        }
      case ServiceNames.type, ServiceNames.enumeration:
        guard own.has(record) else { continue }
        repair(record, own, on: link, now: now)
        // Only this device announces its instance; other devices also announce the service type.
        if record.name == ServiceNames.enumeration, record.ttl >= OwnRecords.otherTTL {
          links[link]?.settle(.enumeration)
        }
      default: continue
      }
    }
    return []
  }

  /// Sends one of its own records again after another device has sent it with less than half of its
  /// lifetime, or has withdrawn it, by mistake.
  private mutating func repair(_ record: DNSRecord, _ own: OwnWords, on link: Link, now: Double) {
    guard links[link]?.isProbed == true else { return }
    let kinds = own.here.lazy.filter { $0.record.says(record) && record.ttl < $0.record.ttl / 2 }.map(\.kind)
    links[link]?.owe(AnswerSet(kinds), from: now)
  }

  /// Handles a name that another device has. A name that is still being probed for is given up; an
  /// established name is probed for again (RFC 6762 §8.1, §9). Before the first probe the responder
  /// does not claim the name: otherwise a device that contradicts each new name, or a device that
  /// this one waits for, would use up all names.
  private mutating func conflict(on link: Link, now: Double) -> [Action] {
    guard let known = links[link], !known.isBeforeProbes else { return [] }
    let wait = nameConflicts.count(now: now)
    let start = now + (wait ?? initialDelay())
    guard !known.isProbed else {
      links[link]?.probe(at: start)
      return []
    }
    let old = records
    attempt += 1
    records = OwnRecords(service, label: Service.labelBytes(service.label, attempt: attempt))
    var actions: [Action] = []
    for (other, announced) in links.sorted(by: { $0.key < $1.key }) {
      // On links where the other device is heard, that device has the old name by now.
      if announced.isProbed, other.interface != link.interface {
        actions.append(goodbye(old.records(.instance, []), on: other))
      }
      links[other]?.renew(where: \.namesInstance)
      links[other]?.probe(at: start)
    }
    return actions
  }

  /// The device's own records, for recognising its own packets when they come back.
  private struct OwnWords {
    /// The records that are announced on the link.
    let here: [(kind: AnswerKind, record: DNSRecord)]
    private let host: DNSName
    /// The addresses of all links, because two interfaces may lead to one network.
    private let addresses: Set<IPAddress>

    init(_ records: OwnRecords, _ links: [Link: AnnouncedLink], on link: Link) {
      let known = links[link]?.addresses ?? []
      here = AnswerSet.announced.flatMap { kind in records.records(kind, known).map { (kind, $0) } }
      host = records.host
      addresses = Set(links.values.flatMap(\.addresses))
    }

    /// Whether this device announces the same record, on any of its links.
    func has(_ record: DNSRecord) -> Bool {
      if case .address(let address) = record.data { return record.name == host && addresses.contains(address) }
      return here.contains { $0.record.says(record) }
    }
  }

  /// Counts conflicts over names, so that a device that contradicts without limit is not answered
  /// without limit (RFC 6762 §8.1, with a period of ten seconds).
  struct NameConflicts: Sendable {
    /// This many conflicts within this many seconds are too many.
    private static let most = 15
    private static let span = 60.0
    /// The pause before the next probe in this case, in seconds.
    private static let wait = 5.0

    private var times: [Double] = []

    /// Counts a conflict. Returns how long the next probe has to wait, or nil for the usual time.
    mutating func count(now: Double) -> Double? {
      times = times.filter { now - $0 < Self.span }.suffix(Self.most - 1) + [now]
      return times.count >= Self.most ? Self.wait : nil
    }
  }
}
