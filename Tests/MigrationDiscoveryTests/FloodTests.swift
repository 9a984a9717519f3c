import Expectations
import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// The effects of floods of false instances on a browser.
@Suite struct FloodTests {
  @Test func `a flood of false receivers does not displace the known one`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 105)
    for number in 0..<2000 {
      browsing.hear("false \(number)", id: UInt64(number) + 100, [ip(192, 0, 2, 66)])
      browsing.run(until: 105 + Double(number) / 500)
    }
    expect(browsing.found.count == InterfaceCache.mostInstances && browsing.found.contains { $0.instance == 7 })
    // Another interface is not affected.
    browsing.hear("desktop", id: 8, [ip(198, 51, 100, 7)], on: Link(interface: 3, isV6: false))
    browsing.run(until: 110)
    expect(browsing.found.contains { $0.instance == 8 })
  }

  @Test func `a receiver displaces a flood of mere names`() throws {
    let browsing = Browsing()
    for number in 0..<5000 {
      let name = try #require(ServiceNames.instance(Array("false \(number)".utf8)))
      browsing.hear([DNSRecord(ServiceNames.type, .pointer(name), ttl: 4500)])
      browsing.run(until: 100 + Double(number) / 1000)
    }
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    browsing.run(until: 106)
    expect(browsing.found.map(\.instance), is: [7])
  }

  @Test func `a flood of addresses leaves sixteen, and the known ones`() {
    let browsing = Browsing()
    browsing.hear("laptop", id: 7, [ip(192, 0, 2, 7)])
    for number in 0..<200 {
      browsing.hear([DNSRecord(ServiceNames.host(7), .address(ip(10, 0, 0, UInt8(number))), ttl: 120)])
    }
    browsing.run(until: 101)
    expect(browsing.found.first?.addresses.count, is: CachedInstance.mostAddresses)
    expect(browsing.found.first?.addresses.contains { $0.bare == ip(192, 0, 2, 7) }, is: true)
  }

  /// A device of multicast DNS.
  private func device(_ number: Int) -> SocketAddress { ip(192, 0, 2, UInt8(number)) }

  @Test func `the false receivers of one device leave space for another's`() {
    let browsing = Browsing()
    for number in 0..<200 {
      browsing.hear("false \(number)", id: UInt64(number) + 100, [ip(192, 0, 2, 66)], from: device(66))
    }
    browsing.run(until: 101)
    expect(browsing.found.count, is: InterfaceCache.mostInstances)
    for number in [7, 8] {
      browsing.hear("laptop \(number)", id: UInt64(number), [ip(192, 0, 2, UInt8(number))], from: device(number))
    }
    for number in 200..<400 {
      browsing.hear("false \(number)", id: UInt64(number) + 100, [ip(192, 0, 2, 66)], from: device(66))
    }
    browsing.run(until: 102)
    expect(browsing.found.count, is: InterfaceCache.mostInstances)
    expect(Set(browsing.found.compactMap(\.instance)).isSuperset(of: [7, 8]))
  }

  @Test func `devices with very many instances share the space, and do not displace each other`() {
    let browsing = Browsing()
    var changes = 0
    for number in 0..<400 {
      let host = 60 + number % 2
      browsing.hear(
        "box \(number)", id: UInt64(number) + 100, [ip(192, 0, 2, UInt8(host))], from: device(host))
      browsing.run(until: 100 + Double(number) / 10)
      if number == 200 { changes = browsing.changes }
    }
    expect(browsing.found.count == InterfaceCache.mostInstances && browsing.changes == changes)
  }

  @Test func `a packet of very many addresses for very many instances costs little`() throws {
    let browsing = Browsing()
    let host = ServiceNames.host(7)
    for number in 0..<InterfaceCache.mostInstances {
      let name = try #require(ServiceNames.instance(Array("false \(number)".utf8)))
      browsing.hear([
        DNSRecord(ServiceNames.type, .pointer(name), ttl: 4500),
        DNSRecord(name, .service(ServiceLocation(port: 1, target: host)), ttl: 4500),
      ])
    }
    var heard = CachedInstance.HeardAddresses()
    for number in 0..<560 {
      let address = ip(10, 0, UInt8(number / 256), UInt8(number % 256))
      heard.add(address, ttl: 120, flushes: true)
      heard.add(address, ttl: 60, flushes: true)
    }
    expect(heard.addresses.count == CachedInstance.HeardAddresses.most && heard.addresses.allSatisfy { $0.1 == 60 })
    browsing.hear(
      (0..<560).map { number in
        let address = ip(10, 0, UInt8(number / 256), UInt8(number % 256))
        return DNSRecord(host, .address(address), ttl: 120, flushes: true)
      })
    browsing.run(until: 101)
    expect(browsing.found.map(\.addresses.count), is: [CachedInstance.mostAddresses])
  }

  @Test func `news is reported a few times a second, regardless of the number of changes`() {
    let browsing = Browsing()
    for step in 0..<2000 {
      browsing.hear("laptop", id: UInt64(step), [ip(192, 0, 2, 7)])
      browsing.run(until: 100 + Double(step) / 1000)
    }
    expect(browsing.changes <= 41)
  }
}
