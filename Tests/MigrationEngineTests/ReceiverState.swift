import MigrationWire
import Testing

@testable import MigrationEngine

/// The states of a receiver that the table covers, and the events that occur in each of them.
///
/// Every state has the same connections, as far as it can have them:
///
/// - 1 is the control connection of the sender, 2 its data stream;
/// - 3 wants to join, 4 wants to resume, and 5 is about to send HELLO, all of the same sender;
/// - 6 and 7 are about to send HELLO, 6 of another known sender and 7 of a stranger;
/// - 8 proves the first code;
/// - 9 is in the lobby.
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
  case weighing
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
      let known = Script.known(
        77, key: 7, withheld: [Script.refusal("a")], concluded: Tally(items: 9, bytes: 90))
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
    case .weighing:
      Self.greeted.enter(&script)
      _ = script.say(.plan(Script.plan()))
    case .asking:
      Self.weighing.enter(&script)
      _ = script.feed(Script.weighed())
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
            LedgerPart(
              pages: [Held(kind: .staged, marks: [1, 2, 3])], partials: [], end: Tally(items: 1, bytes: 10)))))
      _ = script.join(2, stream: 0)
      script.welcomeStream(3)
    case .failing:
      Self.receiving.enter(&script)
      _ = script.join(10, stream: 7)
      _ = script.feed(.streamEnded(Script.id(10), .failed(Script.broken), held: Tally(items: 1, bytes: 10)))
    case .concluding:
      Self.receiving.enter(&script)
      _ = script.say(.drop(Drop(marks: [1])))
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

  /// The possible events in this state, by name, and how many seconds pass before each.
  var events: [(name: String, event: ReceiverEngine.Event, seconds: Double)] {
    self == .starting ? Self.all : Self.all.filter { $0.name != "begin" }
  }

  private static let all: [(name: String, event: ReceiverEngine.Event, seconds: Double)] = {
    let number = SessionNumber(1)
    let progress = ImportProgress(phase: .importing, done: 1, total: 4)
    let refusals = [Script.refusal("a")]
    let remote = Remote(host: "10.0.0.20", network: "10.0.0.20")
    func id(_ number: UInt64) -> ConnectionID { Script.id(number) }
    var events: [(name: String, event: ReceiverEngine.Event, seconds: Double)] = [
      ("begin", .begin, 0),
      ("took back nothing", .tookBack(.success([])), 0),
      (
        "took back an import",
        .tookBack(
          .success([
            Script.known(77, key: 7, withheld: refusals, concluded: Tally(items: 9, bytes: 90))
          ])), 0
      ),
      ("cannot take back", .tookBack(.failure(Script.broken)), 0),
      ("listens", .listening(.success(Listening(addresses: ["10.0.0.1"], port: 1, from: ["a"]))), 0),
      ("cannot listen", .listening(.failure(Script.broken)), 0),
      ("stop", .stop(.terminated), 0),
      ("0.1 s pass", .timePassed, 0.1),
      ("1 s passes", .timePassed, 1),
      ("6 s pass", .timePassed, 6),
      ("60 s pass", .timePassed, 60),
      ("600 s pass", .timePassed, 600),
      ("news", .noticed(.staged), 0),
      ("one arrives", .arrived(id(20), remote, chance: 0), 0),
      ("9 speaks", .spoke(id(9)), 0),
      ("no descriptors", .outOfDescriptors(chance: 0), 0),
      ("code is made", .codeMade(.success(Script.code)), 0),
      ("no code can be made", .codeMade(.failure(Script.broken)), 0),
      ("yes", .answered(true), 0),
      ("no", .answered(false), 0),
      ("no answer", .answered(nil), 0),
      ("drained", .drained(id(1)), 0),
      ("cut", .broke(id(1), Script.cut), 0),
      ("violation", .broke(id(1), Fault(Violation(.unknown, "a frame"))), 0),
      ("closed", .closed(id(1)), 0),
      ("weighed", Script.weighed(room: nil), 0),
      ("not fit", Script.weighed(1, [], refused: [0: Fault(.noSpace, "there is no room")]), 0),
      ("cannot weigh", .weighed(number, .failure(Script.broken), session: Script.session), 0),
      ("recorded", .recorded(number, nil), 0),
      ("cannot record", .recorded(number, Script.broken), 0),
      ("staged", .staged(number, .success(Script.admitted())), 0),
      ("cannot stage", .staged(number, .failure(Script.broken)), 0),
      (
        "a part of the ledger",
        .ledger(
          number,
          .success(
            LedgerPart(
              pages: [Held(kind: .taken, marks: [3]), Held(kind: .staged, marks: [4])],
              partials: [Partial(path: Script.path("b"), generation: 1, ranges: ByteRanges())], end: nil))), 0
      ),
      (
        "the last of the ledger",
        .ledger(
          number, .success(LedgerPart(pages: [], partials: [], end: Tally(items: 1, bytes: 10)))), 0
      ),
      ("no ledger", .ledger(number, .failure(Script.broken)), 0),
      ("dropped", .dropped(number, nil), 0),
      ("cannot drop", .dropped(number, Script.broken), 0),
      ("stream over", .streamEnded(id(2), .over, held: Tally(items: 1, bytes: 10)), 0),
      ("stream failed", .streamEnded(id(2), .failed(Script.broken), held: Tally(items: 1, bytes: 10)), 0),
      ("sync over", .syncEnded(number, nil), 0),
      ("sync failed", .syncEnded(number, Script.broken), 0),
      ("refused", .refused(Script.transfer, refusals), 0),
      ("importing", .importing(Script.transfer, progress), 0),
      (
        "imported",
        .imported(
          Script.transfer, .success(Script.done), Traffic(sent: 50, saved: 3, seconds: 2), refused: []), 0
      ),
      ("import fails", .imported(Script.transfer, .failure(Script.broken), Traffic(), refused: []), 0),
      ("noted", .noted(Script.transfer), 0),
      ("3 joins", .joining(id(3), Join(session: Script.session, stream: 1)), 0),
      ("3 joins in place of 2", .joining(id(3), Join(session: Script.session, stream: 1, replaces: 0)), 0),
      ("3 joins another session", .joining(id(3), Join(session: 1, stream: 1)), 0),
      ("4 resumes", .ready(id(4), identifier: 0), 0),
      ("8 proves", .proved(id(8), isRight: true), 0),
      ("8 guesses", .proved(id(8), isRight: false), 0),
      ("6 shows its key", .secured(id(6), Script.key(6)), 0),
    ]
    for number in [3, 4, 5, 6, 7, 8, 9] as [UInt64] {
      events.append(("\(number) departs", .departed(id(number)), 0))
    }
    for number in [5, 6, 7] as [UInt64] {
      for mode in [.pair, .resume, .join] as [ConnectionMode] {
        events.append(("\(number) asks to \(mode)", .asked(id(number), mode), 0))
      }
    }
    let messages: [(String, ControlMessage)] = [
      ("greeting", Script.greeting()), ("plan", .plan(Script.plan())),
      ("plan of a transfer", .plan(Script.plan(Script.transfer))),
      ("offer", .offer(Script.offer())), ("offer of another part", .offer(Script.offer(1))),
      ("failed", .failed(Failed(part: 0, Close(.exportFailed, "it is gone")))),
      ("unsent", .notStored(NotStored(path: [97], .vanished))),
      ("withheld", .notStored(NotStored(path: Script.path("c").bytes, .tooLarge))),
      ("drop", .drop(Drop(marks: [2, 3]))), ("drop of more than told", .drop(Drop(marks: [2, 3, 4, 5]))),
      ("finish", .finish(Script.finish)), ("receipt", .receipt), ("ping", .ping(7)),
      ("close", .close(Close(.interrupted, "enough"))), ("close for good", .close(Close(.storage, "enough"))),
    ]
    for (name, message) in messages { events.append(("says \(name)", .received(id(1), message), 0)) }
    return events
  }()
}
