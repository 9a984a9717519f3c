/// How a responder comes to a name of its own.
///
/// Only the instance's name is contested. The host name has 64 random bits: a record of another device under it is a
/// replay or a forgery, and is answered by saying the own ones again, at most once a second.
extension Responder {
  /// How long a device waits whose probe lost against another's (RFC 6762 §8.2).
  private static let deference = 1.0

  /// Compares a probe of another device with the own: the greater proposal goes on, the lesser waits, and then meets the
  /// other's answer (RFC 6762 §8.2).
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

  /// Records as they are compared: by class, type and content, the least first.
  private static func proposal(_ records: some Sequence<DNSRecord>) -> [[UInt8]] {
    records.map { record in
      [record.recordClass, record.type.rawValue].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
        + record.data.uncompressed
    }.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Heeds what another device, or this one, says (RFC 6762 §6.6, §7.4, §9).
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
        // Only this device has its instance; that there are such services others say, too.
        if record.name == ServiceNames.enumeration, record.ttl >= OwnRecords.otherTTL {
          links[link]?.settle(.enumeration)
        }
      default: continue
      }
    }
    return []
  }

  /// Says an own record again that was said with less than half of its time, or taken back, by a mistake.
  private mutating func repair(_ record: DNSRecord, _ own: OwnWords, on link: Link, now: Double) {
    guard links[link]?.isProbed == true else { return }
    let kinds = own.here.lazy.filter { $0.record.says(record) && record.ttl < $0.record.ttl / 2 }.map(\.kind)
    links[link]?.owe(AnswerSet(kinds), from: now)
  }

  /// Another device has the name. One that was not probed for yet is given up; one that stood is probed for again
  /// (RFC 6762 §8.1, §9). Before the first probe the name is not claimed: else a device that contradicts ever new names, or
  /// one that is waited for, would use them all up.
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
    records = OwnRecords(service, label: InstanceLabel.bytes(service.label, attempt: attempt))
    var actions: [Action] = []
    for (other, announced) in links.sorted(by: { $0.key < $1.key }) {
      // Where the other device is heard, the old name is its own by now.
      if announced.isProbed, other.interface != link.interface {
        actions.append(goodbye(old.records(.instance, []), on: other))
      }
      links[other]?.renew(where: \.namesInstance)
      links[other]?.probe(at: start)
    }
    return actions
  }
}

/// What this device says itself, by which its own packets are known that come back.
private struct OwnWords {
  /// The records that are announced on the link.
  let here: [(kind: AnswerKind, record: DNSRecord)]
  private let host: DNSName
  /// The addresses of all links: two interfaces may lead to one network.
  private let addresses: Set<IPAddress>

  init(_ records: OwnRecords, _ links: [Link: AnnouncedLink], on link: Link) {
    let known = links[link]?.addresses ?? []
    here = AnswerSet.announced.flatMap { kind in records.records(kind, known).map { (kind, $0) } }
    host = records.host
    addresses = Set(links.values.flatMap(\.addresses))
  }

  /// Whether this device says the same, on any of its links.
  func has(_ record: DNSRecord) -> Bool {
    if case .address(let address) = record.data { return record.name == host && addresses.contains(address) }
    return here.contains { $0.record.says(record) }
  }
}
