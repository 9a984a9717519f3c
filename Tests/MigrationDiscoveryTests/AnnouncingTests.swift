import Expectations
import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// How a responder announces its records, keeps them and withdraws them.
@Suite struct AnnouncingTests {
  private let own = StandingResponder.records

  @Test func `there are three announcements, and then silence`() {
    let starting = StandingResponder(links: [:])
    _ = starting.responder.handle(.links([.v4: StandingResponder.addresses]), now: 100)
    let sent = starting.run(until: 200)
    expect(sent.count == 3 && sent[0].time <= 100.25)
    for (index, gap) in [1.0, 2].enumerated() {
      expect(abs(sent[index + 1].time - sent[index].time - gap) < 1e-6)
    }
    for announcement in sent.map(\.packet) {
      expect(announcement.answers.map(\.type), is: [.ptr, .srv, .txt, .a])
      expect(announcement.answers.map(\.flushes), is: [false, true, true, true])
    }
    expect(starting.responder.nextMoment == nil)
  }

  @Test func `the name is told once, when it is announced to other devices`() {
    var responder = Responder(StandingResponder.service, random: 1)
    var actions = responder.handle(.links([.loopback: [ip(127, 0, 0, 1)]]), now: 0)
    for step in 1...500 { actions += responder.handle(.timePassed, now: Double(step) / 100) }
    expect(responder.links[.loopback]?.isAnnounced == true && !actions.contains(.tell("laptop (0000)")))
    actions = responder.handle(.links([.v4: StandingResponder.addresses, .v6: StandingResponder.addresses]), now: 5)
    for step in 501...1000 { actions += responder.handle(.timePassed, now: Double(step) / 100) }
    expect(actions.filter { $0 == .tell("laptop (0000)") }.count, is: 1)
  }

  @Test func `another device's records under the own names are answered with the own ones, once a second`() {
    let theirs = DNSRecordData.service(ServiceLocation(port: 1, target: DNSName("other.local")))
    for (name, data, type) in [
      (own.host, .address(ip(192, 0, 2, 66)), DNSType.a), (own.instance, theirs, .srv),
      (own.instance, .text([0]), .txt),
    ] {
      let standing = StandingResponder()
      var packet = DNSPacket.response
      packet.answers = [DNSRecord(name, data, ttl: 0, flushes: true)]
      expect(standing.hear(packet).isEmpty && standing.run(until: 102).isEmpty)
      packet.answers = [DNSRecord(name, data, ttl: 120, flushes: true)]
      expect(standing.hear(packet).first?.packet.answers.map(\.type), is: [type])
      expect(standing.hear(packet).isEmpty)
      expect(standing.run(until: 110).map(\.time), is: [103])
    }
  }

  @Test func `another device with the same name is answered a few times in a minute, and not without end`() {
    let standing = StandingResponder()
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(own.instance, .text([0]), ttl: 120, flushes: true)]
    var answers = 0
    for step in 0..<120 {
      answers += standing.hear(packet).count + standing.run(until: 101 + Double(step)).count
    }
    expect((10...30).contains(answers), "\(answers) answers in two minutes")
  }

  @Test func `other devices' names, and the own records, are no concern`() {
    let standing = StandingResponder()
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(ServiceNames.type, .pointer(DNSName("x.local")), ttl: 120)]
    packet.additionals = own.records(AnswerKind.all, StandingResponder.addresses)
    expect(standing.hear(packet).isEmpty && standing.responder.nextMoment == nil)
  }

  @Test func `the device's own records with too short a lifetime are sent again`() {
    let standing = StandingResponder()
    var packet = DNSPacket.response
    packet.answers = [DNSRecord(ServiceNames.type, .pointer(own.instance), ttl: 0)]
    let sent = standing.hear(packet)
    expect(sent.first?.packet.answers.map(\.type), is: [.ptr])
  }

  @Test func `changed addresses are announced, and the old ones withdrawn`() throws {
    let standing = StandingResponder()
    let sent = standing.packets(standing.responder.handle(.links([.v4: [ip(192, 0, 2, 5)]]), now: 100))
    expect(sent[0].packet.answers, is: [DNSRecord(own.host, .address(ip(192, 0, 2, 1)), ttl: 0)])
    expect(sent[1].packet.answers.contains { $0.data == .address(ip(192, 0, 2, 5)) && $0.flushes })
    let again = standing.responder.handle(.links([.v4: [ip(192, 0, 2, 5)]]), now: 100)
    expect(again.isEmpty)
  }

  @Test func `the goodbye is sent once on each link on which the name is announced`() {
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
