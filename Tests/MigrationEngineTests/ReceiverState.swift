import MigrationWire
import Testing

@testable import MigrationEngine

/// The states of a receiver.
///
/// Every state has the same connections, as far as it can have them:
///
/// - 1 is the control connection of the sender, 2 its data stream;
/// - 3 wants to join, 4 wants to resume, and 5 is about to send HELLO, all of the same sender;
/// - 6 and 7 are about to send HELLO, 6 of another known sender and 7 of a stranger;
/// - 8 proves the first code;
/// - 9 is in the accept queue.
///
/// The plan has one part. In `failing` this part has failed here, and in `settling` the connection is
/// lost.
enum ReceiverState: CaseIterable {
  case starting
  case takingBack
  case openingForImport
  case opening
  case open
  case paired
  case greeted
  case judgingPlan
  case asking
  case recording
  case between
  case staging
  case telling
  case receiving
  case failing
  case concluding
  case importing
  case answered
  case settling
  case ending
  case away
  case lingering
  case importingAlone
  case finishing
  case over

  private typealias Script = ReceiverScript

  func script() -> ReceiverScript {
    var settings = Script.settings()
    settings.asksConsent = true
    var script = ReceiverScript(settings)
    enter(&script)
    return script
  }

  private func enter(_ script: inout ReceiverScript) {
    let number = SessionNumber(1)
    switch self {
    case .starting: break
    case .takingBack: _ = script.feed(.begin)
    case .openingForImport:
      Self.takingBack.enter(&script)
      let known = Script.known(77, key: 7, concluded: Tally(items: 9, bytes: 90))
      _ = script.feed(.tookBack(.success([known])))
    case .opening:
      Self.takingBack.enter(&script)
      _ = script.feed(.tookBack(.success([Script.known(66, key: 6)])))
    case .open:
      Self.opening.enter(&script)
      _ = script.feed(.listening(.success(Listening(addresses: ["10.0.0.1"], port: 1))))
      _ = script.feed(.codeMade(.success(Script.code)))
      script.come(8)
      _ = script.ask(8)
      script.come(7)
      script.come(6)
      _ = script.feed(.arrived(Script.id(9), Remote(host: "10.0.0.9", network: "10.0.0.9"), chance: 0))
    case .paired:
      Self.open.enter(&script)
      script.pair()
      script.come(5, key: 1)
      script.come(4, key: 1)
      _ = script.feed(.asked(Script.id(4), .resume))
    case .greeted:
      Self.paired.enter(&script)
      _ = script.say(Script.greeting())
    case .judgingPlan:
      Self.greeted.enter(&script)
      _ = script.say(.plan(Script.plan()))
    case .asking:
      Self.judgingPlan.enter(&script)
      _ = script.feed(Script.planJudged())
    case .recording:
      Self.asking.enter(&script)
      _ = script.feed(.answered(true))
    case .between:
      Self.recording.enter(&script)
      _ = script.feed(.recorded(number, nil))
    case .staging:
      Self.between.enter(&script)
      _ = script.say(.offer(Script.offer()))
    case .telling:
      Self.staging.enter(&script)
      _ = script.feed(.staged(number, .success(Script.admitted())))
    case .receiving:
      Self.telling.enter(&script)
      _ = script.feed(
        .ledger(
          number,
          .success(
            LedgerPage(
              pages: [Held(kind: .staged, marks: [1, 2, 3])], partials: [], end: Tally(items: 1, bytes: 10)))))
      _ = script.join(2, stream: 0)
      script.welcomeStream(3)
    case .failing:
      Self.receiving.enter(&script)
      _ = script.join(10, stream: 7)
      _ = script.feed(.streamEnded(Script.id(10), .failed(Script.broken), held: Tally(items: 1, bytes: 10)))
    case .concluding:
      Self.receiving.enter(&script)
      _ = script.say(.drop([1]))
      _ = script.finish()
      _ = script.feed(.syncEnded(number, nil))
    case .importing:
      Self.concluding.enter(&script)
      _ = script.feed(.dropped(number, nil))
    case .answered:
      Self.importing.enter(&script)
      _ = script.imported()
    case .settling:
      Self.receiving.enter(&script)
      _ = script.feed(.broke(Script.id(1), Script.cut))
    case .ending:
      Self.receiving.enter(&script)
      _ = script.feed(.received(Script.id(1), .receipt))
    case .away:
      Self.settling.enter(&script)
      _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 2, bytes: 15)))
      _ = script.feed(.syncEnded(number, nil))
      _ = script.feed(.closed(Script.id(1)))
    case .lingering:
      Self.importingAlone.enter(&script)
      _ = script.imported()
    case .importingAlone:
      Self.importing.enter(&script)
      _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally(items: 2, bytes: 15)))
      _ = script.feed(.broke(Script.id(1), Script.cut))
    case .finishing:
      Self.receiving.enter(&script)
      _ = script.feed(.stop(.terminated))
    case .over:
      Self.finishing.enter(&script)
      _ = script.feed(.timePassed, after: 2)
    }
  }
}
