/// The steps of a responder as time passes.
extension Responder {
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
}
