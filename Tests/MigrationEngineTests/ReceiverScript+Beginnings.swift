import MigrationWire

@testable import MigrationEngine

/// Where many scripts begin.
extension ReceiverScript {
  /// A sender has paired.
  static func paired(_ settings: ReceiverEngine.Settings = settings()) -> ReceiverScript {
    var script = ReceiverScript(settings)
    script.open()
    script.pair()
    return script
  }

  /// Session 1 has heard the ledger, and may send.
  static func receiving() -> ReceiverScript {
    var script = ReceiverScript()
    script.open()
    script.receive()
    return script
  }

  /// A part of session 1's ledger is read.
  static func part(_ marks: [Mark] = [], end: Tally? = nil) -> ReceiverEngine.Event {
    let pages = marks.isEmpty ? [] : [Held(kind: .staged, marks: marks)]
    return .ledger(SessionNumber(1), .success(ReceiverEngine.LedgerPart(pages: pages, partials: [], end: end)))
  }
}
