import Expectations
import Testing

@testable import MigrationDiscovery

/// How a responder gets its name, keeps it and gives it up.
@Suite struct NamingTests {
  private let own = StandingResponder.records
  private let theirs = ServiceLocation(port: 1, target: DNSName("other.local"))

  /// The records of the other device.
  private func contradiction(_ name: DNSName? = nil, ttl: UInt32 = 120) -> DNSPacket {
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(name ?? own.instance, .service(theirs), ttl: ttl, flushes: true)]
    return packet
  }

  /// Starts a responder. Returns the packets that it sends until then.
  private func start(until end: Double) -> (StandingResponder, [StandingResponder.Sent]) {
    let starting = StandingResponder(links: [:])
    let sent = starting.packets(starting.responder.handle(.links([.v4: StandingResponder.addresses]), now: 100))
    return (starting, sent + starting.run(until: end))
  }

  @Test func `three probes a quarter of a second apart precede three announcements, and then silence`() {
    let (starting, sent) = start(until: 200)
    expect(sent.count == 6 && sent[0].time <= 100.25)
    for (index, gap) in [0.25, 0.25, 0.25, 1, 2].enumerated() {
      expect(abs(sent[index + 1].time - sent[index].time - gap) < 1e-6)
    }
    for probe in sent.prefix(3).map(\.packet) {
      expect(probe.questions, is: [DNSQuestion(own.instance, .any), DNSQuestion(own.host, .any)])
      expect(probe.authorities.map(\.type) == [.srv, .txt, .a] && probe.authorities.allSatisfy { !$0.flushes })
    }
    for announcement in sent.suffix(3).map(\.packet) {
      expect(announcement.answers.map(\.type), is: [.ptr, .ptr, .srv, .txt, .a])
      expect(announcement.answers.map(\.flushes), is: [false, false, true, true, true])
    }
    expect(starting.responder.nextMoment == nil)
  }

  @Test func `no question is answered before the name is established`() {
    let (starting, _) = start(until: 100.3)
    var query = DNSPacket.query
    query.questions = [DNSQuestion(ServiceNames.type, .ptr)]
    expect(starting.hear(query).isEmpty && starting.hear(query, from: .legacy).isEmpty)
  }

  @Test func `a name that another device has is given up for the next`() throws {
    let (starting, _) = start(until: 100.3)
    expect(starting.hear(contradiction()).isEmpty)
    let sent = starting.run(until: 103)
    let next = try #require(ServiceNames.instance(Array("laptop (2)".utf8)))
    expect(sent.first?.packet.questions.first?.name, is: next)
    expect(sent.last?.packet.answers.first?.data, is: .pointer(next))
  }

  @Test func `a goodbye, a missing type and the responder's own records are no conflict`() {
    let (starting, _) = start(until: 100.3)
    _ = starting.hear(contradiction(ttl: 0))
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(own.instance, .types(next: own.instance, bitmap: [0, 1, 0]), ttl: 120)]
    packet.additionals = own.records([.service, .text, .pointer], [])
    _ = starting.hear(packet)
    expect(starting.responder.attempt, is: 1)
  }

  @Test func `a record of a type that this device does not have contradicts only a name that is not established`() {
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(own.instance, .opaque(DNSType(rawValue: 13), [0]), ttl: 120)]
    let (starting, _) = start(until: 100.3)
    _ = starting.hear(packet)
    expect(starting.responder.attempt, is: 2)
    let standing = StandingResponder()
    expect(standing.hear(packet).isEmpty && standing.responder.nextMoment == nil)
  }

  @Test func `of two simultaneous probes the lesser waits, and gives up the name if it is then taken`() {
    let (starting, _) = start(until: 100.3)
    var probe = DNSPacket.query
    probe.questions = [DNSQuestion(own.instance, .any)]
    // The own proposal begins with the same TXT record; a port below the own one loses.
    let lesser = ServiceLocation(port: 4241, target: DNSName("zzz.local"))
    probe.authorities = [DNSRecord(own.instance, .service(lesser), ttl: 120)] + own.records(.text, [])
    _ = starting.hear(probe)
    expect((starting.responder.nextMoment ?? .infinity) < 100.6)
    let greater = ServiceLocation(port: 4243, target: DNSName("aaa.local"))
    probe.authorities[0] = DNSRecord(own.instance, .service(greater), ttl: 120)
    _ = starting.hear(probe)
    expect(starting.responder.nextMoment == 101.3 && starting.responder.attempt == 1)
    expect(starting.run(until: 101.31).map(\.packet.questions.first?.name), is: [own.instance])
    // The own probe, received again, is neither.
    probe.authorities = own.records([.service, .text], [])
    _ = starting.hear(probe)
    expect((starting.responder.nextMoment ?? .infinity) < 101.6)
  }

  @Test func `an established name is defended immediately, and probed for again if another device claims it`() {
    let standing = StandingResponder()
    var probe = DNSPacket.query
    probe.questions = [DNSQuestion(own.instance, .any)]
    probe.authorities = [DNSRecord(own.instance, .service(theirs), ttl: 120)]
    let defence = standing.hear(probe)
    expect(defence.first?.packet.answers, is: own.records([.service, .text], []))
    // Again after a quarter of a second, not earlier.
    expect(standing.hear(probe).isEmpty)
    expect(standing.run(until: 101).map(\.time), is: [100.25])
    expect(standing.hear(contradiction()).isEmpty)
    let again = standing.run(until: 110)
    expect(again.first?.packet.authorities.isEmpty == false && standing.responder.attempt == 1)
    expect(again.filter { $0.packet.isResponse }.count, is: 3)
  }

  @Test func `a device that contradicts without limit is answered more and more slowly`() {
    let (starting, _) = start(until: 100.3)
    var probes = 0
    for step in 0..<6000 {
      let name = starting.responder.records.instance
      _ = starting.hear(contradiction(name))
      probes += starting.run(until: 100.3 + Double(step) / 100).filter { !$0.packet.isResponse }.count
    }
    expect(probes < 40)
  }

  @Test func `records of names without a probe contradict nothing`() throws {
    let (starting, _) = start(until: 100.3)
    for second in 0..<20 {
      for number in 1..<40 {
        let name = try #require(ServiceNames.instance(Service.labelBytes("laptop", attempt: number)))
        _ = starting.hear(contradiction(name))
        var probe = DNSPacket.query
        probe.questions = [DNSQuestion(name, .any)]
        probe.authorities = [DNSRecord(name, .service(ServiceLocation(port: .max, target: name)), ttl: 120)]
        _ = starting.hear(probe)
      }
      _ = starting.run(until: 101 + Double(second))
    }
    // One for the probe that was sent, and then at most one a second.
    expect(starting.responder.attempt > 1 && starting.responder.attempt <= 21)
    let attempt = starting.responder.attempt
    _ = starting.run(until: 300)
    expect(starting.responder.attempt == attempt && starting.responder.links[.v4]?.phase == .standing)
  }

  @Test func `the waits for a device whose probes win repeatedly become longer`() {
    let (starting, _) = start(until: 100.3)
    let greater = ServiceLocation(port: .max, target: DNSName("zzz.local"))
    var probes = 0
    for step in 0..<6000 {
      var probe = DNSPacket.query
      probe.questions = [DNSQuestion(own.instance, .any)]
      probe.authorities = [DNSRecord(own.instance, .service(greater), ttl: 120)] + own.records(.text, [])
      _ = starting.hear(probe)
      probes += starting.run(until: 100.3 + Double(step) / 100).count
    }
    expect(probes <= 35 && starting.responder.attempt == 1)
  }

  @Test func `a name that is established on one link is reported, regardless of the other links`() {
    var responder = Responder(StandingResponder.service, random: 1)
    let second = Link(interface: 3, isV6: false)
    let links: [Link: [IPAddress]] = [.v4: StandingResponder.addresses, second: [ip(198, 51, 100, 1)]]
    var told: [Responder.Action] = responder.handle(.links(links), now: 0)
    var packet = DNSPacket.query
    packet.questions = [DNSQuestion(own.instance, .any)]
    let greater = ServiceLocation(port: .max, target: DNSName("zzz.local"))
    packet.authorities = [DNSRecord(own.instance, .service(greater), ttl: 120)] + own.records(.text, [])
    for step in 1...500 {
      told += responder.handle(.timePassed, now: Double(step) / 100)
      told += responder.handle(.packet(packet.encoded(), second, from: .other), now: Double(step) / 100)
    }
    expect(told.filter { $0 == .tell("laptop") }.count, is: 1)
    expect(responder.links[second]?.isProbed, is: false)
    // The other device keeps the name.
    for step in 501...900 {
      told += responder.handle(.timePassed, now: Double(step) / 100)
      told += responder.handle(.packet(contradiction().encoded(), second, from: .other), now: Double(step) / 100)
    }
    expect(told.contains(.tell("laptop (2)")))
  }

  @Test func `a name that is established only on this device is not reported`() {
    var responder = Responder(StandingResponder.service, random: 1)
    var actions = responder.handle(.links([.loopback: [ip(127, 0, 0, 1)]]), now: 0)
    for step in 1...500 { actions += responder.handle(.timePassed, now: Double(step) / 100) }
    expect(
      responder.links[.loopback]?.phase == .standing && actions.allSatisfy { $0 != .tell("laptop") }
    )
  }

  @Test func `the device's own records with too short a lifetime are sent again`() {
    let standing = StandingResponder()
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(ServiceNames.type, .pointer(own.instance), ttl: 0)]
    let sent = standing.hear(packet)
    expect(sent.first?.packet.answers.map(\.type), is: [.ptr])
  }

  @Test func `addresses under the own host name are answered with the own ones, and are no conflict`() {
    let standing = StandingResponder()
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(own.host, .address(ip(192, 0, 2, 66)), ttl: 120, flushes: true)]
    expect(standing.hear(packet).first?.packet.answers.map(\.data), is: [.address(ip(192, 0, 2, 1))])
    expect(standing.hear(packet).isEmpty && standing.responder.attempt == 1)
  }

  @Test func `changed addresses are announced, and the old ones withdrawn`() throws {
    let standing = StandingResponder()
    let sent = standing.packets(standing.responder.handle(.links([.v4: [ip(192, 0, 2, 5)]]), now: 100))
    expect(sent[0].packet.answers, is: [DNSRecord(own.host, .address(ip(192, 0, 2, 1)), ttl: 0)])
    expect(sent[1].packet.answers.contains { $0.data == .address(ip(192, 0, 2, 5)) && $0.flushes })
    let again = standing.responder.handle(.links([.v4: [ip(192, 0, 2, 5)]]), now: 100)
    expect(again.isEmpty)
  }

  @Test func `the goodbye is sent once on each link on which the name is established`() {
    let standing = StandingResponder()
    let actions = standing.responder.handle(.stop, now: 100)
    let sent = standing.packets(actions)
    expect(actions.last == .over && sent.count == 1)
    expect(sent[0].packet.answers.map(\.type), is: [.ptr, .srv, .txt, .a])
    expect(sent[0].packet.answers.allSatisfy { $0.ttl == 0 })
    expect(standing.responder.handle(.stop, now: 101).isEmpty && standing.responder.nextMoment == nil)
    var early = Responder(StandingResponder.service, random: 1)
    _ = early.handle(.links([.v4: StandingResponder.addresses]), now: 0)
    let over = early.handle(.stop, now: 0)
    expect(over, is: [.over])
  }
}
