import Expectations
import Glibc
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationDiscovery

@Suite(.enabled(if: canHaveOwnNetwork)) struct FindingTests {
  @Test func `a receiver is found with its addresses, and removed when it is withdrawn`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let watched = try Watched()
      let announced = try Announced("new-laptop", instance: 0xFEED)
      // Each end of the cable is also seen from the other end.
      let awaited: Set = ["192.0.2.1:47470", "192.0.2.2:47470", "[fe80::1%one]:47470", "[fe80::2%two]:47470"]
      let found = try watched.list("a receiver with addresses of both interfaces") {
        $0.first.map { Set($0.addresses.map(\.description)).isSuperset(of: awaited) } ?? false
      }
      expect(found.map(\.label), is: ["new-laptop"])
      expect(found.map(\.instance), is: [0xFEED])
      let addresses = found[0].addresses
      expect(addresses.prefix(2).allSatisfy { $0.family == .v4 && $0.port == 47470 })
      expect(try announced.announced(), is: "new-laptop (0000)")
      announced.announcement.end()
      try watched.list("the removal of the receiver") { $0.isEmpty }
      watched.stop()
    }
  }

  @Test func `two receivers with one name are told apart, and both are found`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let first = try Announced("box", port: 1001, instance: 1 << 48)
      _ = try first.announced()
      let second = try Announced("box", port: 1002, instance: 2 << 48)
      let watched = try Watched()
      let found = try watched.list("two receivers") { $0.count == 2 }
      expect(Set(found.map(\.instance)), is: [1 << 48, 2 << 48])
      expect(Set(found.map(\.label)), is: [try first.announced(), try second.announced()])
    }
  }

  @Test func `a later network is announced on and searched, and a removed one is forgotten`() throws {
    try inOwnNetwork {
      let watched = try Watched()
      expect(try watched.trouble(), is: .noNetwork)
      let announced = try Announced("late", instance: 3)
      try joinTwoInterfaces()
      try watched.list("the receiver on the new network") { $0.first?.label == "late" }
      try ip("link del one")
      try watched.list("the receiver to be forgotten") { $0.isEmpty }
      let troubles = watched.state.withLock { $0.troubles }
      expect(troubles, is: [.noNetwork, nil])
      announced.announcement.end()
    }
  }

  @Test func `both ends on one device without a network find each other`() throws {
    try inOwnNetwork {
      try ip("link set lo up")
      let announced = try Announced("here", instance: 4)
      let watched = try Watched()
      let found = try watched.list("the receiver on this device") { !$0.isEmpty }
      expect(found.map { $0.addresses.map(\.description) }, is: [["127.0.0.1:47470", "[::1]:47470"]])
      // Both know that no other device can find the receiver.
      expect(try watched.trouble(), is: .noNetwork)
      expect(try announced.troubles.wait(for: "trouble") { $0.first }, is: .noNetwork)
      expect(announced.name.withLock { $0 } == nil)
      try joinTwoInterfaces()
      try watched.relief()
      expect(try announced.announced(), is: "here (0000)")
      announced.announcement.end()
    }
  }

  @Test func `a port in exclusive use by another program is reported once, and used when it is free`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let other = socket(AF_INET6, CInt(SOCK_DGRAM.rawValue), 0)
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = UInt16(5353).bigEndian
      let bound = withUnsafeBytes(of: &address) {
        bind(other, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
      }
      try #require(bound == 0)
      let watched = try Watched()
      guard case .refused(let error) = try watched.trouble() else { return expect(Bool(false), "not refused") }
      expect(error.isAddressInUse)
      let announced = try Announced("patient", instance: 5)
      close(other)
      try watched.list("the receiver, once the port is free") { $0.first?.label == "patient" }
      try watched.relief()
      expect(watched.state.withLock { $0.troubles.count }, is: 2)
      announced.announcement.end()
    }
  }

  @Test func `the service is announced again on a network that was interrupted for a moment`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      for name in ["one", "two"] { try ip("-6 addr flush dev \(name)") }
      let two = try #require(NetworkInterface.all().first { $0.name == "two" })
      let group = MulticastDNS.groupV4
      let ear = try MulticastSocket(group: group, interface: two.index)
      let announced = try Announced("flapping", instance: 8)
      _ = try announced.announced()
      while try hearsAnnouncement(ear, within: .milliseconds(2500)) {}
      try ip("link set two down")
      try ip("link set two up")
      expect(try hearsAnnouncement(ear, within: .seconds(10)))
      announced.announcement.end()
    }
  }

  /// Whether an announcement arrives within this time.
  private func hearsAnnouncement(_ ear: borrowing MulticastSocket, within time: Duration) throws -> Bool {
    let end = BootInstant.now() + time
    var poller = try Poller()
    var buffer = MulticastSocket.Buffer(longest: MulticastDNS.longestPacket)
    while try !poller.wait(for: .readable, on: ear.raw, until: end).isEmpty {
      var isAnnounced = false
      _ = try buffer.receive(from: ear) { datagram in
        if (try? DNSPacket(datagram.bytes))?.isResponse == true { isAnnounced = true }
      }
      if isAnnounced { return true }
    }
    return false
  }

  @Test func `without IPv6 all packets use IPv4`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      for name in ["one", "two"] { try ip("-6 addr flush dev \(name)") }
      let announced = try Announced("four", instance: 6)
      let watched = try Watched()
      let found = try watched.list("the receiver") { !$0.isEmpty }
      expect(found[0].addresses.allSatisfy { $0.family == .v4 })
      announced.announcement.end()
    }
  }

  @Test func `a dropped search ends by itself, and closes its descriptors`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let before = try openSockets()
      for _ in 0..<3 {
        let watched = try Watched()
        let announced = try Announced("short", instance: 7)
        _ = try announced.announced()
        watched.stop()
        announced.announcement.end()
      }
      let deadline = soon()
      while try openSockets() > before, BootInstant.now() < deadline { sched_yield() }
      expect(try openSockets() <= before)
    }
  }

  /// How many sockets of the calling thread's network have the port of multicast DNS.
  private func openSockets() throws -> Int {
    try ["udp", "udp6"].reduce(0) { count, name in
      let text = try #require(try? contents("/proc/thread-self/net/\(name)"))
      return count + text.split(separator: "\n").count { $0.contains(":14E9 ") }
    }
  }

  private func contents(_ path: String) throws -> String {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
