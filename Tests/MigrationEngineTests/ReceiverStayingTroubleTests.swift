import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Failures of a receiver that stays: those of one transfer do not affect the next.
@Suite struct ReceiverStayingTroubleTests {
  private typealias Script = ReceiverScript

  private let first = SessionNumber(1)

  /// One transfer of key 1 is done, and its sender has not sent RECEIPT; another code is shown.
  private func answered() -> Script {
    var script = Script.stayingAndAnswered()
    _ = script.feed(.codeMade(.success(Script.code)))
    return script
  }

  private func phase(_ script: Script) -> String { Words.text(script.engine.phase) }

  // MARK: Faults

  @Test func `after one disk failure the receiver accepts the sender when it comes back`() {
    var script = Script.staying()
    script.open()
    script.receive()
    let over = script.feed(.syncEnded(first, Script.broken))
    expect(over.contains("tell failed 1 the disk fails"))
    _ = script.feed(.closed(Script.id(1)))
    // The transfer is recorded, and released.
    for _ in 1...2 { _ = script.feed(.noted(Script.transfer)) }
    script.resume(2, key: 1)
    expect(phase(script), is: "engaged in 100 by 2")
    _ = script.say(Script.greeting(), on: 2)
    _ = script.say(.plan(Script.plan(Script.transfer)), on: 2)
    let known = Script.known(Script.transfer, key: 1)
    expect(script.feed(.retook(Script.transfer, .success(known))), is: ["judgePlan 2: [0] of 1 for 100"])
  }

  @Test func `a sender whose transfer another process holds is told to reconnect`() {
    var script = Script.staying()
    script.open([Script.known(Script.transfer, key: 1)])
    _ = script.feed(.noted(Script.transfer))
    script.resume(1, key: 1)
    let busy = Failure(.inUse, "another process works on the transfer", as: .refused)
    let told = script.feed(.retook(Script.transfer, .failure(busy)))
    expect(told.first, is: "say 1 close \(Close.Code.silent.rawValue)")
    expect(phase(script), is: "open")
    _ = script.feed(.closed(Script.id(1)))
    script.resume(2, key: 1)
    expect(phase(script), is: "engaged in 100 by 2")
    let known = Script.known(Script.transfer, key: 1)
    _ = script.say(Script.greeting(), on: 2)
    _ = script.say(.plan(Script.plan(Script.transfer)), on: 2)
    expect(script.feed(.retook(Script.transfer, .success(known))), is: ["judgePlan 2: [0] of 1 for 100"])
  }

  @Test func `a transfer that could not be taken back at the start is taken back when its sender comes`() {
    var script = Script.staying()
    script.open([Script.known(66, key: 6, held: Tally(), isHeld: false)])
    expect(script.engine.transfers.map(\.identifier), is: [66])
    // Nothing is released, because nothing is held; and more may be staged than is remembered.
    script.pair(1)
    expect(script.engine.transfers.map(\.identifier), is: [66, 100])
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    script.come(2, key: 6)
    _ = script.feed(.asked(Script.id(2), .resume))
    expect(script.feed(.ready(Script.id(2), identifier: 0)).contains("retake 66"))
    expect(phase(script), is: "engaged in 66 by 2")
  }

  @Test func `a failed import continues from the disk, even while the session that saw the failure still ends`() {
    var script = Script.staying()
    script.open()
    script.receive()
    _ = script.join(2, stream: 0)
    script.conclude()
    _ = script.imported(.failure(Failure(.importFailed, "it cannot be put there")))
    _ = script.feed(.codeMade(.success(Script.code)))
    script.come(3, key: 1)
    _ = script.feed(.asked(Script.id(3), .resume))
    expect(
      script.feed(.ready(Script.id(3), identifier: 0)).first, is: "say 1 close 13")
    script.plan(Script.plan(Script.transfer), on: 3)
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["judgePlan 2: [0] of 1 for 100"])
    expect(script.offer(2, on: 3), is: ["stage 2: part 0, 4 for 100, held 0/0"])
    let admitted = Script.admitted(concluded: Script.whole)
    expect(script.feed(.staged(SessionNumber(2), .success(admitted))), is: ["import 100"])
    expect(script.imported().last, is: "tell code \(Script.code.shown) for 600")
    expect(script.engine.transfers.first?.isDone, is: true)
  }

  @Test func `of a finished transfer only the names that its sender may ask for are kept`() {
    var script = Script.staying()
    script.open()
    script.receive()
    _ = script.feed(.refused(Script.transfer, [Script.refusal("a"), Script.refusal("b")]))
    script.conclude()
    _ = script.imported(refused: [Script.refusal("a")])
    _ = script.feed(.broke(Script.id(1), Script.cut))
    for _ in 1...2 { _ = script.feed(.noted(Script.transfer)) }
    let transfer = script.engine.transfers.first
    expect(transfer?.part.refusals.isEmpty == true && transfer?.part.leftOutItems == LeftOutItems())
  }

  // MARK: A stop

  @Test func `a stopped run lets no known sender in again, and a second stop grants no more time`() {
    var script = answered()
    _ = script.feed(.stop(.interrupted))
    _ = script.feed(.stop(.interrupted), after: EndLimits.lastMessages / 2)
    expect(script.engine.nextMoment, is: EndLimits.lastMessages)
    script.come(3, key: 1)
    expect(script.feed(.asked(Script.id(3), .resume)), is: ["turn away 3: busy"])
  }

  @Test func `a stop during an import shortens the wait for the previous transfer's receipt`() {
    var script = answered()
    script.pair(2, as: 101)
    script.plan(on: 2)
    script.take(2, on: 2)
    script.conclude(2, on: 2)
    expect(script.feed(.stop(.terminated)), is: ["interrupt import 101"])
    let later = script.feed(.timePassed, after: EndLimits.lastMessages)
    expect(later.contains("close gate 1"))
    expect(phase(script), is: "engaged in 101 by 2")
  }

  // MARK: Guesses

  /// A wrong guess from a host; returns the first action.
  private func guess(_ number: UInt64, from host: String, _ script: inout Script) -> String? {
    script.come(number, host: host)
    let asked = script.ask(number)
    guard asked.first?.hasPrefix("exchange") == true else { return asked.first }
    return script.feed(.proved(Script.id(number), isRight: false)).first
  }

  @Test func `the delay of a network that guessed outlives another network's transfer`() {
    var script = Script.staying()
    script.open()
    _ = guess(8, from: "10.0.0.8", &script)
    script.now += 1
    expect(guess(9, from: "10.0.0.8", &script), is: "tell wrong code 2/3 from 10.0.0.8, 97 left")
    script.receive()
    script.conclude()
    _ = script.imported()
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(guess(10, from: "10.0.0.8", &script), is: "turn away 10: busy")
    // All guesses of the next wait are available.
    expect(guess(11, from: "10.0.0.9", &script), is: "tell wrong code 1/3 from 10.0.0.9, 98 left")
  }

  @Test func `a pairing that delivered no data continues the wait with its count`() {
    var script = Script.staying()
    script.open()
    _ = guess(8, from: "10.0.0.8", &script)
    script.pair()
    script.plan()
    // The right code was a guess, too.
    let over = script.feed(Script.planJudged(1, [], refused: [0: Failure(.noSpace, "there is no room")]))
    expect(over.contains("make code"))
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(guess(9, from: "10.0.0.9", &script), is: "tell wrong code 1/3 from 10.0.0.9, 96 left")
  }

  @Test func `a transfer that was interrupted ends its wait like any other`() {
    var script = Script.staying()
    script.open()
    _ = guess(8, from: "10.0.0.8", &script)
    script.receive()
    _ = script.join(2, stream: 0)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 2, bytes: 15)))
    _ = script.feed(.syncEnded(first, nil))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.timePassed, after: 600)
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(guess(9, from: "10.0.0.9", &script), is: "tell wrong code 1/3 from 10.0.0.9, 98 left")
  }

  /// Nothing has arrived of a transfer whose sender is away, and another sender has just proved the
  /// next code.
  private func confirming() -> Script {
    var script = Script.staying(giveUpAfter: 30)
    script.open()
    script.pair()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.codeMade(.success(Script.code)))
    script.now += 25
    script.come(2)
    _ = script.ask(2)
    _ = script.feed(.proved(Script.id(2), isRight: true))
    return script
  }

  @Test func `no code is made for an abandoned sender while another one pairs`() {
    var script = confirming()
    let over = script.feed(.timePassed, after: 5)
    expect(over.contains { $0.hasPrefix("tell failed 5") } && !over.contains("make code"))
    _ = script.feed(.ready(Script.id(2), identifier: 101))
    expect(phase(script), is: "engaged in 101 by 2")
  }

  @Test func `a returning sender without data does not displace one that has just proved the code`() {
    var script = confirming()
    script.come(3, key: 1)
    expect(script.feed(.asked(Script.id(3), .resume)), is: ["turn away 3: busy"])
    _ = script.feed(.ready(Script.id(2), identifier: 101))
    expect(phase(script), is: "engaged in 101 by 2")
  }
}
