import Expectations
import MigrationEngine
import MigrationSystem
import MigrationWire
import Testing

@testable import MigrationTransfer

/// What a device tells of itself behind a relay, and which of the other end's addresses it dials.
@Suite struct OwnWaysTests {
  private static let local = SocketAddress(family: .v4, bytes: [10, 0, 0, 7], port: 50_000)
  private static let seen = Way(address: [192, 0, 2, 7], port: 40_001)

  @Test func `a relay on this device needs no other way`() {
    expect(OwnWays(dialling: .loopback(port: 50_000), seen: Self.seen) == nil)
  }

  @Test func `a relay that states an address of a device's own services is not believed`() throws {
    for lie in [Way(address: [127, 0, 0, 1], port: 40_001), Way(address: [192, 0, 2, 7], port: 22)] {
      let own = try #require(OwnWays(dialling: Self.local, seen: lie))
      expect(!own.ways.dialling.contains(lie))
    }
    let own = try #require(OwnWays(dialling: Self.local, seen: Self.seen))
    expect(own.ways.dialling == [Self.seen] && own.port == 50_000)
  }

  @Test func `a receiver tells where it listens, and the port from which it dials`() throws {
    let everywhere = try #require(
      OwnWays(
        dialling: Self.local, seen: Self.seen,
        listening: SocketAddress(family: .v6, bytes: [UInt8](repeating: 0, count: 16), port: 47_470)))
    expect(everywhere.ways.listening.allSatisfy { $0.port == 47_470 && $0.isDialable })
    expect(everywhere.ways.dialling.first, is: Self.seen)
    expect(everywhere.ways.dialling.dropFirst().allSatisfy { $0.port == 50_000 })
    let there = SocketAddress(family: .v4, bytes: [10, 0, 0, 8], port: 47_470)
    let only = try #require(OwnWays(dialling: Self.local, seen: Self.seen, listening: there))
    expect(only.ways.listening, is: [Way(there)])
    // The user wants no other device to connect.
    let nowhere = try #require(
      OwnWays(dialling: Self.local, seen: Self.seen, listening: .loopback(port: 47_470)))
    expect(nowhere.ways.listening.isEmpty)
  }
}
