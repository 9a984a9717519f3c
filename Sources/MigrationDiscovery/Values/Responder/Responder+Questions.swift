/// How a responder reads packets and answers questions.
extension Responder {
  /// The most questions of a plain resolver that an answer repeats; packets with more get no
  /// answer.
  private static let mostLegacyQuestions = 8

  mutating func read(_ bytes: [UInt8], _ link: Link, _ source: Source, now: Double) -> [Action] {
    guard let known = links[link], let packet = try? DNSPacket(bytes), packet.isPlain else { return [] }
    if packet.isResponse {
      // Answers of multicast DNS come from its port; all others are ignored (RFC 6762 §6).
      return source.isLegacy ? [] : hear(packet, on: link, now: now)
    }
    if !packet.authorities.isEmpty, !source.isLegacy { meet(packet, on: link, now: now) }
    guard known.isProbed else { return [] }
    return source.isLegacy
      ? answerLegacy(packet, known.addresses, on: link, for: source, now: now)
      : answer(packet, known, on: link, for: source, now: now)
  }

  /// Answers a question of multicast DNS, possibly later and in parts (RFC 6762 §5.4, §6, §7).
  private mutating func answer(
    _ query: DNSPacket, _ announced: AnnouncedLink, on link: Link, for source: Source, now: Double
  ) -> [Action] {
    var known = announced
    defer { links[link] = known }
    let addresses = known.addresses
    known.release(source) { self.known($0, query.answers, addresses) }
    var (toAll, toOne): (AnswerSet, AnswerSet) = ([], [])
    for question in query.questions {
      for kind in records.answers(question, addresses) {
        // A single asker may get a unicast answer as long as the records in the other devices'
        // caches are fresh.
        let isFresh = known.wasSent(kind, within: Self.freshness(kind), now: now)
        if question.wantsUnicast, isFresh { toOne.insert(kind) } else { toAll.insert(kind) }
      }
    }
    toAll.subtract(self.known(toAll, query.answers, addresses))
    toOne.subtract(toAll.union(self.known(toOne, query.answers, addresses)))
    var actions: [Action] = []
    if query.isTruncated {
      let wanted = toAll.union(toOne)
      guard !wanted.isEmpty else { return [] }
      if known.hold(source, wanted, until: now + random.seconds(0.4...0.5), now: now) { return [] }
      toAll = wanted
    } else if !toOne.isEmpty {
      if known.takeUnicast(now: now) {
        let packet = response(toOne, records.additions(toOne), addresses)
        actions.append(.send(packet.encoded(), link, unicastTo: source))
      } else {
        toAll.formUnion(toOne)
      }
    }
    if !toAll.isEmpty {
      let delay = toAll.contains(where: \.isShared) ? random.seconds(0.02...0.12) : 0
      known.owe(toAll, from: now + delay, isDefence: !query.authorities.isEmpty)
    }
    return actions
  }

  /// Answers a plain resolver as a plain name server would (RFC 6762 §6.7).
  private mutating func answerLegacy(
    _ query: DNSPacket, _ addresses: [IPAddress], on link: Link, for source: Source, now: Double
  ) -> [Action] {
    guard query.questions.count <= Self.mostLegacyQuestions else { return [] }
    let kinds = query.questions.reduce(into: AnswerSet()) { $0.formUnion(records.answers($1, addresses)) }
    guard !kinds.isEmpty, links[link]?.takeUnicast(now: now) == true else { return [] }
    var packet = response(kinds, records.additions(kinds), addresses)
    packet.id = query.id
    packet.questions = query.questions
    packet.answers = packet.answers.map(Self.forLegacy)
    packet.additionals = packet.additionals.map(Self.forLegacy)
    return [.send(packet.encoded(compressingTargets: false), link, unicastTo: source)]
  }

  private static func forLegacy(_ record: DNSRecord) -> DNSRecord {
    DNSRecord(record.name, record.data, ttl: min(record.ttl, OwnRecords.legacyTTL))
  }

  /// The kinds that the asker knows already: all their records, for at least half of their lifetime
  /// (§7.1).
  private func known(_ kinds: AnswerSet, _ answers: [DNSRecord], _ addresses: [IPAddress]) -> AnswerSet {
    guard !answers.isEmpty else { return [] }
    return AnswerSet(
      kinds.filter { kind in
        records.records(kind, addresses).allSatisfy { own in
          answers.contains { $0.says(own) && $0.ttl >= own.ttl / 2 }
        }
      })
  }

  /// A quarter of a kind's lifetime.
  private static func freshness(_ kind: AnswerKind) -> Double {
    switch kind {
    case .service, .v4, .v6, .hostTypes: Double(OwnRecords.hostTTL) / 4
    case .pointer, .enumeration, .text, .instanceTypes: Double(OwnRecords.otherTTL) / 4
    }
  }
}
