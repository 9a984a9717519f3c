import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite(.enabled(if: canHaveOwnNetwork)) struct MulticastSocketTests {
  private static let groups = ["224.0.0.251", "ff02::fb"]

  private func group(_ text: String) throws -> SocketAddress {
    try #require(SocketAddress(numeric: text, port: 5353))
  }

  /// The datagrams of a socket, after waiting for one.
  private func received(_ socket: borrowing MulticastSocket, longest: Int = 100) throws -> [MulticastSocket.Datagram] {
    var poller = try Poller()
    _ = try poller.wait(for: .readable, on: socket.raw, until: soon())
    return try waiting(socket, longest: longest)
  }

  /// The datagrams of a socket, without waiting.
  private func waiting(_ socket: borrowing MulticastSocket, longest: Int = 100) throws -> [MulticastSocket.Datagram] {
    var buffer = MulticastSocket.Buffer(longest: longest)
    var datagrams: [MulticastSocket.Datagram] = []
    _ = try buffer.receive(from: socket) { datagrams.append($0) }
    return datagrams
  }

  @Test(arguments: groups) func `a packet also reaches its own device, with its origin`(_ text: String) throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let group = try group(text)
      let sending = try MulticastSocket(group: group, interface: if_nametoindex("one"))
      let other = try MulticastSocket(group: group, interface: if_nametoindex("one"))
      try sending.send([1, 2, 3])
      let own = group.family == .v4 ? "192.0.2.1:5353" : "[fe80::1%one]:5353"
      for datagrams in [try received(sending), try received(other)] {
        expect(datagrams.map(\.bytes), is: [[1, 2, 3]])
        expect(datagrams.first?.sender.description, is: own)
        expect(datagrams.first?.interface, is: sending.interface)
        expect(datagrams.first?.hopLimit, is: 255)
      }
    }
  }

  @Test func `a packet crosses the cable, and each interface's socket receives its own`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let group = try group("ff02::fb")
      let one = try MulticastSocket(group: group, interface: if_nametoindex("one"))
      let two = try MulticastSocket(group: group, interface: if_nametoindex("two"))
      try one.send([7])
      expect(try received(two).map(\.interface), is: [two.interface])
      expect(try received(one).map(\.interface), is: [one.interface])
      expect(try waiting(one).isEmpty && waiting(two).isEmpty)
    }
  }

  @Test func `a packet of a group that another program joined elsewhere is not received`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let group = try group("224.0.0.251")
      let one = try MulticastSocket(group: group, interface: if_nametoindex("one"))
      let two = try MulticastSocket(group: group, interface: if_nametoindex("two"))
      try one.send([7])
      expect(try received(one).count, is: 1)
      expect(try waiting(two).isEmpty)
    }
  }

  @Test(arguments: groups) func `packets to one address go to the program that had the port`(_ text: String) throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let group = try group(text)
      let other = Descriptor(owning: try calling("listen") { csystemDatagramSocket(group.family) })
      try other.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
      try perform("listen") { SocketAddress.any(group.family, port: 5353).withKernelForm { bind(other.raw, $0, $1) } }
      let socket = try MulticastSocket(group: group, interface: if_nametoindex("one"))
      let own = SocketAddress(
        family: group.family,
        bytes: group.family == .v4 ? [192, 0, 2, 1] : [0xFE, 0x80] + Array(repeating: 0, count: 13) + [1],
        scope: group.family == .v4 ? 0 : socket.interface, port: 5353)
      try ip("link set lo up")
      try socket.send([9], to: own)
      var poller = try Poller()
      let ready = try poller.wait(for: .readable, on: other.raw, until: soon())
      expect(!ready.isEmpty)
      expect(try waiting(socket).isEmpty)
    }
  }

  private func csystemDatagramSocket(_ family: SocketAddress.Family) -> CInt {
    socket(family.number, CInt(SOCK_DGRAM.rawValue), 0)
  }

  @Test(arguments: [SO_REUSEADDR, SO_REUSEPORT]) func `programs that share a port can all use it`(_ option: CInt) throws
  {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let group = try group("224.0.0.251")
      let other = Descriptor(owning: try calling("listen") { csystemDatagramSocket(.v4) })
      try other.setOption(SOL_SOCKET, option, 1)
      try perform("listen") { SocketAddress.any(.v4, port: 5353).withKernelForm { bind(other.raw, $0, $1) } }
      let socket = try MulticastSocket(group: group, interface: if_nametoindex("one"))
      try socket.send([1])
      expect(try received(socket).count, is: 1)
    }
  }

  @Test func `a port in exclusive use by another program is refused, with the address`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let group = try group("224.0.0.251")
      let other = Descriptor(owning: try calling("listen") { csystemDatagramSocket(.v4) })
      try perform("listen") { SocketAddress.any(.v4, port: 5353).withKernelForm { bind(other.raw, $0, $1) } }
      let error = thrown { () throws(SystemError) in
        _ = try MulticastSocket(group: group, interface: if_nametoindex("one"))
      }
      expect(error?.isAddressInUse, is: true)
      expect(error?.description, is: "cannot listen on 224.0.0.251:5353: Address already in use")
    }
  }

  @Test func `datagrams come in batches, without one that is too long`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let socket = try MulticastSocket(group: try group("224.0.0.251"), interface: if_nametoindex("one"))
      for number in 0..<UInt8(40) { try socket.send(Array(repeating: number, count: number == 3 ? 101 : 100)) }
      let first = try received(socket)
      expect(first.compactMap(\.bytes.first), is: Array(0..<3) + Array(4..<32))
      expect(try waiting(socket).compactMap(\.bytes.first), is: Array(32..<40))
      expect(try waiting(socket).isEmpty)
    }
  }

  @Test func `sending through a removed interface is an error and does no harm`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      for text in Self.groups {
        let socket = try MulticastSocket(group: try group(text), interface: if_nametoindex("one"))
        try ip("link set one down")
        let error = thrown { () throws(SystemError) in try socket.send([1]) }
        expect(error != nil)
        try ip("link set one up")
      }
      let socket = try MulticastSocket(group: try group("224.0.0.251"), interface: if_nametoindex("one"))
      try ip("link del one")
      expect(thrown { () throws(SystemError) in try socket.send([1]) } != nil)
      expect(thrown { () throws(SystemError) in _ = try MulticastSocket(group: try groupV4(), interface: 999) } != nil)
    }
  }

  private func groupV4() throws(SystemError) -> SocketAddress {
    SocketAddress(family: .v4, bytes: [224, 0, 0, 251], port: 5353)
  }
}
