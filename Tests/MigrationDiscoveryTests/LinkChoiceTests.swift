import Expectations
import Testing

@testable import MigrationDiscovery
@testable import MigrationSystem

@Suite struct LinkChoiceTests {
  private static let usual: NetworkInterface.Flags = [.up, .running, .multicast]

  private func address(_ text: String, prefix: Int = 24, scope: UInt32 = 0) -> NetworkInterface.Address {
    let plain = SocketAddress(numeric: text, port: 0)!
    return .init(SocketAddress(family: plain.family, bytes: plain.bytes, scope: scope, port: 0), prefix: prefix)
  }

  private func interface(
    _ index: UInt32, _ texts: [String], flags: NetworkInterface.Flags = usual, isPort: Bool = false,
    isMadeUp: Bool = false
  ) -> NetworkInterface {
    NetworkInterface(
      index: index, name: "net\(index)", flags: flags, isPort: isPort, isMadeUp: isMadeUp,
      addresses: texts.map { address($0, prefix: $0.contains(":") ? 64 : 24, scope: $0.hasPrefix("fe80") ? index : 0) })
  }

  private let loopback = NetworkInterface(
    index: 1, name: "lo", flags: [.up, .running, .loopback],
    addresses: [
      .init(SocketAddress(numeric: "127.0.0.1", port: 0)!, prefix: 8),
      .init(SocketAddress(numeric: "::1", port: 0)!, prefix: 128),
    ])

  private func links(_ interfaces: [NetworkInterface]) -> Set<Link> { Set(OpenLinks.LinkChoice(interfaces).links.keys) }

  @Test func `each address family of an interface is a link, with all addresses of the interface`() {
    let choice = OpenLinks.LinkChoice([loopback, interface(2, ["192.0.2.1", "fe80::1", "2001:db8::1"])])
    let own = [[192, 0, 2, 1]].map { SocketAddress($0)! }
    expect(Set(choice.links.keys), is: [Link(interface: 2, isV6: false), Link(interface: 2, isV6: true)])
    expect(choice.links.values.allSatisfy { $0.count == 3 && $0.first == own.first })
    expect(links([interface(2, ["192.0.2.1"])]), is: [Link(interface: 2, isV6: false)])
    expect(links([interface(2, ["fe80::1"])]), is: [Link(interface: 2, isV6: true)])
    expect(links([interface(2, ["2001:db8::1"])]).isEmpty)
  }

  @Test func `an interface with many addresses has some of each family`() {
    let many = (1...20).map { "192.0.2.\($0)" } + ["fe80::1", "2001:db8::1"]
    let own = OpenLinks.LinkChoice([interface(2, many)]).links[Link(interface: 2, isV6: true)] ?? []
    expect([own.count, own.filter(\.isV6).count], is: [16, 2])
  }

  @Test(
    arguments: [
      [.up, .multicast], [.running, .multicast], [.up, .running], [.up, .running, .multicast, .pointToPoint],
    ] as [NetworkInterface.Flags])
  func `an interface that is down, or has no cable, no multicast or only one other end is not used`(
    _ flags: NetworkInterface.Flags
  ) {
    expect(links([interface(2, ["192.0.2.1"], flags: flags)]).isEmpty)
  }

  @Test func `a bridge's port is not used, because the bridge has its packets`() {
    expect(links([interface(2, ["fe80::1"], isPort: true)]).isEmpty)
  }

  @Test func `the loopback interface is used if there is no other`() {
    expect(links([loopback]), is: [Link(interface: 1, isV6: false)])
    expect(
      links([loopback, interface(2, ["192.0.2.1"], flags: [.up, .multicast])]), is: [Link(interface: 1, isV6: false)])
    expect(links([loopback, interface(2, ["192.0.2.1"])]), is: [Link(interface: 2, isV6: false)])
  }

  @Test func `an address that another device may have is not used, and a deprecated one is not announced`() {
    let plain = SocketAddress(numeric: "192.0.2.1", port: 0)!
    let passing = SocketAddress(numeric: "192.0.2.2", port: 0)!
    let doubtful = NetworkInterface.Address(plain, prefix: 24, isReady: false)
    let deprecated = NetworkInterface.Address(passing, prefix: 24, isDeprecated: true)
    let one = NetworkInterface(index: 2, name: "net", flags: Self.usual, addresses: [doubtful])
    expect(links([one]).isEmpty)
    let two = NetworkInterface(index: 2, name: "net", flags: Self.usual, addresses: [doubtful, deprecated])
    expect(OpenLinks.LinkChoice([two]).links.isEmpty)
    let mixed = OpenLinks.LinkChoice([interface(2, ["192.0.2.1", "127.0.0.2", "224.0.0.1", "fe80::7"])])
    expect(mixed.links[Link(interface: 2, isV6: false)]?.map(\.isLoopback), is: [false, false])
  }

  @Test func `the numbers of interfaces and addresses are limited`() {
    let many = (2..<100).map { interface($0, ["192.0.2.1"]) }
    expect(links(many).count, is: OpenLinks.LinkChoice.mostInterfaces)
    let addresses = (1...100).map { "192.0.2.\($0)" }
    expect(
      OpenLinks.LinkChoice([interface(2, addresses)]).links.values.first?.count, is: OpenLinks.LinkChoice.mostAddresses)
  }

  @Test func `of very many interfaces physical ones are preferred`() {
    let bridges = (2..<40).map { interface($0, ["10.\($0).0.1"], isMadeUp: true) }
    let taken = Set(OpenLinks.LinkChoice(bridges + [interface(50, ["192.0.2.1"])]).links.keys.map(\.interface))
    expect(taken.count == OpenLinks.LinkChoice.mostInterfaces && taken.contains(50))
  }

  @Test func `this device is alone if the loopback interface is used`() {
    expect(OpenLinks.LinkChoice([loopback]).isOnlyItself && !OpenLinks.LinkChoice([]).isOnlyItself)
    let tunnel = interface(2, ["10.8.0.2"], flags: [.up, .running, .pointToPoint])
    expect(
      OpenLinks.LinkChoice([loopback, tunnel]).isOnlyTunnels && OpenLinks.LinkChoice([loopback, tunnel]).isOnlyItself)
    expect(!OpenLinks.LinkChoice([loopback]).isOnlyTunnels)
    expect(!OpenLinks.LinkChoice([loopback, tunnel, interface(3, ["192.0.2.1"])]).isOnlyTunnels)
    expect(!OpenLinks.LinkChoice([loopback, interface(2, ["192.0.2.1"])]).isOnlyItself)
  }

  @Test func `only packets from a device on the link count`() {
    let choice = OpenLinks.LinkChoice([interface(2, ["192.0.2.1", "fe80::1"]), interface(3, ["198.51.100.1"])])
    let link = Link(interface: 2, isV6: false)
    let near = SocketAddress(numeric: "192.0.2.9", port: 5353)!
    let far = SocketAddress(numeric: "203.0.113.9", port: 5353)!
    func comes(_ sender: SocketAddress, _ interface: UInt32, _ hops: Int?) -> Bool {
      choice.isOfLink(MulticastSocket.Datagram(bytes: [], sender: sender, interface: interface, hopLimit: hops), link)
    }
    expect(comes(near, 2, 255) && comes(near, 2, 1) && comes(near, 2, nil))
    expect(comes(far, 2, 255))
    expect(!comes(far, 2, 254) && !comes(far, 2, nil))
    expect(!comes(near, 3, 255))
    expect(!comes(SocketAddress(numeric: "192.0.2.9", port: 40_000)!, 2, 255))
    expect(!comes(SocketAddress(numeric: "198.51.100.7", port: 5353)!, 2, 64))
  }
}
