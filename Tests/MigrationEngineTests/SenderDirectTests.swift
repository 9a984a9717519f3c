import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Data streams past the relay of a session, as the sender decides.
@Suite struct SenderDirectTests {
  private static let round = " at one of the ports [4000, 5000]"

  /// Two streams go through the relay, and a round of tries begins as the third one.
  private static func trying(fixed: UInt32? = nil) -> StreamPlanTrial {
    var trial = StreamPlanTrial(fixed: fixed)
    _ = trial.open()
    trial.join(0)
    if fixed == nil { expect(trial.look(waiting: 8), is: ["open 1.1"]) }
    trial.join(1)
    trial.tell(AddressFixture.addresses)
    expect(trial.next ?? 1 <= 0)
    expect(trial.tryAddresses(), is: ["open 1.2" + round])
    expect(trial.tryAddresses(), is: [])
    return trial
  }

  @Test func `streams through the relay end when one has passed it, and others follow where it leads`() {
    var trial = Self.trying()
    expect(trial.join(2, by: AddressFixture.open), is: ["retire 1.1", "retire 1.0", "read window 1"])
    expect(trial.look(waiting: 8), is: ["open 1.3 at port 4000"])
    expect(trial.join(3, by: AddressFixture.open), is: [])
    for old in [0, 1] as [UInt32] { expect(trial.end(old, .finished), is: ["forget stream 1.\(old)"]) }
  }

  @Test func `by an address that only dials, one stream passes the relay`() {
    var trial = Self.trying()
    expect(trial.join(2, by: AddressFixture.seen), is: ["retire 1.1", "retire 1.0"])
    expect(trial.look(waiting: 8), is: [])
    // As many as the user wants, where they can.
    var fixed = Self.trying(fixed: 2)
    expect(fixed.join(2, by: AddressFixture.seen), is: ["retire 1.1", "retire 1.0"])
    fixed = Self.trying(fixed: 2)
    expect(fixed.join(2, by: AddressFixture.open), is: ["retire 1.1", "retire 1.0", "open 1.3 at port 4000"])
  }

  @Test func `a round that fails costs nothing, and others follow`() {
    var trial = Self.trying()
    expect(trial.end(2, .lost(hasBrought: false)), is: ["forget stream 1.2"])
    _ = trial.pass(4.9)
    expect(trial.tryAddresses(), is: [])
    _ = trial.pass(0.2)
    expect(trial.tryAddresses(), is: ["open 1.3" + Self.round])
    // While it goes on, other streams open and break as always.
    expect(trial.end(0, .lost(hasBrought: true)), is: ["move 1.0 to 4", "open 1.4 for 0 attempts 1"])
    trial.join(4)
    expect(trial.end(3, .turnedAway(Fixture.cut)), is: ["forget stream 1.3"])
  }

  @Test func `a direct connection that breaks costs its stream, whose replacement goes through the relay`() {
    var trial = Self.trying()
    trial.join(2, by: AddressFixture.open)
    _ = trial.look(waiting: 8)
    trial.join(3, by: AddressFixture.open)
    // Another one is there, and may be as dead: the frames take the relay at once.
    expect(trial.end(2, .lost(hasBrought: true)), is: ["move 1.2 to 4", "open 1.4 for 2 attempts 1"])
    expect(trial.end(3, .lost(hasBrought: true)), is: ["move 1.3 to 5", "open 1.5 for 3 attempts 1"])
    trial.join(5)
    expect(trial.tryAddresses(), is: [])
    _ = trial.pass(5.1)
    expect(trial.tryAddresses(), is: ["open 1.6" + Self.round])
  }

  @Test func `where the direct way lives on, the replacement ends behind its frames, and another stream passes`() {
    var trial = Self.trying(fixed: 2)
    expect(trial.join(2, by: AddressFixture.open).last, is: "open 1.3 at port 4000")
    trial.join(3, by: AddressFixture.open)
    expect(trial.end(3, .lost(hasBrought: true)), is: ["move 1.3 to 4", "open 1.4 for 3 attempts 1"])
    expect(trial.join(4), is: ["retire 1.4", "open 1.5 at port 4000"])
  }

  @Test func `a further stream that finds no address is left out, and a replacement takes the relay`() {
    var trial = Self.trying()
    trial.join(2, by: AddressFixture.open)
    _ = trial.look(waiting: 8)
    expect(trial.end(3, .lost(hasBrought: false)), is: ["forget stream 1.3"])
    var broken = Self.trying()
    broken.join(2, by: AddressFixture.open)
    _ = broken.look(waiting: 8)
    broken.join(3, by: AddressFixture.open)
    _ = broken.end(3, .lost(hasBrought: false))
    expect(broken.end(4, .lost(hasBrought: false)), is: ["move 1.4 to 5"])
    expect(broken.pass(1), is: ["open 1.5 for 3 attempts 2", "read window 1"])
    expect(broken.join(5), is: ["retire 1.5", "read window 1"])
  }

  @Test func `a stream through the relay that was on its way ends when it has joined`() {
    var trial = StreamPlanTrial()
    _ = trial.open()
    trial.tell(AddressFixture.addresses)
    expect(trial.tryAddresses(), is: ["open 1.1" + Self.round])
    trial.join(1, by: AddressFixture.seen)
    expect(trial.join(0), is: ["retire 1.0"])
  }

  @Test func `streams through the relay that join after one has passed it have replacements that pass it`() {
    var trial = StreamPlanTrial(fixed: 2)
    expect(trial.open(), is: ["open 1.0", "open 1.1"])
    trial.tell(AddressFixture.addresses)
    expect(trial.tryAddresses(), is: ["open 1.2" + Self.round])
    expect(trial.join(2, by: AddressFixture.open), is: [])
    expect(trial.join(0), is: ["retire 1.0", "open 1.3 at port 4000"])
    expect(trial.join(1), is: ["retire 1.1"])
  }

  // MARK: In a session

  private static func relayed(_ features: Features) -> SenderTrial {
    var trial = SenderTrial { $0.greeting.features = features }
    trial.beginPairing()
    trial.meet(own: AddressFixture.own)
    return trial
  }

  @Test func `the sender says its addresses when it tries, and the user is told what is used`() {
    var trial = Self.relayed(.addresses)
    trial.hear(.greeting(Fixture.greeting(features: .addresses)))
    trial.hear(.verdict(Fixture.verdict))
    expect(trial.hear(.addresses(AddressFixture.addresses)), is: [])
    trial.take(.planRecorded(trial.session, 77, nil))
    let begun = trial.accept()
    expect(begun.suffix(3), is: ["open 1.0", "say 1 addresses [6000] []", "open 1.1" + Self.round])
    trial.take(.streamJoined(trial.session, 0))
    trial.take(.window(trial.session, Fixture.counts))
    expect(
      trial.take(.streamJoined(trial.session, 1, by: AddressFixture.far)).suffix(2),
      is: [
        "retire 1.0", "tell directly, by IPv6",
      ])
    expect(trial.end(1, .lost(hasBrought: true)).last, is: "tell through relay again")
    expect(trial.pass(6).contains("say 1 addresses [6000] []"))
  }

  @Test(arguments: [(Features.zstd, Features.addresses), (.addresses, .zstd)])
  func `without the feature at both ends there are no addresses`(here: Features, there: Features) {
    var trial = Self.relayed(here)
    _ = trial.plan(Fixture.verdict, Fixture.greeting(features: there))
    trial.hear(.addresses(AddressFixture.addresses))
    let begun = trial.accept()
    expect(begun.last == "open 1.0" && trial.engine.nextMoment ?? 0 > trial.now)
  }

  @Test func `addresses that come late are tried at once`() {
    var trial = Self.relayed(.addresses)
    _ = trial.stream(Fixture.verdict, Fixture.greeting(features: .addresses))
    expect(
      trial.hear(.addresses(AddressFixture.addresses)), is: ["say 1 addresses [6000] []", "open 1.1" + Self.round])
  }
}
