import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct NetworkInterfaceTests {
  private func interface(_ name: String) throws -> NetworkInterface? {
    try NetworkInterface.all().first { $0.name == name }
  }

  @Test(.enabled(if: canHaveOwnNetwork)) func `interfaces are listed with their properties and addresses`() throws {
    try inOwnNetwork {
      expect(try NetworkInterface.all().map(\.name), is: ["lo"])
      expect(try interface("lo")?.flags, is: .loopback)
      try joinTwoInterfaces()
      try ip("addr add 2001:db8::7/48 dev one nodad")
      try ip("addr add 192.0.2.77/32 peer 198.51.100.1/32 dev two")
      let one = try #require(try interface("one"))
      expect(one.index == if_nametoindex("one") && !one.isPort)
      expect(one.flags.isSuperset(of: [.up, .running, .multicast]))
      expect(one.flags.isDisjoint(with: [.loopback, .pointToPoint]))
      expect(
        Set(one.addresses.map { "\($0.address.hostDescription)/\($0.prefix)" }),
        is: [
          "192.0.2.1/24", "fe80::1%one/64", "2001:db8::7/48",
        ])
      expect(one.addresses.allSatisfy { $0.isReady && !$0.isDeprecated })
      expect(try interface("two")?.addresses.contains { $0.address.hostDescription == "192.0.2.77" }, is: true)
      let near = try #require(SocketAddress(numeric: "192.0.2.200", port: 5))
      let far = try #require(SocketAddress(numeric: "192.0.3.200", port: 5))
      expect(one.isOnLink(near) && !one.isOnLink(far))
      let changes = try InterfaceChanges()
      try ip("link set two down")
      // The kernel notices a little later that the cable is dead, and reports it.
      var poller = try Poller()
      while try interface("one")?.flags.contains(.running) == true {
        let ready = try poller.wait(for: .readable, on: changes.raw, until: soon())
        try #require(!ready.isEmpty)
        _ = changes.take()
      }
    }
  }

  @Test(.enabled(if: canHaveOwnNetwork)) func `an address is ready once no other device is known to have it`() throws {
    try inOwnNetwork {
      try ip("link add one type veth peer name two")
      try ip("link set two up")
      let changes = try InterfaceChanges()
      try ip("link set one up")
      var poller = try Poller()
      var states: [Bool] = []
      while states.last != true {
        let ready = try poller.wait(for: .readable, on: changes.raw, until: soon())
        try #require(!ready.isEmpty)
        _ = changes.take()
        states += try interface("one")?.addresses.filter { $0.address.isLinkLocal }.map(\.isReady) ?? []
      }
      expect(states.first, is: false)
    }
  }

  @Test(.enabled(if: canHaveOwnNetwork)) func `a bridge's port is marked as one, and the bridge is not`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      try ip("link add net type bridge")
      try ip("link set two master net")
      expect(try interface("two")?.isPort, is: true)
      expect(try interface("net")?.isPort, is: false)
    }
  }

  @Test(.enabled(if: canHaveOwnNetwork)) func `changes are reported only to those who listened`() throws {
    try inOwnNetwork {
      let changes = try InterfaceChanges()
      let before = changes.take()
      try joinTwoInterfaces()
      let after = changes.take()
      let later = try InterfaceChanges().take()
      expect([before, after, later].map(\.isAny), is: [false, true, false])
      let one = try #require(NetworkInterface.all().first { $0.name == "one" })
      expect(one.isMadeUp)
      try ip("addr add 10.0.0.1/24 dev one")
      expect(changes.take(), is: InterfaceChanges.News(isAny: true))
      // It is back before any message is read.
      try ip("link set one down")
      try ip("link set one up")
      expect(changes.take().interrupted.contains(one.index))
      try ip("link del one")
      expect(changes.take().interrupted.contains(one.index))
    }
  }

  @Test func `news of a link says whether it was interrupted`() {
    func news(_ kind: UInt16, flags: UInt32) -> InterfaceChanges.LinkMessage? {
      InterfaceChanges.LinkMessage(Self.record(kind, [0, 0, 1, 0] + Self.word(7) + Self.word(flags) + Self.word(0)))
    }
    expect(news(16, flags: 0x1043)?.isInterrupted == false && news(16, flags: 0x1043)?.index == 7)
    expect(news(16, flags: 0x1003)?.isInterrupted == true && news(17, flags: 0x1043)?.isInterrupted == true)
    expect(news(20, flags: 0) == nil && InterfaceChanges.LinkMessage(Self.list.prefix(31)) == nil)
  }

  @Test(.enabled(if: canHaveOwnNetwork)) func `the address is that of the default route's interface`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      expect(SocketAddress.ofDefaultRoute(.v4) == nil && SocketAddress.ofDefaultRoute(.v6) == nil)
      try ip("addr add 10.7.0.5/24 dev two")
      try ip("route add default via 10.7.0.1")
      try ip("addr add 2001:db8:7::5/64 dev one nodad")
      try ip("-6 route add default via fe80::2 dev one")
      expect(SocketAddress.ofDefaultRoute(.v4)?.description, is: "10.7.0.5:0")
      expect(SocketAddress.ofDefaultRoute(.v6)?.description, is: "[2001:db8:7::5]:0")
    }
  }

  /// A list with one interface and one address, as the kernel writes it.
  private static let list: [UInt8] =
    record(16, [0, 0, 1, 0] + word(7) + word(0x1043) + word(0) + attribute(3, Array("eth0".utf8) + [0]))
    + record(20, [10, 64, 0x80, 253] + word(7) + attribute(1, [0xFE, 0x80] + Array(repeating: 0, count: 13) + [9]))
    + record(3, word(0))

  private static func word(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

  private static func half(_ value: UInt16) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

  private static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
    half(UInt16(4 + value.count)) + half(kind) + value + Array(repeating: 0, count: -value.count & 3)
  }

  private static func record(_ kind: UInt16, _ body: [UInt8]) -> [UInt8] {
    word(UInt32(16 + body.count)) + half(kind) + half(0) + word(0) + word(0) + body
  }

  @Test func `the kernel's records are parsed, and no prefix or flipped bit does harm`() {
    var whole = RouteRecords()
    whole.add(Self.list)
    expect(whole.isAtEnd)
    expect(
      whole.interfaces,
      is: [
        NetworkInterface(
          index: 7, name: "eth0", flags: [.up, .running, .multicast, .init(rawValue: 2)],
          addresses: [
            .init(
              SocketAddress(
                family: .v6, bytes: [0xFE, 0x80] + Array(repeating: 0, count: 13) + [9], scope: 7, port: 0),
              prefix: 64)
          ])
      ])
    for count in Self.list.indices {
      var records = RouteRecords()
      records.add(Array(Self.list.prefix(count)))
      expect(!records.isAtEnd)
    }
    for bit in 0..<Self.list.count * 8 {
      var list = Self.list
      list[bit / 8] ^= 1 << UInt8(bit % 8)
      var records = RouteRecords()
      records.add(list)
      expect(records.interfaces.count < 3)
    }
  }

  @Test func `an error in the place of a list is reported`() {
    var records = RouteRecords()
    records.add(Self.record(2, Self.word(UInt32(bitPattern: -EPERM))))
    expect(records.isAtEnd && records.failure == EPERM)
  }

  @Test func `an error whose number has no opposite is reported too`() {
    var records = RouteRecords()
    records.add(Self.record(2, Self.word(0x8000_0000)))
    expect(records.isAtEnd && records.failure == .min)
  }
}
