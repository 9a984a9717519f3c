import Expectations
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
    expect(sent.count == 1 && one.unicastTo == nil)
    expect(one.time >= 100.02 && one.time <= 100.12)
    expect(one.packet.flags == 0x8400 && one.packet.questions.isEmpty && one.packet.answers == [pointer])
    expect(one.packet.additionals.map(\.type), is: [.srv, .txt, .a, .nsec, .nsec])
    expect(one.packet.additionals.allSatisfy { $0.flushes })
  }

  @Test func `a record that only this device has is answered immediately`() {
    for (type, answers) in [(DNSType.srv, [DNSType.srv]), (.txt, [.txt]), (.any, [.txt, .srv]), (.a, [.nsec])] {
      let standing = StandingResponder()
      let sent = standing.ask(DNSQuestion(own.instance, type))
      expect(sent.map(\.time), is: [100])
      expect(Set(sent.flatMap(\.packet.answers).map(\.type)), is: Set(answers))
    }
  }

  @Test func `a missing type is reported as missing`() {
    let standing = StandingResponder()
    let sent = standing.ask(DNSQuestion(own.host, .aaaa))
    let types = DNSRecordData.types(next: own.host, bitmap: [0, 1, 0x40])
    expect(sent.first?.packet.answers, is: [DNSRecord(own.host, types, ttl: 120, flushes: true)])
    expect(standing.ask(DNSQuestion(DNSName("peer-1.local"), .a)).isEmpty)
    expect(standing.ask(DNSQuestion(own.host, .a, questionClass: 3)).isEmpty)
  }

  @Test func `the type is listed among the services`() {
    let standing = StandingResponder()
    let sent = standing.ask(DNSQuestion(ServiceNames.enumeration, .ptr))
    expect(
      sent.first?.packet.answers, is: [DNSRecord(ServiceNames.enumeration, .pointer(ServiceNames.type), ttl: 4500)])
  }

  @Test func `an asker that knows the answer gets none, unless half of its lifetime has passed`() {
    let standing = StandingResponder()
    let question = DNSQuestion(ServiceNames.type, .ptr)
    expect(standing.ask(question, knowing: [pointer]).isEmpty)
    var old = pointer
    old.ttl = 2249
    expect(standing.ask(question, knowing: [old]).count, is: 1)
  }

  @Test func `known answers may follow in further packets`() {
    let standing = StandingResponder()
    var first = DNSPacket.query
    first.questions = [DNSQuestion(ServiceNames.type, .ptr)]
    first.isTruncated = true
    var second = DNSPacket.query
    second.answers = [pointer]
    expect(standing.hear(first).isEmpty && standing.run(until: 100.3).isEmpty)
    expect(standing.hear(second).isEmpty && standing.run(until: 110).isEmpty)
    // Without them the answer comes after 400 to 500 ms.
    expect(standing.hear(first).isEmpty)
    let late = standing.run(until: 120).map(\.time)
    expect(late.count == 1 && late[0] >= 110.4 && late[0] <= 110.5)
    // Another asker's known answers do not count for this one.
    expect(standing.hear(first).isEmpty)
    expect(standing.hear(second, from: Source(address: ip(192, 0, 2, 8), port: 5353)).isEmpty)
    expect(standing.run(until: 130).count, is: 1)
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

  @Test func `many askers with questions in parts take no more memory than sixteen`() {
    let standing = StandingResponder()
    var query = DNSPacket.query
    query.questions = [DNSQuestion(ServiceNames.type, .ptr)]
    query.isTruncated = true
    for number in 0..<1000 {
      _ = standing.hear(query, from: Source(address: ip(10, 0, UInt8(number / 256), UInt8(number % 256)), port: 5353))
    }
    expect(standing.responder.links[.v4]?.held.count, is: AnnouncedLink.mostHeld)
  }

  @Test func `a question with the unicast bit gets a unicast answer while the records in other caches are fresh`() {
    let standing = StandingResponder()
    let question = DNSQuestion(own.instance, .srv, wantsUnicast: true)
    // The announcements are 97 s old, which is more than a quarter of 120 s.
    expect(standing.ask(question).map(\.unicastTo), is: [nil])
    expect(standing.ask(question).map(\.unicastTo), is: [.other])
    var query = DNSPacket.query
    query.questions = [question]
    let many = (0..<100).flatMap { _ in standing.hear(query) }
    expect(many.filter { $0.unicastTo != nil }.count <= 10)
  }

  @Test func `a plain resolver gets a plain answer`() throws {
    let standing = StandingResponder()
    var query = DNSPacket(id: 77, flags: 0x0100)
    query.questions = [DNSQuestion(ServiceNames.type, .ptr)]
    let sent = standing.hear(query, from: .legacy)
    let one = try #require(sent.first)
    expect(sent.count == 1 && one.unicastTo == .legacy)
    expect(one.packet.id == 77 && one.packet.questions == query.questions)
    expect((one.packet.answers + one.packet.additionals).allSatisfy { $0.ttl <= 10 && !$0.flushes })
    let many = (0..<100).flatMap { _ in standing.hear(query, from: .legacy) }
    expect(many.count <= 10)
  }

  @Test func `an answer about the services by another device need not be repeated`() {
    let standing = StandingResponder()
    var query = DNSPacket.query
    query.questions = [DNSQuestion(ServiceNames.enumeration, .ptr)]
    expect(standing.hear(query).isEmpty)
    var response = DNSPacket.response
    response.answers = [DNSRecord(ServiceNames.enumeration, .pointer(ServiceNames.type), ttl: 4500)]
    expect(standing.hear(response).isEmpty && standing.run(until: 105).isEmpty)
  }

  @Test func `addresses of both families are announced, and loopback ones only if there are no others`() {
    let v6 = IPAddress([0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [7]) ?? MulticastDNS.groupV6
    let standing = StandingResponder(links: [
      .v4: [ip(192, 0, 2, 1), ip(127, 0, 0, 2)], .v6: [v6], .loopback: [ip(127, 0, 0, 1)],
    ])
    let both = [ip(192, 0, 2, 1), v6]
    for (link, addresses) in [(Link.v4, both), (.v6, both), (.loopback, [ip(127, 0, 0, 1)])] {
      var query = DNSPacket.query
      query.questions = [DNSQuestion(own.host, .any)]
      let sent = standing.hear(query, on: link)
      expect(sent.map(\.link), is: [link])
      expect(sent[0].packet.answers.map(\.data), is: addresses.map(DNSRecordData.address))
    }
  }

  @Test func `other operations, failures and answers from other ports are ignored`() {
    let standing = StandingResponder()
    for flags in [UInt16(0x2800), 0x0003] {
      var query = DNSPacket(flags: flags)
      query.questions = [DNSQuestion(own.instance, .any)]
      expect(standing.hear(query).isEmpty)
    }
    var forged = DNSPacket.response
    forged.answers = [DNSRecord(own.instance, .text([0]), ttl: 120, flushes: true)]
    expect(standing.hear(forged, from: .legacy).isEmpty && standing.run(until: 110).isEmpty)
  }
}
