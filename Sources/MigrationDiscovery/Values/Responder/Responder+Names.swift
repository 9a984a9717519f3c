/// How a responder gets a name of its own.
///
/// Only the instance's name can be contested. The host name has 64 random bits, so a record of
/// another device under this name is a replay or a forgery. The responder answers it by sending its
/// own records again, at most once a second.
extension Responder {
  /// How long a device waits after its probe has lost against another (RFC 6762 §8.2).
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
    records = OwnRecords(service, label: InstanceLabel.bytes(service.label, attempt: attempt))
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
