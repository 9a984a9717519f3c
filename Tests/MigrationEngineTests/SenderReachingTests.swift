import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// How a sender reaches its first session: its questions to the user, the devices it dials, and for
/// how long.
@Suite struct SenderReachingTests {
  private let busy = SenderEngine.DialFailure.turnedAway(Fixture.failure("busy"), reason: "it is busy")
  private let far = SenderEngine.DialFailure.unreached(Fixture.failure("far"), reason: "it is far")

  @Test func `the user is asked for the code only if there is nothing to continue`() {
    var trial = SenderTrial()
    expect(trial.take(.begin), is: ["walk", "look up"])
    expect(trial.take(.lookedUp(.success([]))), is: ["probe"])
    expect(trial.take(.probed(.success(Fixture.device))), is: ["ask code of there (host)"])
    expect(trial.take(.codeEntered(.success(Fixture.code))), is: ["derive 12345671"])
    expect(trial.take(.derived(nil)), is: ["dial to pair"])
    // The walk continues meanwhile, and the plan waits for it.
    expect(trial.meet(), is: ["converse 1", "say 1 greeting here"])
    expect(trial.hear(.greeting(Fixture.greeting())), is: ["tell paired there host"])
    let offer = "tell offer 10/1000 allocated 4096 flags 0"
    expect(trial.take(.walked(.success([Fixture.summary]))), is: [offer, "say 1 plan new of 1"])
    expect(trial.take(.walked(.success([Fixture.summary]))), is: [])
  }

  @Test func `a name that cannot be resolved any more ends a pairing, and a known device is dialed again`() {
    var pairing = SenderTrial.inState("pairing")
    pairing.fail(.unresolved(Fixture.failure("no name")))
    expect(pairing.engine.phaseName, is: "finishing failed: no name")
    var greeting = SenderTrial()
    greeting.take(.begin)
    let device = SenderEngine.KnownDevice(receiver: Fixture.receiver, host: "host", label: "")
    greeting.take(.lookedUp(.success([]), devices: [device]))
    expect(greeting.take(.probed(.success(Fixture.device))), is: ["dial to greet 1"])
    greeting.fail(.unresolved(Fixture.failure("no name")))
    expect(greeting.pass(1), is: ["dial to greet 1"])
  }

  @Test func `the user is asked nothing if no address answers`() {
    var trial = SenderTrial()
    trial.take(.begin)
    trial.take(.walked(.success([Fixture.summary])))
    trial.take(.lookedUp(.success([])))
    expect(
      trial.take(.probed(.failure(Failure(unreached: Fixture.device, by: .silent)))),
      is: [
        "finish connectionLost: there (host) does not answer on port 7 (Check the address. A firewall there may block the "
          + "connection: allow TCP port 7. A network for guests or a VPN may keep the devices apart.)"
      ])
  }

  @Test func `a transfer of an earlier run continues without a code, and the receiver learns which one it is`() {
    var trial = SenderTrial()
    trial.take(.begin)
    expect(
      trial.take(.lookedUp(.success([Fixture.unfinished(7)]))), is: ["tell connecting target", "dial to resume 7"])
    expect(trial.take(.dialing(first: "address")), is: [])
    trial.meet()
    expect(trial.hear(.greeting(Fixture.greeting())), is: [])
    let offer = "tell offer 10/1000 allocated 4096 flags 0"
    expect(trial.take(.walked(.success([Fixture.summary]))), is: [offer, "say 1 plan 7 of 1"])
  }

  @Test func `a known device needs no code, and a code is asked for where no device is one`() {
    let keys = (1...3).map { KeyFingerprint(digest: [UInt8](repeating: $0, count: 32)) }
    let devices = [keys[0], keys[1]].map {
      SenderEngine.KnownDevice(receiver: $0, host: $0 == keys[1] ? "host" : "", label: "")
    }
    var trial = SenderTrial()
    trial.take(.begin)
    trial.take(.walked(.success([Fixture.summary])))
    expect(trial.take(.lookedUp(.success([]), devices: devices)), is: ["probe"])
    // The likely one first; then the one whose key the device has shown.
    expect(trial.take(.probed(.success(Fixture.device))), is: ["dial to greet 2"])
    var stranger = trial
    expect(stranger.fail(.stranger(keys[2])), is: ["ask code of there (host)"])
    var forgotten = trial
    expect(
      forgotten.fail(.forgotten),
      is: [
        "tell notice the other device knows this one no more: it needs a code", "ask code of there (host)",
      ])
    expect(trial.fail(.stranger(keys[0])), is: ["dial to greet 1"])
    expect(trial.meet(), is: ["converse 1", "say 1 greeting here"])
    expect(trial.hear(.greeting(Fixture.greeting())).first, is: "tell paired there host, known")
  }

  @Test func `known devices that are missing at the relay have ten seconds in turn before a code is asked for`() {
    let devices = [1, 2].map {
      SenderEngine.KnownDevice(
        receiver: KeyFingerprint(digest: [UInt8](repeating: $0, count: 32)), host: "host", label: "")
    }
    var trial = SenderTrial()
    trial.take(.begin)
    trial.take(.walked(.success([Fixture.summary])))
    trial.take(.lookedUp(.success([]), devices: devices))
    expect(trial.take(.probed(.success(Fixture.device))), is: ["dial to greet 1"])
    let begun = trial.now
    expect(
      trial.fail(.absent(reason: "no device")),
      is: ["tell notice the other device cannot be reached yet (no device); trying again"])
    expect(trial.pass(0.1), is: ["dial to greet 2"])
    var returned = trial
    expect(returned.meet(), is: ["converse 1", "say 1 greeting here"])
    var (actions, turns): ([String], Set<[String]>) = ([], [])
    while actions.isEmpty {
      actions = trial.fail(.absent(reason: "no device"))
      guard actions.isEmpty, let next = trial.engine.nextMoment else { break }
      turns.insert(trial.pass(next - trial.now))
    }
    expect(turns, is: [["dial to greet 1"], ["dial to greet 2"]])
    expect(rounded(trial.now - begun), is: 10)
    expect(
      actions,
      is: [
        "tell notice the other device is not there, or knows this one no more: it needs a code",
        "ask code of there (host)",
      ])
  }

  @Test func `a derived code is tried for thirty seconds at a busy receiver, at least once a second`() {
    var trial = SenderTrial()
    trial.beginPairing()
    let begun = trial.now
    expect(trial.take(.dialing(first: "address")), is: ["tell connecting address"])
    var pauses: [Double] = []
    var told: [[String]] = []
    while true {
      let before = trial.now
      let actions = trial.fail(busy)
      guard let next = trial.engine.nextMoment, trial.engine.phaseName.hasPrefix("waiting") else {
        expect(actions, is: ["finish failed: busy"])
        break
      }
      told.append(actions)
      pauses.append(rounded(next - before))
      expect(trial.pass(next - before - 0.001), is: [])
      expect(trial.pass(0.001), is: ["dial to pair"])
      // The addresses are reported once.
      expect(trial.take(.dialing(first: "address")), is: [])
    }
    expect(pauses.prefix(5), is: [0.1, 0.2, 0.4, 0.8, 1])
    expect(Set(pauses.dropFirst(4).dropLast()), is: [1])
    expect(rounded(trial.now - begun), is: 30)
    expect(told.first, is: ["tell notice the other device is busy; trying again"])
    expect(Set(told.dropFirst()), is: [[]])
  }

  @Test func `a sender waits in the line for as long as it is told its place, and says each place once`() {
    var trial = SenderTrial(giveUpAfter: 20)
    trial.beginPairing()
    trial.take(.dialing(first: "address"))
    for (place, pause, told) in [(3, 3, true), (3, 3, false), (40, 10, true), (1, 1, true), (0, 1, true)]
      as [(UInt16, Double, Bool)]
    {
      expect(trial.fail(.queued(place: place)), is: (told ? ["tell queued \(place)"] : []))
      expect(trial.pass(pause - 0.001), is: [])
      expect(trial.pass(0.001), is: ["dial to pair"])
    }
    // Behind the line, the time to give up begins anew.
    expect(trial.fail(far), is: ["finish failed: far"])
    var known = SenderTrial(giveUpAfter: 20)
    known.begin([Fixture.unfinished(7)])
    for _ in 1...4 {
      known.fail(.queued(place: 9))
      expect(known.pass(9), is: ["dial to resume 7"])
    }
    known.fail(far)
    expect(known.engine.phaseName.hasPrefix("waiting"))
  }

  @Test func `a sender whose user does not want to wait ends at its first place in the line`() {
    for trial in [SenderTrial { $0.waitsInLine = false }, SenderTrial(giveUpAfter: 0)] {
      var trial = trial
      trial.beginPairing()
      expect(
        trial.fail(.queued(place: 2)),
        is: [
          "finish busy: the other device serves 2 others first (Try again later, or wait, without --no-wait.)"
        ])
    }
  }

  @Test func `a sender that does not wait reports at once that the receiver is busy`() {
    var trial = SenderTrial(giveUpAfter: 0)
    trial.beginPairing()
    expect(trial.fail(busy), is: ["finish failed: busy"])
  }

  @Test func `a sender with a shorter patience gives up sooner at a busy receiver`() {
    var trial = SenderTrial(giveUpAfter: 0.15)
    trial.beginPairing()
    trial.fail(busy)
    expect(trial.pass(0.1), is: ["dial to pair"])
    trial.fail(busy)
    expect(trial.pass(0.051), is: ["dial to pair"])
    expect(trial.fail(busy), is: ["finish failed: busy"])
  }

  @Test func `a transfer of an earlier run is sought until it is time to give up, and the user is told once`() {
    var trial = SenderTrial(giveUpAfter: 25)
    trial.begin([Fixture.unfinished(7)])
    let begun = trial.now
    expect(trial.fail(far), is: ["tell notice the other device cannot be reached yet (it is far); trying again"])
    var pauses: [Double] = []
    while let next = trial.engine.nextMoment, trial.engine.phaseName.hasPrefix("waiting") {
      pauses.append(rounded(next - trial.now))
      expect(trial.pass(next - trial.now), is: ["dial to resume 7"])
      let actions = trial.fail(pauses.count == 1 ? busy : far)
      if trial.engine.phaseName != "over" {
        expect(actions, is: [])
        continue
      }
      expect(
        actions,
        is: [
          "finish connectionLost: the other device cannot be reached: it is far (Check the address. The received data is kept. "
            + "Start the same command on both devices again.)"
        ])
    }
    expect(pauses, is: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 2.3])
    expect(rounded(trial.now - begun), is: 25)
  }

  @Test func `a sender that does not wait tries a transfer of an earlier run once`() {
    var trial = SenderTrial(giveUpAfter: 0)
    trial.begin([Fixture.unfinished(7)])
    expect(
      trial.fail(busy).first?.hasPrefix("finish connectionLost: the other device cannot be reached: it is busy"),
      is: true
    )
  }

  @Test func `a device with the key of another transfer continues that one, and no third`() {
    let third = KeyFingerprint(digest: [UInt8](repeating: 3, count: KeyFingerprint.byteCount))
    var trial = SenderTrial()
    trial.begin([
      Fixture.unfinished(7), Fixture.unfinished(8, third), Fixture.unfinished(9, Fixture.otherReceiver),
      Fixture.unfinished(10, Fixture.otherReceiver),
    ])
    expect(trial.fail(.stranger(Fixture.otherReceiver)), is: ["dial to resume 9"])
    // The same key answers: the device has forgotten the transfer.
    expect(
      trial.fail(.forgotten),
      is: [
        "tell notice the other device no longer has the earlier transfer; everything is sent again", "forget 9",
        "probe",
      ])
  }

  @Test func `the sender pairs anew with a device that has none of the keys`() {
    var trial = SenderTrial()
    trial.begin([Fixture.unfinished(7), Fixture.unfinished(8)])
    expect(trial.fail(.stranger(Fixture.otherReceiver)), is: ["probe"])
    expect(trial.take(.probed(.success(Fixture.device))), is: ["ask code of there (host)"])
    trial.take(.codeEntered(.success(Fixture.code)))
    trial.take(.derived(nil))
    trial.meet()
    // Nothing refers to the earlier transfer.
    expect(
      trial.hear(.greeting(Fixture.greeting())),
      is: [
        "tell paired there host", "tell offer 10/1000 allocated 4096 flags 0", "say 1 plan new of 1",
      ])
  }

  @Test func `a transfer that the device has forgotten is forgotten here, and the next is tried, in order`() {
    var trial = SenderTrial()
    trial.begin([Fixture.unfinished(7), Fixture.unfinished(8), Fixture.unfinished(9)])
    let notice = "tell notice the other device no longer has the earlier transfer; everything is sent again"
    expect(trial.fail(.forgotten), is: [notice, "forget 7", "dial to resume 8"])
    expect(trial.fail(.forgotten), is: [notice, "forget 8", "dial to resume 9"])
    trial.meet()
    expect(trial.hear(.greeting(Fixture.greeting())).last, is: "say 1 plan 9 of 1")
  }

  @Test func `the recorded result of an earlier run is the result of this run`() {
    var trial = SenderTrial()
    trial.take(.begin)
    let entry = Fixture.unfinished(7, unsent: 3, done: Fixture.done, refusals: [Fixture.refusal])
    let result =
      "done 9/900 sent 0 saved 0 held 900 in 0.0 unsent 3 losses 1 left out 0 not stored 1 left behind 0 concluded 1200"
    expect(
      trial.take(.lookedUp(.success([entry]))),
      is: [
        "tell not stored tree/file tooLarge", "tell \(result)", "forget 7", "stop preparing",
      ])
    expect(trial.take(.forgot(7)), is: [])
    expect(trial.take(.walked(.failure(Failure(.failed, "stopped")))), is: ["finish \(result)"])
  }

  @Test func `a run that finds the result of an earlier one sends a known device what has changed since`() {
    let entry = Fixture.unfinished(7, done: Fixture.done, refusals: [Fixture.refusal])
    let known = SenderEngine.KnownDevice(receiver: Fixture.receiver, host: "host", label: "")
    let told = [
      "tell not stored tree/file tooLarge",
      "tell notice an earlier run ended before it could tell its result: 9 items, 900 B had arrived; this run sends what "
        + "has changed since", "forget 7",
    ]
    var trial = SenderTrial()
    trial.take(.begin)
    trial.take(.walked(.success([Fixture.summary])))
    expect(trial.take(.lookedUp(.success([entry]), devices: [known])), is: told + ["probe"])
    expect(trial.take(.probed(.success(Fixture.device))), is: ["dial to greet 1"])
    expect(trial.take(.forgot(7)), is: [])
    trial.meet()
    expect(trial.hear(.greeting(Fixture.greeting())).last, is: "say 1 plan new of 1")

    // Like a run that finds only the others.
    var others = SenderTrial.inState("looking up")
    expect(
      others.take(.lookedUp(.success([entry, Fixture.unfinished(8)]), devices: [known])),
      is: told + ["tell connecting target", "dial to resume 8"])
    // Another device would need a code, and without a source there is nothing to send.
    let other = SenderEngine.KnownDevice(receiver: Fixture.otherReceiver, host: "host", label: "")
    var stranger = SenderTrial.inState("looking up")
    expect(stranger.take(.lookedUp(.success([entry]), devices: [other])).contains { $0.hasPrefix("tell done 9/900") })
    var empty = SenderTrial.inState("looking up")
    empty.take(.walked(.failure(Failure(.source, "no source"))))
    expect(empty.take(.lookedUp(.success([entry]), devices: [known])).contains { $0.hasPrefix("tell done 9/900") })
  }
}
