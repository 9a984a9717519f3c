import Expectations
import MigrationEngine
import MigrationSystem
import MigrationWire
import Testing

@testable import MigrationTransfer

/// What a device tells of itself behind a relay, and which of the other end's addresses it dials.
@Suite struct OwnAddressesTests {
  private static let local = SocketAddress(family: .v4, bytes: [10, 0, 0, 7], port: 50_000)
  private static let seen = InternetAddress(address: [192, 0, 2, 7], port: 40_001)

  @Test func `a relay on this device needs no other address`() {
    expect(OwnAddresses(dialling: .loopback(port: 50_000), seen: Self.seen) == nil)
  }

  @Test func `a relay that states an address of a device's own services is not believed`() throws {
    for lie in [
      InternetAddress(address: [127, 0, 0, 1], port: 40_001), InternetAddress(address: [192, 0, 2, 7], port: 22),
    ] {
      let own = try #require(OwnAddresses(dialling: Self.local, seen: lie))
      expect(!own.addresses.dialling.contains(lie))
    }
    let own = try #require(OwnAddresses(dialling: Self.local, seen: Self.seen))
    expect(own.addresses.dialling == [Self.seen] && own.port == 50_000)
  }

  @Test func `a receiver tells where it listens, and the port from which it dials`() throws {
    let everywhere = try #require(
      OwnAddresses(
        dialling: Self.local, seen: Self.seen,
        listening: SocketAddress(family: .v6, bytes: [UInt8](repeating: 0, count: 16), port: 47_470)))
    expect(everywhere.addresses.listening.allSatisfy { $0.port == 47_470 && $0.isDialable })
    expect(everywhere.addresses.dialling.first, is: Self.seen)
    expect(everywhere.addresses.dialling.dropFirst().allSatisfy { $0.port == 50_000 })
    let there = SocketAddress(family: .v4, bytes: [10, 0, 0, 8], port: 47_470)
    let only = try #require(OwnAddresses(dialling: Self.local, seen: Self.seen, listening: there))
    expect(only.addresses.listening, is: [InternetAddress(there)])
    // The user wants no other device to connect.
    let nowhere = try #require(
      OwnAddresses(dialling: Self.local, seen: Self.seen, listening: .loopback(port: 47_470)))
    expect(nowhere.addresses.listening.isEmpty)
  }
}
