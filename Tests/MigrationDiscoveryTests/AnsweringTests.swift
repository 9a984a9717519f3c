import Expectations
import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// How a responder answers questions.
@Suite struct AnsweringTests {
  private let own = StandingResponder.records
  private let pointer = DNSRecord(ServiceNames.type, .pointer(StandingResponder.records.instance), ttl: 4500)

  @Test func `a question for the type is answered after a moment, with all records that a sender needs`() throws {
    let standing = StandingResponder()
    let sent = standing.ask(DNSQuestion(ServiceNames.type, .ptr))
    let one = try #require(sent.first)
    expect(sent.count == 1)
    expect(one.time >= 100.02 && one.time <= 100.12)
    expect(one.packet.flags == 0x8400 && one.packet.questions.isEmpty && one.packet.answers == [pointer])
    expect(one.packet.additionals.map(\.type), is: [.srv, .txt, .a])
    expect(one.packet.additionals.allSatisfy { $0.flushes })
  }

  @Test func `a record that only this device has is answered immediately`() {
    for (type, answers) in [(DNSType.srv, [DNSType.srv]), (.txt, [.txt]), (.any, [.txt, .srv])] {
      let standing = StandingResponder()
      let sent = standing.ask(DNSQuestion(own.instance, type))
      expect(sent.map(\.time), is: [100])
      expect(Set(sent.flatMap(\.packet.answers).map(\.type)), is: Set(answers))
    }
    let standing = StandingResponder()
    for question in [
      DNSQuestion(own.instance, .a), DNSQuestion(own.host, .aaaa), DNSQuestion(DNSName("peer-1.local"), .a),
    ] { expect(standing.ask(question).isEmpty) }
  }

  @Test func `an asker that knows the answer gets none, unless half of its lifetime has passed`() {
    let standing = StandingResponder()
    let question = DNSQuestion(ServiceNames.type, .ptr)
    expect(standing.ask(question, knowing: [pointer]).isEmpty)
    var old = pointer
    old.ttl = 2249
    expect(standing.ask(question, knowing: [old]).count, is: 1)
  }

  @Test func `the same record is multicast once a second, regardless of the number of askers`() {
    let standing = StandingResponder()
    var query = DNSPacket.query
    query.questions = [own.instance, ServiceNames.type, own.host].map { DNSQuestion($0, .any) }
    var sent: [StandingResponder.Sent] = []
    for step in 0..<10_000 {
      sent += standing.run(until: 100 + Double(step) / 1000)
      sent += standing.hear(query)
    }
    expect(sent.count >= 10 && sent.count <= 24)
    let services = sent.filter { ($0.packet.answers + $0.packet.additionals).contains { $0.type == .srv } }.map(\.time)
    expect(zip(services, services.dropFirst()).allSatisfy { $1 - $0 >= 0.999_999 })
  }

  @Test func `addresses of both families are announced on each link`() {
    let v6 = SocketAddress([0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [7]) ?? MulticastDNS.groupV6
    let both = [ip(192, 0, 2, 1), v6]
    let standing = StandingResponder(links: [.v4: both, .v6: both, .loopback: [ip(127, 0, 0, 1)]])
    for (link, addresses) in [(Link.v4, both), (.v6, both), (.loopback, [ip(127, 0, 0, 1)])] {
      var query = DNSPacket.query
      query.questions = [DNSQuestion(own.host, .any)]
      let sent = standing.hear(query, on: link)
      expect(sent.map(\.link), is: [link])
      expect(sent[0].packet.answers.map(\.data), is: addresses.map(DNSRecordData.address))
    }
  }

  @Test func `other operations and failures are ignored`() {
    let standing = StandingResponder()
    for flags in [UInt16(0x2800), 0x0003] {
      var query = DNSPacket(flags: flags)
      query.questions = [DNSQuestion(own.instance, .any)]
      expect(standing.hear(query).isEmpty)
    }
  }
}
