import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Data streams past the relay of a session, as the receiver decides.
@Suite struct ReceiverDirectTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  private static func relayed(_ features: Features = .addresses) -> ReceiverScript {
    var settings = Script.settings()
    settings.greeting.features = features
    var script = Script(settings)
    script.open()
    script.pair(own: AddressFixture.own)
    script.plan(features: .addresses)
    return script
  }

  @Test func `the receiver tells its addresses behind the verdict, and dials when the sender has told its own`() {
    var script = Self.relayed()
    let said = script.agree()
    expect(said.contains("say 1 addresses [6000] []"))
    // Data streams are the sender's to begin.
    expect(script.say(.addresses(AddressFixture.addresses)), is: [])
    script.take()
    expect(script.say(.addresses(AddressFixture.addresses)), is: ["dial 1: [4000, 5000] from 6000"])
    expect(script.say(.addresses(AddressFixture.addresses)), is: [])
    for _ in 0..<2 {
      expect(script.feed(.dialed(number)), is: [])
      expect(script.say(.addresses(AddressFixture.addresses)), is: ["dial 1: [4000, 5000] from 6000"])
    }
    _ = script.feed(.dialed(number))
    expect(script.say(.addresses(AddressFixture.addresses)), is: [])
  }

  @Test func `all sessions of a sender share the addresses of an hour`() {
    var settings = Script.settings()
    settings.greeting.features = .addresses
    settings.giveUpAfter = 600
    var script = Script(settings)
    script.open()
    let addresses = Addresses(
      listening: (1...16).map { InternetAddress(address: [10, 0, 0, $0], port: 4000) }, dialling: [])
    var rounds: [Int] = []
    for number in 1...4 as ClosedRange<UInt64> {
      if number == 1 {
        script.pair(own: AddressFixture.own)
        script.plan(features: .addresses)
      } else {
        if number == 4 { script.now += 3_000 }
        _ = script.feed(.broke(Script.id(number - 1), Script.cut))
        _ = script.feed(.closed(Script.id(number - 1)))
        _ = script.feed(.syncEnded(SessionNumber(number - 1), nil))
        script.resume(number, key: 1, own: AddressFixture.own)
        script.plan(Script.plan(Script.transfer), on: number, features: .addresses)
      }
      script.take(number, on: number)
      rounds.append(0)
      for _ in 1...4 {
        script.now += 100
        if script.say(.addresses(addresses), on: number).contains(where: { $0.hasPrefix("dial \(number)") }) {
          rounds[rounds.count - 1] += 1
        }
        _ = script.feed(.dialed(SessionNumber(number)))
      }
    }
    expect(rounds, is: [3, 3, 0, 3])
  }

  @Test func `the end of the session ends a round`() {
    var script = Self.relayed()
    script.take()
    _ = script.say(.addresses(AddressFixture.addresses))
    expect(script.feed(.broke(Script.id(1), Script.cut)).contains("end dial 1"))
    expect(script.feed(.dialed(number)), is: [])
  }

  @Test func `without the feature, or without a relay, it neither tells nor dials`() {
    var plain = Script(ReceiverDirectTests.relayed().engine.settings)
    plain.open()
    plain.pair()
    plain.plan(features: .addresses)
    for var script in [plain, Self.relayed(.zstd)] {
      expect(!script.agree().contains { $0.contains("addresses") })
      script.take()
      expect(script.say(.addresses(AddressFixture.addresses)), is: [])
    }
  }

  @Test func `the user is told when data passes the relay, and when it does not any more`() {
    var script = Self.relayed()
    script.take()
    script.come(2, key: 1, own: AddressFixture.own)
    _ = script.feed(.asked(Script.id(2), .join))
    expect(
      script.feed(.joining(Script.id(2), Join(session: Script.session, stream: 0))), is: ["serve 2 in 1 as 0"])
    expect(script.join(3, stream: 1), is: ["serve 3 in 1 as 1", "tell directly, by IPv4"])
    expect(script.join(4, stream: 2), is: ["serve 4 in 1 as 2"])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: [])
    expect(script.feed(.streamEnded(Script.id(3), .over, held: Tally())), is: [])
    // A stream that was on its way through the relay says nothing.
    script.come(5, key: 1, own: AddressFixture.own)
    _ = script.feed(.asked(Script.id(5), .join))
    expect(
      script.feed(.joining(Script.id(5), Join(session: Script.session, stream: 3))), is: ["serve 5 in 1 as 3"])
    // Nor does the end of the last one, which may be that of the data.
    expect(script.feed(.streamEnded(Script.id(4), .over, held: Tally())), is: [])
    script.come(6, key: 1, own: AddressFixture.own)
    _ = script.feed(.asked(Script.id(6), .join))
    expect(
      script.feed(.joining(Script.id(6), Join(session: Script.session, stream: 4))),
      is: ["serve 6 in 1 as 4", "tell through relay again"])
    expect(script.join(7, stream: 5).last, is: "tell directly, by IPv4")
  }
}
