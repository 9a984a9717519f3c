import Expectations
import MigrationSystem
import Testing

@testable import MigrationTransfer

@Suite struct ReachableAddressTests {
  private func reachable(_ texts: [String], _ preferred: [String] = []) throws -> [SocketAddress] {
    try addresses(texts).mostUsefulFirst(preferring: try addresses(preferred))
  }

  private func addresses(_ texts: [String]) throws -> [SocketAddress] {
    try texts.map { try #require(SocketAddress(numeric: $0, port: 0)) }
  }

  @Test func `the default route's address comes first, and addresses of this device only come last`() throws {
    let all = ["127.0.0.1", "172.17.0.1", "192.0.2.7", "::1", "fe80::1", "2001:db8::1", "2001:db8::2"]
    let reachable = try reachable(all, ["192.0.2.7", "2001:db8::2"])
    expect(
      reachable.map(\.hostDescription),
      is: [
        "192.0.2.7", "2001:db8::2", "172.17.0.1", "2001:db8::1", "fe80::1", "127.0.0.1", "::1",
      ])
    expect(
      reachable.worthShowing.map(\.hostDescription), is: ["192.0.2.7", "2001:db8::2", "172.17.0.1", "2001:db8::1"])
  }

  @Test func `without a default route IPv4 comes first`() throws {
    expect(
      try reachable(["2001:db8::1", "10.0.0.1", "10.0.1.1"]).map(\.hostDescription),
      is: ["10.0.0.1", "10.0.1.1", "2001:db8::1"])
  }

  @Test func `addresses that work nearby only are shown if there are no others`() throws {
    expect(
      try reachable(["127.0.0.1", "::1", "fe80::1", "169.254.1.1"]).worthShowing.map(\.hostDescription),
      is: ["169.254.1.1", "fe80::1"])
    expect(try reachable(["::1", "127.0.0.1"]).worthShowing.map(\.hostDescription), is: ["127.0.0.1", "::1"])
    expect(try reachable([]).worthShowing, is: [])
  }

  @Test func `addresses are in tunnels only if all of them are`() throws {
    func interface(_ flags: NetworkInterface.Flags, _ text: String) throws -> NetworkInterface {
      let address = try #require(SocketAddress(numeric: text, port: 0))
      return NetworkInterface(index: 1, name: "some", flags: flags, addresses: [.init(address, prefix: 24)])
    }
    let interfaces = [try interface([.up, .multicast], "192.0.2.7"), try interface([.up, .pointToPoint], "10.8.0.2")]
    expect(try addresses(["10.8.0.2"]).areInTunnels(of: interfaces))
    expect(try !addresses(["10.8.0.2", "192.0.2.7"]).areInTunnels(of: interfaces))
    expect(try !addresses(["10.8.0.3"]).areInTunnels(of: interfaces))
    expect(try !addresses([]).areInTunnels(of: interfaces))
  }
}
