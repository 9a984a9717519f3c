import Testing

@testable import MigrationDiscovery

/// What floods of false instances do to a browser.
@Suite struct FloodTests {
  @Test func `a flood of false receivers does not drive out the one that is known`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 105)
    for number in 0..<2000 {
      browsing.hear("false \(number)", id: UInt64(number) + 100, [ip(192, 0, 2, 66)])
      browsing.run(until: 105 + Double(number) / 500)
    }
    #expect(browsing.found.count == InterfaceCache.mostInstances && browsing.found.contains { $0.instance == 7 })
    // Another interface is not touched.
    browsing.hear("desktop", id: 8, [ip(198, 51, 100, 7)], on: Link(interface: 3, isV6: false))
    browsing.run(until: 110)
    #expect(browsing.found.contains { $0.instance == 8 })
  }

  @Test func `a flood of names alone gives way to a receiver, and asks little`() throws {
    let browsing = Browsing()
    for number in 0..<5000 {
      let name = try #require(ServiceNames.instance(Array("false \(number)".utf8)))
      browsing.hear([DNSRecord(ServiceNames.type, .pointer(name), ttl: 4500)])
      browsing.run(until: 100 + Double(number) / 1000)
    }
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 106)
    #expect(browsing.found.map(\.instance) == [7])
    #expect(browsing.asked.count < 400)
  }

  @Test func `a flood of addresses leaves sixteen, and those that are known`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    for number in 0..<200 {
      browsing.hear([DNSRecord(ServiceNames.host(7), .address(ip(10, 0, 0, UInt8(number))), ttl: 120)])
    }
    browsing.run(until: 101)
    #expect(browsing.found.first?.addresses.count == CachedInstance.mostAddresses)
    #expect(browsing.found.first?.addresses.contains { $0.address == ip(192, 0, 2, 7) } == true)
  }

  @Test func `news is told a few times a second, however often it changes`() {
    let browsing = Browsing()
    for step in 0..<2000 {
      browsing.hear("laptop", id: UInt64(step), [ip(192, 0, 2, 7)])
      browsing.run(until: 100 + Double(step) / 1000)
    }
    #expect(browsing.changes <= 41)
  }
}
