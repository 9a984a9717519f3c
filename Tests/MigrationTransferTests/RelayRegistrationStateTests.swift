import Expectations
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Testing

@testable import MigrationTransfer

/// What a receiver believes of its relay, and how often it comes back to one.
@Suite struct RelayRegistrationStateTests {
  private static let meeting = RelayMeeting(ofSecret: [UInt8](repeating: 7, count: RelayMeeting.secretSize))

  private static func placed(now: Double = 0) throws -> RelayRegistrationState {
    var registration = RelayRegistrationState(now: now)
    let place = try #require(RelayPlace(withoutCheck: 12))
    expect(try registration.take(.place(place), now: now), is: .placed(place))
    return registration
  }

  @Test func `a relay gives one place, and rings only behind it`() throws {
    let (place, call) = (try #require(RelayPlace(withoutCheck: 12)), RelayCall([UInt8](repeating: 1, count: 16)))
    let caller = InternetAddress(address: [192, 0, 2, 7], port: 40_001)
    var registration = RelayRegistrationState(now: 0)
    #expect(throws: RelayAccess.Trouble.foreign) { try registration.take(.ring(call, caller), now: 0) }
    registration = try Self.placed()
    expect(try registration.take(.ring(call, caller), now: 1), is: .rung(call, caller))
    #expect(throws: RelayAccess.Trouble.foreign) { try registration.take(.place(place), now: 1) }
  }

  @Test func `a relay answers each sign of life once`() throws {
    var registration = try Self.placed()
    #expect(throws: RelayAccess.Trouble.foreign) { try registration.take(.pong, now: 1) }
    expect(registration.due([], now: 19) == [] && registration.due([], now: 20) == [.ping])
    expect(try registration.take(.pong, now: 21) == nil)
    #expect(throws: RelayAccess.Trouble.foreign) { try registration.take(.pong, now: 21) }
  }

  @Test func `a registration ends without a place, and without a sign of life`() throws {
    expect(RelayRegistrationState(now: 5).nextMoment, is: 15)
    var registration = try Self.placed()
    expect((registration.nextMoment, registration.silentAt) == (20, 60))
    expect(registration.due([Self.meeting], now: 8), is: [.meet(Self.meeting)])
    expect(registration.due([Self.meeting], now: 9) == [] && registration.nextMoment == 28)
    _ = registration.due([], now: 28)
    _ = try registration.take(.pong, now: 30)
    expect((registration.nextMoment, registration.silentAt) == (48, 90))
  }

  @Test func `the challenge of a relay comes first, and once`() throws {
    func read(_ frames: [RelayFrame]) throws(RelayAccess.Trouble) {
      var (reader, bytes) = (RelayAccess.Reader(), frames.flatMap(\.bytes))
      while !bytes.isEmpty {
        _ = try reader.next { (memory) throws(SystemError) in
          let count = min(memory.count, bytes.count)
          for index in 0..<count { memory[index] = bytes[index] }
          bytes.removeFirst(count)
          return count
        }
      }
    }
    let challenge = RelayFrame.challenge([UInt8](repeating: 3, count: RelayFrame.challengeSize))
    try read([challenge, .pong, .ping])
    try read([.refused(.ending)])
    #expect(throws: RelayAccess.Trouble.foreign) { try read([.pong]) }
    #expect(throws: RelayAccess.Trouble.foreign) { try read([challenge, challenge]) }
  }

  @Test func `a device comes back to a relay that gives and takes places ever more slowly`() {
    var backoff = Backoff.atRelay
    func next(_ trouble: RelayAccess.Trouble, stood: Double = 0) -> Double {
      backoff.next(behind: trouble, stood: stood, spread: 0)
    }
    expect((0..<6).map { _ in next(.foreign, stood: 1) }, is: [1, 2, 4, 8, 16, 30])
    expect(next(.lost(""), stood: 29) == 30 && next(.lost(""), stood: 30) == 1)
    expect(next(.refused(.busy, wait: 10)) == 10 && next(.refused(.busy, wait: 3_600)) == 30)
  }
}
