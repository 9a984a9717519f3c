import MigrationWire
import Testing

@testable import MigrationEngine

/// The starting states of many scripts.
extension ReceiverScript {
  /// A sender has paired.
  static func paired(_ settings: ReceiverEngine.Settings = settings()) -> ReceiverScript {
    var script = ReceiverScript(settings)
    script.open()
    script.pair()
    return script
  }

  /// Session 1 has received the ledger, and may send.
  static func receiving() -> ReceiverScript {
    var script = ReceiverScript()
    script.open()
    script.receive()
    return script
  }

  /// A receiver that stays.
  static func staying(giveUpAfter: Double = 600) -> ReceiverScript {
    var settings = settings()
    settings.keeps = true
    settings.giveUpAfter = giveUpAfter
    return ReceiverScript(settings)
  }

  /// A receiver that stays; one transfer of key 1 is done, and its sender has not sent RECEIPT.
  static func stayingAndAnswered() -> ReceiverScript {
    var script = staying()
    script.open()
    script.receive()
    script.conclude()
    _ = script.imported()
    return script
  }

  /// A part of session 1's ledger is read.
  static func part(_ marks: [Mark] = [], end: Tally? = nil) -> ReceiverEngine.Event {
    let pages = marks.isEmpty ? [] : [Held(kind: .staged, marks: marks)]
    return .ledger(SessionNumber(1), .success(LedgerPage(pages: pages, partials: [], end: end)))
  }

  /// Guesses until no code is shown any more; returns the actions after the last guess.
  mutating func spendCodes() -> [String] {
    var last: [String] = []
    for number in 1...UInt64(GuessLimit.most) {
      now += 700
      if feed(.timePassed).contains("make code") { _ = feed(.codeMade(.success(Self.code))) }
      come(number, host: "h\(number)", key: 99)
      _ = ask(number)
      last = feed(.proved(Self.id(number), isRight: false))
      if last.contains("make code") { _ = feed(.codeMade(.success(Self.code))) }
      if number < UInt64(GuessLimit.most) { _ = feed(.departed(Self.id(number))) }
    }
    return last
  }
}
