import Expectations
import Testing

@testable import MigrationSystem

@Suite struct AddressTests {
  @Test(arguments: [
    ("host:1", "host", 1), ("host", "host", 9), (":80", nil, 80), ("192.0.2.7:47470", "192.0.2.7", 47470),
    ("[::1]:47470", "::1", 47470), ("[::1]", "::1", 9), ("::1", "::1", 9), ("fe80::1%eth0", "fe80::1%eth0", 9),
    ("[fe80::1%eth0]:5", "fe80::1%eth0", 5), ("host:0", "host", 0), ("h:65535", "h", 65535), ("bücher", "bücher", 9),
    ("a\u{600}:80", "a\u{600}", 80),
  ])
  func `hosts and ports are parsed`(text: String, host: String?, port: Int) throws {
    expect(
      try HostAndPort.parse(text, defaultPort: 9), is: HostAndPort(host: host, port: UInt16(port)))
  }

  @Test(arguments: [
    ("", "missing host"), ("host:", "is not a port"), ("host:65536", "is not a port"), ("host:+1", "is not a port"),
    ("host:-1", "is not a port"), ("host:x", "is not a port"), (":", "is not a port"), ("a:b:1", "more than one colon"),
    ("::1:", "more than one colon"), ("[::1", "in its brackets"), ("[host]:1", "in its brackets"),
    ("[]:1", "in its brackets"), ("[::1]x", "a port after brackets"), ("[::1]:", "is not a port"),
    ("a b:1", "is not the name"), ("user@host", "is not the name"), ("a/b", "is not the name"),
    ("a\nb", "is not the name"), ("fe80::1%]", "is not the name"), ("fe80::1%\n", "is not the name"),
    ("[fe80::1% ]:1", "is not the name"), ("fe80::1", "names no interface"), ("[fe80::1]:1", "names no interface"),
  ])
  func `a text that is not a host and port results in the reason`(text: String, reason: String) {
    let error = #expect(throws: HostAndPort.ParseError.self) { try HostAndPort.parse(text, defaultPort: 9) }
    expect(error?.description.contains(reason), is: true)
    expect(error?.description.contains("\n"), is: false)
  }

  @Test func `a number alone is a port to listen on`() throws {
    expect(try HostAndPort.parseListening("5000", defaultPort: 9), is: HostAndPort(host: nil, port: 5000))
    expect(try HostAndPort.parseListening("h:5000", defaultPort: 9), is: HostAndPort(host: "h", port: 5000))
    #expect(throws: HostAndPort.ParseError.self) { try HostAndPort.parseListening("70000", defaultPort: 9) }
  }

  @Test func `addresses are written as users type them`() throws {
    expect(SocketAddress(numeric: "192.0.2.7", port: 47470)?.description, is: "192.0.2.7:47470")
    expect(SocketAddress(numeric: "::1", port: 47470)?.description, is: "[::1]:47470")
    expect(SocketAddress(numeric: "2001:DB8:0:0::1", port: 1)?.hostDescription, is: "2001:db8::1")
    expect(SocketAddress(numeric: "::1", port: 1)?.isLoopback, is: true)
    expect(SocketAddress(numeric: "::", port: 1)?.isLoopback, is: false)
    expect(SocketAddress(numeric: "fe80::2", port: 1)?.isLinkLocal, is: true)
    expect(SocketAddress(numeric: "host", port: 1) == nil)
  }

  @Test func `names are resolved, and an unknown name results in a readable error`() throws {
    expect(try SocketAddress.resolve(host: "127.0.0.1", port: 7), is: [.loopback(port: 7)])
    let error = #expect(throws: SystemError.self) { try SocketAddress.resolve(host: "no such host", port: 7) }
    expect(error?.description.hasPrefix("cannot find the address of no such host: "), is: true)
    expect(error?.reason?.isEmpty, is: false)
  }

  @Test func `the interfaces have the loopback address, with the requested port`() throws {
    let addresses = try SocketAddress.localAddresses(port: 5)
    expect(addresses.allSatisfy { $0.port == 5 })
    expect(addresses.contains { $0.isLoopback })
  }
}
