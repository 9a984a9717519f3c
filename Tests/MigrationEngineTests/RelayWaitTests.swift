import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A receiver that waits at a relay, and a sender that may find it there.
@Suite struct RelayWaitTests {
  private typealias Script = ReceiverScript
  private let place = RelayPlace(number: 5724)
  private let shown = Script.code.shown

  private func waiting() -> Script {
    var settings = Script.settings()
    settings.waitsAtRelay = true
    var script = Script(settings)
    _ = script.feed(.begin)
    _ = script.feed(.tookBack(.success([])))
    // Only the relay knows this device.
    expect(script.feed(.listening(.success(Listening(addresses: ["::1"], port: 7)))).contains("announce"))
    return script
  }

  @Test func `a code is shown with the place, and again with another place`() throws {
    var script = waiting()
    let (one, two) = (try #require(place), try #require(RelayPlace(withoutCheck: 99)))
    expect(script.feed(.codeMade(.success(Script.code))), is: [])
    expect(script.feed(.placed(one), after: 10), is: ["tell code 5724-\(shown) for 590"])
    let lost = "tell notice there is no place for this device at the relay (it is gone); trying again"
    expect(script.feed(.unplaced("it is gone")), is: [lost])
    expect(script.feed(.unplaced("it is gone")), is: [])
    // Each new reason is told, once.
    expect(script.feed(.unplaced("it does not take the token")).count, is: 1)
    for known in ["it is gone", "it does not take the token"] { expect(script.feed(.unplaced(known)), is: []) }
    expect(script.feed(.placed(two)), is: ["tell code \(two.number)-\(shown) for 590"])
  }

  @Test func `the place may come before the code, and a relay that is away keeps no code back`() throws {
    var script = waiting()
    expect(script.feed(.placed(try #require(place))), is: [])
    expect(script.feed(.codeMade(.success(Script.code))), is: ["tell code 5724-\(shown) for 600"])
    script = waiting()
    expect(script.feed(.unplaced("it is away")).count, is: 1)
    expect(script.feed(.codeMade(.success(Script.code))), is: ["tell code \(shown) for 600"])
  }

  @Test func `guesses through a relay count by the stated address, and have no smaller delay`() {
    func remote(_ host: String) -> Remote {
      Remote(host: host, network: "relay", guesser: "\(host) relay", relay: "relay")
    }
    var codes = ReceiverCodes(speed: 1)
    var now = 0.0
    for guess in 0..<6 {
      if codes.isWanted { codes.issue(Script.code, now: now) }
      guard let number = try? codes.open(for: remote("a\(guess)"), now: now) else { return expect(Bool(false)) }
      _ = codes.judge(number, false, from: remote("a\(guess)"), now: now)
      now += 10
    }
    if codes.isWanted { codes.issue(Script.code, now: now) }
    let number = try? codes.open(for: remote("b"), now: now)
    _ = number.map { codes.judge($0, false, from: remote("b"), now: now) }
    // The seventh guess delays all by a second; an address of this device's network only by a fifth.
    #expect(throws: AbortReason.busy) { try codes.open(for: remote("c"), now: now + 0.9) }
    #expect(throws: Never.self) { try codes.open(for: remote("c"), now: now + 1.1) }
    #expect(throws: Never.self) { try codes.open(for: Remote(host: "d", network: "d"), now: now + 0.3) }
  }

  @Test func `the user is told of a relay before the offer, once for each relay`() {
    var script = waiting()
    _ = script.feed(.codeMade(.success(Script.code)))
    _ = script.feed(.arrived(Script.id(1), Remote(host: "h", network: "n", relay: "relay"), chance: 1))
    _ = script.feed(.spoke(Script.id(1)))
    _ = script.feed(.secured(Script.id(1), Script.key(1)))
    _ = script.ask(1)
    _ = script.feed(.proved(Script.id(1), isRight: true))
    _ = script.feed(.ready(Script.id(1), identifier: 100))
    _ = script.feed(.received(Script.id(1), Script.greeting()))
    _ = script.feed(.received(Script.id(1), .plan(Script.plan())))
    let told = script.feed(Script.planJudged())
    expect(told.first?.hasSuffix("bytes through relay"), is: true, "\(told)")
    expect(told.dropFirst().first?.hasPrefix("tell offer"), is: true)
    var trial = SenderTrial()
    trial.beginPairing()
    trial.meet(own: AddressFixture.own)
    expect(trial.hear(.greeting(Fixture.greeting())).contains { $0.hasSuffix("bytes through relay") })
  }

  // MARK: The sender

  private let far = SenderEngine.DialFailure.unreached(Fixture.failure("far"), reason: "it is far")

  @Test func `a sender tries the network first, and its relay second`() {
    var trial = SenderTrial(target: nil) { $0.hasRelay = true }
    trial.take(.begin)
    expect(trial.take(.lookedUp(.success([]))), is: ["tell looking", "look"])
    expect(trial.take(.found(.success([]), spread: 0)), is: ["probe relay"])
  }

  @Test func `a transfer is sought at its relay behind all devices`() {
    var trial = SenderTrial(target: nil) { $0.hasRelay = true }
    trial.begin([Fixture.unfinished(7, address: "last:1")])
    expect(trial.fail(far), is: ["tell looking", "look"])
    expect(trial.take(.found(.success([Fixture.nearby("a")]), spread: 0)), is: ["dial to resume 7 at found(0)"])
    expect(trial.fail(.stranger(Fixture.otherReceiver)), is: ["dial to resume 7 at relay"])
    // It is not there yet: another round, and no new transfer instead of the old one.
    expect(
      trial.fail(far), is: ["tell notice the other device cannot be reached yet (it is far); trying again"])
  }
}
