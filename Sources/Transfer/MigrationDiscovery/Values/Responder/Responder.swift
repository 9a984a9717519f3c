import MigrationSystem

/// Announces one service on several links by multicast DNS (RFC 6762): announces, answers, and withdraws
/// its records at the end.
///
/// It does not ask first whether another device has its names (RFC 6762 §8.1): digits of the run's random
/// number are in them. By its records' content it recognises its own packets when they come back.
package struct Responder: LinkHandler {
  /// The news is the label, once it is announced on a link to other devices.
  package typealias Action = LinkAction<String>

  /// The most answers in a minute to other devices that have its names: two with the same digits would answer
  /// each other without end.
  private static let mostDefences = 10

  let records: OwnRecords
  private let label: String
  private var random: SeededRandom
  private(set) var links: [Link: AnnouncedLink] = [:]
  private var isTold = false
  /// The answers to such devices, and since when they are counted.
  private var defences = (count: 0, since: -Double.infinity)
  private var isWithdrawn = false

  package init(_ service: Service, random seed: UInt64) {
    records = OwnRecords(service)
    label = String(decoding: service.labelBytes, as: UTF8.self)
    random = SeededRandom(seed: seed)
  }

  package var nextMoment: Double? { isWithdrawn ? nil : links.values.lazy.compactMap(\.nextMoment).min() }

  package mutating func handle(_ event: LinkEvent, now: Double) -> [Action] {
    guard !isWithdrawn else { return [] }
    var actions: [Action] = []
    switch event {
    case .links(let links): actions += update(links, now: now)
    case .packet(let bytes, let link, _): read(bytes, link, now: now)
    case .timePassed: break
    case .stop: return withdraw()
    }
    for link in links.keys.sorted() { actions += advance(link, now: now) }
    if !isTold, links.values.contains(where: { $0.isAnnounced && !$0.isLoopback }) {
      isTold = true
      actions.append(.tell(label))
    }
    return actions
  }

  /// Announces on new links, and again on links whose addresses changed (RFC 6762 §8.4, §10.1). Devices
  /// that start together do not send together (§8.1).
  private mutating func update(_ now: [Link: [SocketAddress]], now time: Double) -> [Action] {
    var actions: [Action] = []
    for link in now.keys.sorted() {
      let addresses = now[link] ?? []
      guard let known = links[link] else {
        links[link] = AnnouncedLink(addresses, announcingAt: time + random.seconds(0...0.25))
        continue
      }
      guard known.addresses != addresses, let gone = links[link]?.change(to: addresses, now: time) else { continue }
      if known.isAnnounced, !gone.isEmpty { actions.append(goodbye([.v4, .v6], gone, on: link)) }
    }
    links = links.filter { now[$0.key] != nil }
    return actions
  }

  private mutating func withdraw() -> [Action] {
    isWithdrawn = true
    let announced = links.filter(\.value.isAnnounced).sorted { $0.key < $1.key }
    links = [:]
    return announced.map { goodbye(AnswerKind.all, $1.addresses, on: $0) } + [.over]
  }

  /// Withdraws records.
  private func goodbye(_ kinds: Set<AnswerKind>, _ addresses: [SocketAddress], on link: Link) -> Action {
    var packet = DNSPacket.response
    packet.answers = records.records(kinds, addresses).map { DNSRecord($0.name, $0.data, ttl: 0) }
    return .send(packet.encoded(), link)
  }

  /// Sends the records that are due on a link.
  private mutating func advance(_ link: Link, now: Double) -> [Action] {
    guard let addresses = links[link]?.addresses, let due = links[link]?.takeDue(now: now) else { return [] }
    var packet = DNSPacket.response
    packet.answers = records.records(due.answers, addresses)
    packet.additionals = records.records(due.additions, addresses)
    return packet.answers.isEmpty ? [] : [.send(packet.encoded(), link)]
  }

  private mutating func read(_ bytes: [UInt8], _ link: Link, now: Double) {
    guard let addresses = links[link]?.addresses, let packet = try? DNSPacket(bytes), packet.isPlain else { return }
    if packet.isResponse {
      hear(packet, addresses, on: link, now: now)
    } else {
      answer(packet, addresses, on: link, now: now)
    }
  }

  /// Answers a question, unless the asker knows all records of the answer, for at least half of their
  /// lifetime (RFC 6762 §6, §7.1).
  private mutating func answer(_ query: DNSPacket, _ addresses: [SocketAddress], on link: Link, now: Double) {
    let asked = query.questions.flatMap { records.kinds($0.name, $0.type == .any ? nil : $0.type) }
    let wanted = Set(asked).filter { kind in
      !records.records(kind, addresses).allSatisfy { own in
        query.answers.contains { $0.says(own) && $0.ttl >= own.ttl / 2 }
      }
    }
    links[link]?.owe(wanted, from: now + (wanted.contains(.pointer) ? random.seconds(0.02...0.12) : 0))
  }

  /// Sends an own record again after another device has withdrawn it, or sent it with less than half of
  /// its lifetime, or another one in its place (RFC 6762 §6.6, §9).
  private mutating func hear(_ response: DNSPacket, _ addresses: [SocketAddress], on link: Link, now: Double) {
    let own = records.records(AnswerKind.all, addresses)
    // Those of all links, because two interfaces may lead to one network.
    let ownAddresses = Set(links.values.flatMap(\.addresses))
    if now - defences.since >= 60 { defences = (0, now) }
    var isRival = false
    defer { if isRival { defences.count += 1 } }
    for record in response.answers + response.additionals {
      let kinds = records.kinds(record.name, record.type)
      guard !kinds.isEmpty else { continue }
      if let same = own.first(where: { $0.says(record) }) {
        if record.ttl < same.ttl / 2 { links[link]?.owe(Set(kinds), from: now) }
        continue
      }
      if case .address(let address) = record.data, ownAddresses.contains(address) { continue }
      guard record.ttl > 0, record.type != .ptr, defences.count < Self.mostDefences else { continue }
      links[link]?.owe(Set(kinds), from: now)
      isRival = true
    }
  }
}
