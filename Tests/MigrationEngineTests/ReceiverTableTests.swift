import MigrationWire
import Testing

@testable import MigrationEngine

/// Every state of a receiver, every event in it, and the actions: an event that is not in the table
/// has none.
///
/// A line of the table holds an event, the states in which it is tested, the actions, and the next
/// phase, if it is another one.
@Suite struct ReceiverTableTests {
  private typealias Table = [ReceiverState: [String: [String]]]

  /// Shorter names of texts that many rows share.
  private static let shorter = [
    ("the other device broke the protocol: ", "VIOLATION "),
    ("sent 50-3 in 2, held 10, unsent 1, left 2+1, not stored 1", "RESULT"),
    ("the other device did not come back: ", "LOST "),
  ]
  private static let dismissals = ["dismiss 4", "dismiss 5", "dismiss 6", "dismiss 7", "dismiss 8", "drop 9"]

  /// The actions after an event in a state, in the words of the table.
  private static func look(_ start: ReceiverScript, _ event: ReceiverEngine.Event, after seconds: Double) -> [String] {
    var script = start
    script.now = 0.1
    let before = Words.text(script.engine.phase)
    var lines = script.feed(event, after: seconds)
    let after = Words.text(script.engine.phase)
    if after != before { lines.append("=> \(after)") }
    if let start = lines.firstIndex(of: dismissals[0]), Array(lines[start...].prefix(dismissals.count)) == dismissals {
      lines.replaceSubrange(start..<start + dismissals.count, with: ["dismiss all"])
    }
    return lines.map { line in shorter.reduce(line) { $0.replacing($1.0, with: $1.1) } }
  }

  private static func states(_ text: Substring) -> [ReceiverState] {
    text.split(separator: ", ").flatMap { part -> ArraySlice<ReceiverState> in
      let ends = part.split(separator: "...").compactMap { name in
        ReceiverState.allCases.firstIndex { "\($0)" == name }
      }
      guard let first = ends.first, let last = ends.last else { return [] }
      return ReceiverState.allCases[first...last]
    }
  }

  private static let table: Table = {
    var table: Table = [:]
    var event = ""
    var current: [ReceiverState] = []
    for line in ReceiverTable.all.flatMap({ $0.split(separator: "\n") }) {
      let text = line.drop { $0 == " " }
      switch line.count - text.count {
      case 0: event = String(text)
      case 2:
        current = states(text)
        for state in current { table[state, default: [:]][event] = [] }
      default: for state in current { table[state]?[event]?.append(String(text)) }
      }
    }
    return table
  }()

  @Test(arguments: ReceiverState.allCases)
  func `every event in every state has the actions of the table`(state: ReceiverState) {
    var expected = Self.table[state] ?? [:]
    let script = state.script()
    for (name, event, seconds) in state.events {
      #expect(Self.look(script, event, after: seconds) == expected.removeValue(forKey: name) ?? [], "\(name)")
    }
    #expect(expected.isEmpty)
  }
}
