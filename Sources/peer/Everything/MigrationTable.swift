import MigrationApps
import MigrationEngine
import MigrationWire
import PeerTransfer

/// The end of a migration, part by part: for both ends, for a person or as JSON.
struct MigrationTable {
  enum State: String {
    case done
    /// Arrived in an earlier run.
    case finished
    /// Arrived earlier, was changed there, and has nothing newer.
    case present
    /// Not tried: one of the two users, or a rule, left it out.
    case skipped
    case failed
  }

  struct Row {
    let name: String
    let state: State
    /// Whether the receiver's user has not taken it.
    var isDeclined = false
    /// A clause, for a part that did not arrive, or not as a whole.
    var reason: String?
    /// A sentence that says what to do.
    var hint: String?
    var items: UInt64 = 0
    var bytes: UInt64 = 0
    /// The bytes that crossed the wire in this run.
    var sentBytes: UInt64 = 0
    var seconds: Double?
    var renamed: [NotStoredList.Renaming] = []
    /// How many items of it could not be sent or stored.
    var missing: UInt64 = 0

    /// The state for a person.
    fileprivate var word: String {
      switch state {
      case .done where missing > 0: "in part"
      case .done: "done"
      case .finished: "was done"
      case .present: "present"
      case .skipped: "not tried"
      case .failed: isDeclined ? "not taken" : "failed"
      }
    }

    /// What is wrong with it.
    fileprivate var clause: String? {
      reason ?? (missing > 0 ? "\(Figures.count(missing, "item")) of it did not arrive" : nil)
    }
  }

  let rows: [Row]
  var leftOut: [Omission] = []
  /// Sentences that say what to do next; a command to copy comes last in its sentence, after the
  /// only colon.
  var next: [String] = []

  /// How many names are shown before the rest is only counted.
  private static let shownNames = 20

  /// Whether every part arrived as a whole.
  var isComplete: Bool { rows.allSatisfy { $0.state != .failed && $0.state != .skipped && $0.missing == 0 } }

  /// The table for a person.
  func text(columns: Int) -> String { head(columns: columns) + rest(columns: columns) }

  /// The table behind the sentence of a failure, which is not said again where it is the cause of all parts.
  func text(columns: Int, after failure: Failure) -> String {
    let isTold = !rows.isEmpty && rows.allSatisfy { ($0.reason, $0.hint) == (failure.message, failure.hint) }
    return isTold && next.isEmpty ? rest(columns: columns) : text(columns: columns)
  }

  /// The parts that did not arrive, and the next steps: the first lines of a report.
  func head(columns: Int) -> String {
    var table = SizedRows()
    let troubles = troubles
    for trouble in troubles.prefix(Self.shownTroubles) {
      table.append(.heading("\(trouble.mark): \(trouble.shownNames)"))
      table.append(
        .detail(trouble.clause + (trouble.isAlike ? "; the others alike, below." : trouble.hint == nil ? "" : ".")))
      if let hint = trouble.hint { append(hint: hint, to: &table) }
    }
    if troubles.count > Self.shownTroubles {
      table.append(
        .detail("and \(Figures.count(UInt64(troubles.count - Self.shownTroubles))) more causes, named below"))
    }
    for sentence in next { append(sentence, to: &table) }
    return table.text(columns: columns)
  }

  /// Each part, and the items that have another name or stay behind.
  func rest(columns: Int) -> String {
    var table = SizedRows()
    let told = troubles.prefix(Self.shownTroubles)
    for row in rows {
      let crossed = row.seconds.map { "\(Figures.size(row.sentBytes)) crossed in \(Figures.duration($0))" }
      table.append(
        .item(mark: row.word, name: VisibleText.of(row.name), items: row.items, bytes: row.bytes, note: crossed))
      guard let clause = row.clause, !told.contains(where: { ($0.clause, $0.hint) == (clause, row.hint) }) else {
        continue
      }
      let hint = told.contains { $0.hint == row.hint } ? nil : row.hint
      table.append(.detail(clause + (hint == nil ? "" : ".")))
      if let hint { append(hint: hint, to: &table) }
    }
    list("Arrived under another name, since an item has the name:", renamed, in: &table)
    list("Not moved:", leftOut.map(\.line), in: &table)
    for command in leftOut.compactMap(\.command) { table.append(.verbatim(command)) }
    return table.text(columns: columns)
  }

  /// A command at the end of a hint is a line to paste.
  private func append(hint: String, to table: inout SizedRows) {
    guard let command = hint.firstRange(of: ": peer ") else { return table.append(.detail(hint)) }
    table.append(.detail(String(hint[..<command.lowerBound]) + ":"))
    table.append(.verbatim(String(hint[command.lowerBound...].dropFirst(2))))
  }

  private func append(_ sentence: String, to table: inout SizedRows) {
    guard let colon = sentence.firstRange(of: ": ") else { return table.append(.heading(sentence)) }
    table.append(.heading(String(sentence[..<colon.lowerBound]) + ":"))
    table.append(.verbatim(String(sentence[colon.upperBound...])))
  }

  /// Parts that did not arrive, or not as a whole, about which the same is to be done.
  private struct Trouble {
    let mark: String
    var names: [String]
    /// The cause of the first.
    let clause: String
    let hint: String?
    /// Whether others have causes with other names.
    var isAlike = false

    var shownNames: String { Figures.list(names, first: 3) }
  }

  /// How many causes are shown first.
  private static let shownTroubles = 5

  private var troubles: [Trouble] {
    var troubles: [Trouble] = []
    for row in rows where row.state != .present {
      guard let clause = row.clause else { continue }
      let name = VisibleText.of(row.name)
      let index = troubles.firstIndex {
        ($0.mark, $0.hint) == (row.word, row.hint) && (row.hint != nil || $0.clause == clause)
      }
      if let index {
        troubles[index].names.append(name)
        if troubles[index].clause != clause { troubles[index].isAlike = true }
      } else {
        troubles.append(Trouble(mark: row.word, names: [name], clause: clause, hint: row.hint))
      }
    }
    return troubles
  }

  private var renamed: [String] {
    rows.flatMap(\.renamed).sorted(by: \.path).map {
      "\(VisibleText.listed($0.path)) as \(VisibleText.listed($0.target))"
    }
  }

  private func list(_ heading: String, _ names: [String], in table: inout SizedRows) {
    guard !names.isEmpty else { return }
    table.append(.heading(heading))
    for name in names.prefix(Self.shownNames) { table.append(.detail(name)) }
    if names.count > Self.shownNames {
      table.append(.detail("and \(Figures.count(UInt64(names.count - Self.shownNames))) more"))
    }
  }

  /// The table for programs, with every name.
  var json: JSONMembers {
    [
      "parts": rows.map { row in
        [
          "name": row.name, "state": row.state.rawValue, "reason": IfGiven(row.reason), "hint": IfGiven(row.hint),
          "items": row.items, "bytes": row.bytes, "sentBytes": row.sentBytes, "seconds": IfGiven(row.seconds),
          "missing": row.missing,
          "renamed": row.renamed.map { ["path": FileName($0.path), "target": FileName($0.target)] as JSONMembers },
        ] as JSONMembers
      },
      "leftOut": leftOut.map(\.members), "next": next,
    ]
  }
}
