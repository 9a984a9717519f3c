import Expectations
import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// The questions and results of a browser.
@Suite struct BrowserTests {
  private let linkLocal = SocketAddress([0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [7]) ?? MulticastDNS.groupV6
  private let local = SocketAddress([0xfd] + [UInt8](repeating: 0, count: 14) + [7]) ?? MulticastDNS.groupV6
  private let second = Link(interface: 3, isV6: false)

  @Test func `each link is asked immediately, then after one, two and four seconds, and at last twice a minute`() {
    let browsing = Browsing(links: [.v4: [ip(192, 0, 2, 1)]])
    browsing.run(until: 240)
    let times = browsing.times(ServiceNames.type, .ptr)
    expect(times[0] >= 100.02 && times[0] <= 100.12)
    let gaps = zip(times, times.dropFirst()).map { ($1 - $0).rounded() }
    expect(gaps, is: [1, 2, 4, 8, 16, 30, 30, 30])
  }

  @Test func `an answer in the form of other programs results in an instance`() {
    let browsing = Browsing()
    browsing.hear(PacketTests.answer)
    browsing.run(until: 101)
    let address = ip(192, 0, 2, 7).found()
    expect(browsing.found, is: [NearbyDevice(label: "old laptop", instance: nil, addresses: [address])])
  }

  @Test func `addresses of all links belong to one instance, in order of preference`() {
    let browsing = Browsing()
    let autoconfigured = ip(169, 254, 1, 1)
    browsing.hear("laptop", id: 7, [linkLocal, autoconfigured, local, ip(192, 0, 2, 7)])
    browsing.hear("laptop", id: 7, [linkLocal, ip(192, 0, 2, 7), ip(198, 51, 100, 7)], on: second)
    browsing.run(until: 101)
    expect(browsing.found.count == 1 && browsing.changes == 1)
    expect(
      browsing.found.first?.addresses,
      is: [
        ip(192, 0, 2, 7).found(), ip(198, 51, 100, 7).found(), local.found(), linkLocal.found(on: 2),
        linkLocal.found(on: 3), autoconfigured.found(),
      ])
  }

  @Test func `a goodbye takes effect after a second, unless the record is announced again`() {
    let browsing = Browsing()
    for (label, id) in [("laptop", UInt64(7)), ("desktop", 8)] {
      browsing.hear(label, id: id, [ip(192, 0, 2, UInt8(id))])
      browsing.hear(label, id: id, [ip(192, 0, 2, UInt8(id))], ttl: 0)
    }
    browsing.run(until: 100.5)
    expect(browsing.found.count, is: 2)
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 101.1)
    expect(browsing.found.map(\.label), is: ["laptop"])
    // An unknown record cannot be withdrawn.
    browsing.hear("rack", id: 9, [ip(192, 0, 2, 9)], ttl: 0)
    browsing.run(until: 102)
    expect(browsing.found.map(\.label), is: ["laptop"])
  }

  @Test func `new addresses replace the old ones on their link after a second`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.hear("laptop", id: 7, [ip(198, 51, 100, 7)], on: second)
    browsing.run(until: 105)
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 8)])
    browsing.hear([DNSRecord(ServiceNames.host(7), .address(ip(192, 0, 2, 9)), ttl: 120, flushes: true)])
    browsing.run(until: 107)
    let addresses = [ip(192, 0, 2, 8), ip(192, 0, 2, 9), ip(198, 51, 100, 7)]
    expect(browsing.found.first?.addresses.map(\.bare), is: addresses)
  }

  @Test func `a receiver with a new name is one receiver`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 101)
    browsing.hear("laptop (2)", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 102)
    expect(browsing.found.map(\.label), is: ["laptop (2)"])
  }

  @Test func `a copied id at another location does not affect the receiver that has it`() throws {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 101)
    let false7 = try #require(ServiceNames.instance(Array("laptop!".utf8)))
    for (host, port) in [(DNSName("evil.local"), UInt16(4242)), (ServiceNames.host(7), 4243)] {
      browsing.hear([
        DNSRecord(ServiceNames.type, .pointer(false7), ttl: 120),
        DNSRecord(false7, .service(ServiceLocation(port: port, target: host)), ttl: 120, flushes: true),
        DNSRecord(false7, .text(Service.text(ofInstance: 7)), ttl: 120, flushes: true),
        DNSRecord(DNSName("evil.local"), .address(ip(192, 0, 2, 66)), ttl: 120, flushes: true),
        DNSRecord(ServiceNames.host(7), .address(ip(192, 0, 2, 7)), ttl: 120),
      ])
      browsing.run(until: browsing.now + 1)
      expect(browsing.found.map(\.label), is: ["laptop", "laptop!"])
      let laptop = NearbyDevice(label: "laptop", instance: 7, addresses: [ip(192, 0, 2, 7).found()])
      expect(browsing.found.first, is: laptop)
    }
  }

  @Test func `a receiver of which some records with a new name are known is one receiver with its id`() throws {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 101)
    let renamed = try #require(ServiceNames.instance(Array("laptop (2)".utf8)))
    let location = ServiceLocation(port: 4242, target: ServiceNames.host(7))
    browsing.hear([
      DNSRecord(ServiceNames.type, .pointer(renamed), ttl: 120), DNSRecord(renamed, .service(location), ttl: 120),
      DNSRecord(ServiceNames.host(7), .address(ip(192, 0, 2, 7)), ttl: 120),
    ])
    browsing.run(until: 102)
    expect(browsing.found.map(\.label) == ["laptop (2)"] && browsing.found.map(\.instance) == [7])
  }

  @Test func `two devices with one name on two networks are two`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.hear("laptop", id: 8 << 60, [ip(192, 0, 2, 7)], on: second)
    browsing.run(until: 101)
    expect(browsing.found.map(\.instance), is: [7, 8 << 60])
    expect(browsing.found.map(\.label), is: ["laptop (0000)", "laptop (8000)"])
  }

  @Test func `misleading addresses are left out`() {
    let browsing = Browsing()
    let false4 = [ip(127, 0, 0, 1), ip(0, 0, 0, 0), ip(224, 0, 0, 1), ip(255, 255, 255, 255)]
    browsing.hear("laptop", id: 7, false4 + [SocketAddress([UInt8](repeating: 0, count: 15) + [1]) ?? linkLocal])
    browsing.run(until: 101)
    expect(browsing.found.isEmpty)
    browsing.hear("laptop", id: 7, [ip(127, 0, 0, 1)], on: .loopback)
    browsing.run(until: 102)
    expect(browsing.found.first?.addresses.map(\.bare), is: [ip(127, 0, 0, 1)])
  }

  @Test func `only answers on existing links count`() {
    let browsing = Browsing()
    browsing.hear(PacketTests.answer, on: Link(interface: 9, isV6: false))
    browsing.hear(Array(PacketTests.answer.dropLast()))
    browsing.hear([0, 0, 0] + PacketTests.answer.dropFirst(3))
    browsing.run(until: 101)
    expect(browsing.found.isEmpty)
  }

  @Test func `labels that are not UTF-8 are repaired`() throws {
    let browsing = Browsing()
    let instance = try #require(ServiceNames.instance([0x61, 0xff, 0x1b, 0x2e]))
    browsing.hear([
      DNSRecord(ServiceNames.type, .pointer(instance), ttl: 120),
      DNSRecord(instance, .service(ServiceLocation(port: 1, target: instance)), ttl: 120),
      DNSRecord(instance, .address(ip(192, 0, 2, 7)), ttl: 120),
    ])
    browsing.run(until: 101)
    expect(browsing.found.map(\.label), is: ["a\u{fffd}\u{1b}."])
  }

  @Test func `an instance without a port cannot be connected to`() throws {
    let browsing = Browsing()
    let instance = try #require(ServiceNames.instance(Array("laptop".utf8)))
    let pointer = DNSRecord(ServiceNames.type, .pointer(instance), ttl: 120)
    let address = DNSRecord(instance, .address(ip(192, 0, 2, 7)), ttl: 120)
    let location = DNSRecordData.service(ServiceLocation(port: 1, target: instance))
    let nowhere = DNSRecordData.service(ServiceLocation(port: 0, target: instance))
    browsing.hear([pointer, DNSRecord(instance, nowhere, ttl: 120), address])
    browsing.run(until: 102)
    expect(browsing.found.isEmpty)
    browsing.hear([pointer, DNSRecord(instance, location, ttl: 120), address])
    browsing.run(until: 103)
    expect(browsing.found.flatMap { $0.addresses.map(\.port) }, is: [1])
  }

  @Test func `when links are removed, the instances found there are removed`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7), linkLocal])
    browsing.hear("laptop", id: 7, [ip(198, 51, 100, 7)], on: second)
    browsing.run(until: 101)
    browsing.change([second: [ip(198, 51, 100, 1)]])
    expect(browsing.found.first?.addresses.map(\.bare), is: [ip(198, 51, 100, 7)])
    browsing.change([:])
    expect(browsing.found.isEmpty && browsing.browser.nextMoment == nil)
  }
}
