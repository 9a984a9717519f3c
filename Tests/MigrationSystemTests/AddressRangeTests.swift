import Expectations
import Testing

@testable import MigrationSystem

@Suite struct AddressRangeTests {
  private func address(_ text: String) throws -> SocketAddress {
    try #require(SocketAddress(numeric: text, port: 7))
  }

  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("192.0.2.7/24", "192.0.2.0/24"), ("192.0.2.7/32", "192.0.2.7"),
    ("192.0.2.255/25", "192.0.2.128/25"), ("10.1.2.3/0", "0.0.0.0/0"), ("2001:DB8::1", "2001:db8::1"),
    ("2001:db8:1:2:3::/64", "2001:db8:1:2::/64"), ("2001:db8:ffff::/33", "2001:db8:8000::/33"), ("::/0", "::/0"),
    ("::ffff:192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7/120", "192.0.2.0/24"), ("fe80::1", "fe80::1"),
    ("fe80::1%lo", "fe80::1%lo"), ("fe80::%lo/64", "fe80::%lo/64"), ("fe80::1%lo/64", "fe80::%lo/64"),
  ])
  func `a range is parsed and written`(text: String, shown: String) throws {
    expect(try AddressRange.parse(text).description, is: shown)
  }

  @Test(arguments: [
    ("", "is not a numeric address"), ("host", "is not a numeric address"), ("192.0.2", "is not a numeric address"),
    ("192.0.2.7:80", "is not a numeric address"), ("[::1]", "is not a numeric address"),
    ("192.0.2.0/33", "from 0 to 32"), ("192.0.2.0/", "from 0 to 32"), ("192.0.2.0/-1", "from 0 to 32"),
    ("192.0.2.0/+8", "from 0 to 32"), ("192.0.2.0/24/24", "from 0 to 32"), ("::/129", "from 0 to 128"),
    ("::/999999999999999999999", "from 0 to 128"), ("::ffff:0.0.0.0/95", "spans IPv4 and IPv6"),
    ("2001:db8::1%lo", "only a link-local"), ("192.0.2.7%lo", "only a link-local"),
    ("fe80::1%nowhere", "no network interface 'nowhere'"), ("fe80::1%", "no network interface ''"),
    ("fe80::1%lo/9", "are not link-local"), ("a\u{1B}[2J", "is not a numeric address"),
  ])
  func `a text that is not a range results in the reason`(text: String, clause: String) {
    let error = #expect(throws: AddressRange.ParseError.self) { try AddressRange.parse(text) }
    expect(error?.description.contains(clause), is: true, "\(error?.description ?? "")")
    expect(error?.description.contains("\u{1B}"), is: false)
  }

  @Test(arguments: [
    ("192.0.2.0/24", "192.0.2.255", true), ("192.0.2.0/24", "192.0.3.0", false), ("192.0.2.0/31", "192.0.2.1", true),
    ("192.0.2.0/31", "192.0.2.2", false), ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false),
    ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false), ("::/0", "192.0.2.7", false),
    ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
    ("::ffff:192.0.2.0/120", "192.0.2.200", true), ("fe80::/10", "febf::1", true), ("fe80::1%lo", "fe80::1", false),
  ])
  func `a range contains the addresses that share its bits`(range: String, other: String, isInside: Bool) throws {
    expect(try AddressRange.parse(range).contains(try address(other)), is: isInside)
  }

  @Test func `a range on an interface contains only that interface's addresses`() throws {
    let bytes = try address("fe80::1").bytes
    let here = SocketAddress(family: .v6, bytes: bytes, scope: 1, port: 5)
    let there = SocketAddress(family: .v6, bytes: bytes, scope: 2, port: 5)
    expect(AddressRange(here).contains(here) && !AddressRange(here).contains(there))
    let anywhere = AddressRange(try address("fe80::1"))
    expect(anywhere.contains(here) && anywhere.contains(there))
  }

  @Test(arguments: [
    ("192.0.2.7", false, "192.0.2.7"), ("192.0.2.7", true, "192.0.2.7"), ("2001:db8::1", true, "2001:db8::1"),
    ("2001:db8:1:2:3:4:5:6", false, "2001:db8:1:2::/64"), ("fe80::1", false, "fe80::1"), ("::1", false, "::1"),
  ])
  func `a near address counts separately, and a distant one with its network`(
    text: String, isOnLink: Bool, network: String
  ) throws {
    expect(try address(text).network(onLink: isOnLink).description, is: network)
  }

  @Test func `a network does not depend on the port`() throws {
    let one = try address("192.0.2.7")
    var other = one
    other.port = 1
    expect(one.network(onLink: false), is: other.network(onLink: false))
  }

  @Test func `an address on a link is recognised by the link's range`() throws {
    let links = [try AddressRange.parse("2001:db8::/64"), try AddressRange.parse("192.0.2.0/24")]
    for (text, isNear) in [("2001:db8::9", true), ("192.0.2.9", true), ("2001:db8:0:1::9", false)] {
      expect(links.contains(try address(text)), is: isNear)
    }
    expect(AddressRange.ofLocalLinks().allSatisfy { $0.bits > 0 })
  }
}
