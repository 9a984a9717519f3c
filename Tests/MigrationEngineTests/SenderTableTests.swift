import MigrationWire
import Testing

@testable import MigrationEngine

/// The actions of a sender for each event in each state, as data: a state after "#", then the
/// events that have an effect there.
///
/// A line holds an event, its actions, and the next phase; every other event has no effect. "late"
/// lists messages that violate the protocol there, "a session" means the rows that all
/// sessions share.
enum SenderTable {
  struct Row: Equatable {
    let actions: String
    let phase: String
  }

  /// The rows that all running sessions share.
  private static let session = """
    PING | say 1 pong 9 | conversing
    CLOSE interrupted | stop 1; close 1 until 102.0 | closing
    CLOSE silent | stop 1; close 1 until 102.0 | closing
    CLOSE full | stop 1; close 1 until 102.0 | closing
    cut | say 1 close 16; stop 1; close 1 until 102.0 | closing
    violation | say 1 close 3 nonsense; stop 1; close 1 until 102.0 | closing
    """

  /// The names of messages in the violation for a message at the wrong time.
  private static let subjects = [
    "GREETING": "the greeting", "GREETING of a sender": "the greeting", "ACCEPT": "the acceptance",
    "HELD": "a page of the ledger", "PARTIAL": "an incomplete file", "HELD_END": "the end of the ledger",
    "PROGRESS": "the import's progress", "PROGRESS importing": "the import's progress",
    "VERDICT": "the verdict", "VERDICT refused": "the verdict", "VERDICT of two": "the verdict",
    "FAILED": "the failure of a part", "FAILED of another": "the failure of a part",
    "NOT_STORED": "an item that is not stored", "DONE": "the receiver's last word",
    "another DONE": "the receiver's last word", "RECEIPT": "a message that only a sender sends",
  ]

  /// The rows of all states, in order.
  static let states: [(name: String, rows: [String: Row])] = {
    var states: [(name: String, rows: [String: Row])] = []
    for line in [before, sessions, endings].joined(separator: "\n").split(separator: "\n").map(String.init) {
      if line.hasPrefix("# ") {
        states.append((String(line.dropFirst(2)), [:]))
      } else {
        states[states.count - 1].rows.merge(rows(line)) { _, new in new }
      }
    }
    return states
  }()

  private static func rows(_ line: String) -> [String: Row] {
    if line == "a session" {
      return session.split(separator: "\n").reduce(into: [:]) { $0.merge(rows(String($1))) { _, new in new } }
    }
    if line.hasPrefix("late: ") {
      return line.dropFirst(6).split(separator: ", ").reduce(into: [:]) { rows, name in
        let words = "the other device broke the protocol: \(subjects[String(name)] ?? "?") came at the wrong time"
        rows[String(name)] = Row(
          actions: "say 1 close 3 \(words); stop 1; close 1 until 102.0", phase: "closing")
      }
    }
    let parts = line.split(separator: " | ").map(String.init)
    return [parts[0]: Row(actions: parts[1] == "-" ? "" : parts[1], phase: parts[2])]
  }
}

@Suite struct SenderTableTests {
  @Test(arguments: SenderTable.states.map(\.name))
  func `every event in every state has the effect of the table, and no other`(_ state: String) throws {
    var rows = try #require(SenderTable.states.first { $0.name == state }).rows
    let timed = SenderTrial.times.map { (name: $0.0, event: SenderEngine.Event.timePassed, after: $0.1) }
    for (name, event, seconds) in SenderTrial.events.map({ (name: $0.name, event: $0.event, after: 0.0) }) + timed {
      var trial = SenderTrial.inState(state)
      guard trial.isPossible(event) else { continue }
      let before = trial.engine.phaseName
      let actions = trial.take(event, after: seconds).joined(separator: "; ")
      let expected = rows.removeValue(forKey: name) ?? SenderTable.Row(actions: "", phase: before)
      #expect(
        SenderTable.Row(actions: actions, phase: trial.engine.phaseName) == expected, "\(name) while \(state)")
    }
    #expect(rows.isEmpty)
  }

  @Test func `an event of another session, or of another connection, has no effect`() {
    for (state, _) in SenderTable.states {
      for event in SenderTrial.lateEvents {
        var trial = SenderTrial.inState(state)
        let before = trial.engine.phaseName
        #expect(trial.take(event) == [], "\(event) while \(state)")
        #expect(trial.engine.phaseName == before)
      }
    }
  }
}
