import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The consequences for a transfer when its sender is lost.
@Suite struct ReceiverLossTests {
  private typealias Script = ReceiverScript
  private let first = SessionNumber(1)
  private let second = SessionNumber(2)

  private func receiving() -> Script {
    var script = Script()
    script.open()
    script.receive()
    return script
  }

  // MARK: Loss

  @Test func `a lost sender may come back for as long as the user allows, and then the run ends`() {
    var script = receiving()
    expect(
      script.feed(.broke(Script.id(1), Script.cut)),
      is: [
        "say 1 close 16", "close gate 1", "end sync 1", "close 1 until 2.0",
      ])
    expect(script.engine.nextMoment == nil)
    expect(
      script.feed(.syncEnded(first, nil), after: 1),
      is: [
        "tell interrupted: the connection was lost", "make code", "note 100",
      ])
    expect(script.engine.nextMoment, is: 601)
    _ = script.feed(.noted(Script.transfer))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(script.feed(.timePassed, after: 599.9), is: [])
    expect(
      script.feed(.timePassed, after: 0.1),
      is: [
        "forget code", "finish: 5 the other device did not come back: the connection was lost",
      ])
  }

  @Test(arguments: [
    (Failure(.connection, "lost"), true), (Failure(told: Close(.silent, "silent")), true),
    (Failure(told: Close(.interrupted, "enough")), true), (Failure(told: Close(.storage, "broken")), false),
    (Failure(.violation, "broken"), false),
  ])
  func `the receiver waits only for a sender that may come back, and only if the user allows it`(
    fault: Failure, mayComeBack: Bool
  ) {
    for giveUpAfter in [0, 1e300] {
      var settings = Script.settings()
      settings.giveUpAfter = giveUpAfter
      var script = Script(settings)
      script.open()
      script.pair()
      let done = script.feed(.broke(Script.id(1), fault))
      let isAway = done.contains { $0.hasPrefix("tell interrupted") }
      expect(isAway, is: (mayComeBack && giveUpAfter > 0))
      if isAway { expect(Words.text(script.engine.phase).hasPrefix("away 100 until 1000000000.0")) }
    }
  }

  @Test func `streams have a moment to judge the arrived data before the loss of a session takes effect`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    expect(script.feed(.received(Script.id(1), .close(Close(.storage, "the disk fails here")))), is: [])
    expect(script.engine.nextMoment, is: ReceiverSession.settling)
    expect(script.feed(.timePassed, after: 0.5), is: [])
    let violation = Failure(Violation(.check, "a chunk"))
    expect(
      script.feed(.streamEnded(Script.id(2), .failed(violation), held: Tally())),
      is: [
        "say 1 close 3 the other device broke the protocol: a chunk does not fit its check", "close gate 1",
        "end sync 1",
        "close 1 until 2.5",
      ])
    expect(script.feed(.closed(Script.id(1))), is: [])
    expect(script.feed(.syncEnded(first, nil)), is: ["note 100"])
    expect(
      script.feed(.noted(Script.transfer)),
      is: [
        "finish: 1 the other device broke the protocol: a chunk does not fit its check"
      ])
  }

  @Test func `the moment ends when all streams have judged their data, or when its time has passed`() {
    var ended = receiving()
    _ = ended.join(2, stream: 0)
    _ = ended.join(3, stream: 1)
    _ = ended.feed(.broke(Script.id(1), Script.cut))
    expect(ended.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: [])
    expect(
      ended.feed(.streamEnded(Script.id(3), .over, held: Tally())).first, is: "say 1 close 16")
    var late = receiving()
    _ = late.join(2, stream: 0)
    _ = late.feed(.broke(Script.id(1), Script.cut))
    expect(late.feed(.timePassed, after: 0.9), is: [])
    expect(
      late.feed(.timePassed, after: 0.1),
      is: [
        "say 1 close 16", "close gate 1", "end stream 2", "end sync 1", "close 1 until 3.0",
      ])
    expect(late.feed(.streamEnded(Script.id(2), .failed(Script.broken), held: Tally())), is: [])
    expect(late.feed(.syncEnded(first, nil)).first, is: "tell interrupted: the connection was lost")
  }

  @Test func `a sender that abandons its offer makes room at once, however long the offer's workers take`() {
    for isStaging in [false, true] {
      var script = Script()
      script.open()
      script.pair()
      script.plan()
      if isStaging { _ = script.offer() }
      expect(script.feed(.broke(Script.id(1), Script.cut)).contains("make code"))
      _ = script.feed(.closed(Script.id(1)))
      _ = script.feed(.codeMade(.success(Script.code)), after: 1)
      expect(Words.text(script.engine.phase).hasPrefix("away 100 until 600"))
      script.pair(2, as: 101)
      expect(Words.text(script.engine.phase), is: "engaged in 101 by 2")
      script.plan(on: 2)
      // The work begun for it is discarded when it has ended.
      let late: [String] =
        isStaging
        ? script.feed(.staged(first, .success(Script.admitted())))
        : script.feed(Script.planJudged())
      expect(late, is: ["discard 100"])
      _ = script.feed(.noted(Script.transfer))
      script.take(2, on: 2)
      expect(script.engine.transfers.map(\.identifier), is: [101])
    }
  }

  @Test func `an offer with staged data occupies the receiver until its workers have ended`() {
    var script = Script()
    script.open([Script.known(Script.transfer, key: 1)])
    script.resume(1, key: 1)
    script.plan(Script.plan(Script.transfer))
    expect(!script.feed(.broke(Script.id(1), Script.cut)).contains("make code"))
    expect(script.feed(Script.planJudged()), is: ["tell interrupted: the connection was lost", "note 100"])
  }

  @Test func `a sender that sends CLOSE gets no answer`() {
    var script = receiving()
    expect(
      script.say(.close(Close(.interrupted, "enough"))), is: ["close gate 1", "end sync 1", "close 1 until 2.0"])
  }
}
