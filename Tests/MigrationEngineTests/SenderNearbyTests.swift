import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// How a sender finds its receiver when the user has named none.
@Suite struct SenderNearbyTests {
  private let far = SenderEngine.DialFailure.unreached(Fixture.failure("far"), reason: "it is far")
  private let other = SenderEngine.DialFailure.stranger(Fixture.otherReceiver)
  private let a = Fixture.nearby("a")
  private let b = Fixture.nearby("b")

  private func found(_ devices: DeviceAddress...) -> SenderEngine.Event { .found(.success(devices), spread: 0) }

  /// A sender that continues a transfer whose receiver was last at a known address.
  private func resuming(giveUpAfter: Double = 600, others: [SenderEngine.EarlierTransfer] = []) -> SenderTrial {
    var trial = SenderTrial(giveUpAfter: giveUpAfter, target: nil)
    trial.begin([Fixture.unfinished(7, address: "last:1")] + others)
    return trial
  }

  @Test func `the only device is used after it was named`() {
    var trial = SenderTrial(target: nil)
    trial.take(.begin)
    expect(trial.take(.lookedUp(.success([]))), is: ["tell looking", "look"])
    expect(trial.take(found(a)), is: ["tell found a host of a", "probe found(0)"])
    expect(trial.take(.probed(.success(Fixture.device))), is: ["ask code of there (host)"])
    trial.take(.codeEntered(.success(Fixture.code)))
    expect(trial.take(.derived(nil)), is: ["dial to pair"])
  }

  @Test func `the user chooses among several devices, and an invalid answer ends the run`() {
    var trial = SenderTrial.inState("choosing")
    expect(trial.take(.chosen(.success(0))), is: ["probe found(0)"])
    trial = .inState("choosing")
    expect(trial.take(.chosen(.success(2))).contains { $0 == "stop preparing" })
    expect(trial.engine.phaseName.hasPrefix("finishing connectionLost"))
  }

  @Test func `a transfer of an earlier run is sought at its last address first, then at each device found`() {
    var trial = SenderTrial(target: nil)
    trial.take(.begin)
    trial.take(.walked(.success([Fixture.summary])))
    let transfer = Fixture.unfinished(7, address: "last:1")
    expect(
      trial.take(.lookedUp(.success([transfer]))),
      is: [
        "tell connecting last:1", "dial to resume 7 at address(\"last:1\")",
      ])
    expect(trial.fail(far), is: ["tell looking", "look"])
    expect(trial.take(found(a, b)), is: ["dial to resume 7 at found(0)"])
    expect(trial.fail(other), is: ["dial to resume 7 at found(1)"])
    trial.meet()
    expect(trial.hear(.greeting(Fixture.greeting())).last, is: "say 1 plan 7 of 1")
  }

  @Test func `a stranger at the last address is skipped`() {
    var trial = resuming()
    expect(trial.fail(other), is: ["tell looking", "look"])
  }

  @Test func `if all devices are different ones, a new transfer begins with one of them`() {
    let notice = "tell notice no device here has the earlier transfer; everything is sent again"
    var trial = resuming()
    trial.fail(far)
    trial.take(found(a))
    expect(trial.fail(other), is: [notice, "tell found a host of a", "probe found(0)"])
    trial = resuming()
    trial.fail(far)
    trial.take(found(a, b))
    trial.fail(other)
    expect(trial.fail(.failed(Fixture.failure("nonsense"))), is: [notice, "choose among a, b"])
    expect(trial.take(.chosen(.success(1))), is: ["probe found(1)"])
  }

  @Test func `a busy or silent device may be the right one, and the sender waits for it`() {
    var trial = resuming()
    trial.fail(far)
    trial.take(found(a, b))
    trial.fail(.turnedAway(Fixture.failure("busy"), reason: "it is busy"))
    expect(
      trial.fail(other),
      is: [
        "tell notice the other device cannot be reached yet (another device is there); trying again"
      ])
    // Another round, with another search.
    expect(trial.pass(0.1), is: ["dial to resume 7 at address(\"last:1\")"])
    expect(trial.fail(far), is: ["look"])
    expect(trial.take(found(a)), is: ["dial to resume 7 at found(0)"])
  }

  @Test func `without any device the sender searches again until it is time to give up`() {
    var trial = resuming(giveUpAfter: 20)
    trial.fail(far)
    expect(
      trial.take(found(), after: 3),
      is: [
        "tell notice the other device cannot be reached yet (no device is waiting on this network); trying again"
      ])
    var rounds = 0
    while trial.engine.phaseName.hasPrefix("waiting"), let next = trial.engine.nextMoment {
      rounds += 1
      expect(trial.pass(next - trial.now), is: ["dial to resume 7 at address(\"last:1\")"])
      expect(trial.fail(far), is: ["look"])
      let actions = trial.take(found(), after: 3)
      if trial.engine.phaseName == "over" {
        expect(
          actions.first?.hasPrefix(
            "finish connectionLost: the other device cannot be reached: no device is waiting on this network"), is: true
        )
      } else {
        expect(actions, is: [])
      }
    }
    expect(rounds, is: 5)
  }

  @Test func `the key of another unfinished transfer continues that transfer, at its device`() {
    var trial = resuming(others: [Fixture.unfinished(8, Fixture.otherReceiver, address: "elsewhere:1")])
    trial.fail(far)
    trial.take(found(a, b))
    expect(trial.fail(other), is: ["dial to resume 8 at found(0)"])
  }

  @Test func `a device that no longer knows the transfer leads to a new choice`() {
    var trial = resuming()
    expect(trial.fail(.forgotten).suffix(3), is: ["forget 7", "tell looking", "look"])
    expect(trial.take(found(a)), is: ["tell found a host of a", "probe found(0)"])
  }

  @Test func `a lost connection is restored at its address, or at a device found, in turn`() {
    var trial = SenderTrial(target: nil)
    trial.begin([Fixture.unfinished(77, address: "last:1")])
    trial.fail(far)
    trial.take(found(a))
    trial.meet()
    _ = trial.stream()
    _ = trial.cut()
    // The address of this run's session, not that of the earlier run.
    expect(trial.pass(1), is: ["dial to resume 77 at address(\"host:7\")"])
    expect(trial.fail(other), is: ["look"])
    expect(trial.take(found(a, b)), is: ["dial to resume 77 at found(0)"])
    expect(trial.fail(other), is: ["dial to resume 77 at found(1)"])
    expect(trial.fail(other), is: [])
    expect(trial.engine.phaseName.hasPrefix("waiting"))
    expect(trial.pass(1), is: ["dial to resume 77 at address(\"host:7\")"])
  }
}
