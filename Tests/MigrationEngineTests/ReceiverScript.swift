import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A receiver's engine with its events and actions, in words.
struct ReceiverScript {
  typealias Event = ReceiverEngine.Event

  var engine: ReceiverEngine
  var now = 0.0

  init(_ settings: ReceiverEngine.Settings = settings()) { engine = ReceiverEngine(settings) }

  /// The actions after an event that happens `seconds` after the last one.
  mutating func feed(
    _ event: Event, after seconds: Double = 0, sourceLocation: SourceLocation = #_sourceLocation
  ) -> [String] {
    now += seconds
    let actions = engine.handle(event, now: now)
    expect(engine.checkInvariants() == nil, sourceLocation: sourceLocation)
    return actions.map(Words.text)
  }

  // MARK: Reaching a state

  /// Reaches the state in which a code is shown.
  mutating func open(_ known: [ReceiverEngine.EarlierTransfer] = [], isAnnounced: Bool = false) {
    _ = feed(.begin)
    _ = feed(.tookBack(.success(known)))
    _ = feed(.listening(.success(Listening(addresses: ["10.0.0.1"], port: 1, isAnnounced: isAnnounced))))
    _ = feed(.codeMade(.success(Self.code)))
  }

  /// A connection arrives and is let in; its TLS handshake is done.
  mutating func come(
    _ number: UInt64, host: String? = nil, key: UInt8? = nil, isOfDevice: Bool = false, mayPair: Bool = true,
    own: OwnAddresses? = nil
  ) {
    let host = host ?? "10.0.0.\(number)"
    _ = feed(
      .arrived(
        Self.id(number),
        Remote(
          host: host, address: "\(host):9", network: host, mayPair: mayPair, relay: own.map { _ in "relay" }, own: own),
        chance: number))
    _ = feed(.spoke(Self.id(number)))
    _ = feed(.secured(Self.id(number), Self.key(key ?? UInt8(number)), isOfDevice: isOfDevice))
  }

  /// A connection asks to pair and sends PAIR_A; returns the actions after its last message.
  mutating func ask(_ number: UInt64) -> [String] {
    let done = feed(.asked(Self.id(number), .pair))
    return done.first?.hasPrefix("await share") == true ? feed(.shared(Self.id(number))) : done
  }

  /// A sender pairs; its control connection is at READY.
  mutating func pair(_ number: UInt64 = 1, as transfer: TransferID = transfer, own: OwnAddresses? = nil) {
    come(number, own: own)
    _ = ask(number)
    _ = feed(.proved(Self.id(number), isRight: true))
    _ = feed(.ready(Self.id(number), identifier: transfer))
  }

  /// A known sender comes back; its control connection is at READY.
  mutating func resume(
    _ number: UInt64, key: UInt8, isOfDevice: Bool = false, beginning transfer: TransferID = 200,
    own: OwnAddresses? = nil
  ) {
    come(number, key: key, isOfDevice: isOfDevice, own: own)
    _ = feed(.asked(Self.id(number), .resume))
    _ = feed(.ready(Self.id(number), identifier: transfer))
  }

  /// A stream is on its way to JOIN.
  mutating func welcomeStream(_ number: UInt64, key: UInt8 = 1) {
    come(number, key: key)
    _ = feed(.asked(Self.id(number), .join))
  }

  mutating func join(
    _ number: UInt64, stream: UInt32, replaces: UInt32? = nil, session: SessionID = session, key: UInt8 = 1
  ) -> [String] {
    welcomeStream(number, key: key)
    return feed(.joining(Self.id(number), Join(session: session, stream: stream, replaces: replaces)))
  }

  /// The answer to a stream that cannot join.
  mutating func refusal(
    _ number: UInt64, stream: UInt32, replaces: UInt32? = nil, session: SessionID = session
  ) -> String? {
    welcomeStream(number)
    for case .refuseStream(_, let close) in engine.handle(
      .joining(Self.id(number), Join(session: session, stream: stream, replaces: replaces)), now: now)
    {
      return close.message
    }
    return nil
  }

  mutating func say(_ message: ControlMessage, on number: UInt64 = 1) -> [String] {
    feed(.received(Self.id(number), message))
  }

  mutating func plan(_ plan: Plan = plan(), on number: UInt64 = 1, features: Features = .zstd) {
    _ = say(Self.greeting(features), on: number)
    _ = say(.plan(plan), on: number)
  }

  /// Passes from a plan to its verdict, if that is missing; returns the actions with the verdict.
  @discardableResult
  mutating func agree(_ session: UInt64 = 1, _ parts: [UInt16] = [0], refused: [UInt16: Failure] = [:]) -> [String] {
    let done = feed(Self.planJudged(session, parts, refused: refused))
    let number = SessionNumber(session)
    return engine.workers.contains(.record(number)) ? feed(.recorded(number, nil)) : done
  }

  /// A sender that has come back asks for the result of a part that it has missed.
  mutating func askAgain(
    _ session: UInt64, on number: UInt64, _ transfer: TransferID = transfer
  ) -> [String] {
    plan(Self.plan(transfer), on: number)
    agree(session, [])
    return say(.offer(Self.offer()), on: number)
  }

  /// Passes from a plan to the staging of a part.
  mutating func offer(_ session: UInt64 = 1, on number: UInt64 = 1, part: UInt16 = 0) -> [String] {
    if engine.workers.contains(.judgePlan(SessionNumber(session))) { agree(session) }
    return say(.offer(Self.offer(part)), on: number)
  }

  /// Passes from a plan, or from the part before, to the end of the ledger.
  mutating func take(
    _ session: UInt64 = 1, on number: UInt64 = 1, part: UInt16 = 0, held: Tally = Tally(), telling marks: [Mark] = []
  ) {
    _ = offer(session, on: number, part: part)
    let session = SessionNumber(session)
    _ = feed(.staged(session, .success(Self.admitted(held: held))))
    let pages = marks.isEmpty ? [] : [Held(kind: .staged, marks: marks)]
    _ = feed(.ledger(session, .success(LedgerPage(pages: pages, partials: [], end: held))))
  }

  /// Reaches the state in which streams may join, from an open one.
  mutating func receive() {
    pair()
    plan()
    take()
  }

  /// The sender has sent everything, and nothing was being written.
  mutating func finish(_ session: UInt64 = 1, on number: UInt64 = 1, saying finish: Finish = finish) -> [String] {
    say(.finish(finish), on: number) + feed(.gateShut(SessionNumber(session), nil))
  }

  /// Passes from there to the import.
  mutating func conclude(_ session: UInt64 = 1, on number: UInt64 = 1) {
    _ = finish(session, on: number)
    _ = feed(.syncEnded(SessionNumber(session), nil))
  }

  /// Lets the import make progress for a time.
  mutating func goOn(seconds: Double) {
    let end = now + seconds
    while now < end {
      let progress = ImportProgress(phase: .importing, done: 1, total: 2)
      _ = feed(.importing(Self.transfer, progress), after: min(0.9, end - now))
    }
  }

  /// Passes from there to DONE.
  mutating func imported(
    _ result: Result<Done, Failure> = .success(done), refused: [NotStored] = []
  ) -> [String] {
    feed(.imported(Self.transfer, result, Traffic(sent: 50, saved: 3, seconds: 2), refused: refused))
  }
}
