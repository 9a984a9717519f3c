import MigrationApps
import MigrationWire
import PeerTransfer

/// The end of a migration, part by part: for both ends, for a person or as JSON.
struct MigrationTable {
  enum State: String {
    case done
    /// Arrived in an earlier run.
    case finished
    /// Not tried: one of the two users, or a rule, left it out.
    case skipped
    case failed
  }

  struct Row {
    let name: String
    let state: State
    /// A clause, for a part that did not arrive, or not as a whole.
    var reason: String?
    /// A sentence that says what to do.
    var hint: String?
    var items: UInt64 = 0
    var bytes: UInt64 = 0
    var seconds: Double?
    var renamed: [UnsentList.Renaming] = []
    /// How many items of it could not be sent or stored.
    var missing: UInt64 = 0
  }

  let rows: [Row]
  var leftOut: [Omission] = []
  /// Sentences that say what to do next; a command to copy comes last in its sentence, after the
  /// only colon.
  var next: [String] = []

  /// How many names are shown before the rest is only counted.
  private static let shownNames = 20

  /// Whether every part arrived as a whole.
  var isComplete: Bool { rows.allSatisfy { ($0.state == .done || $0.state == .finished) && $0.missing == 0 } }

  /// The table for a person.
  func text(columns: Int) -> String {
    var table = SizedRows()
    for row in rows {
      let time = row.seconds.map { Figures.duration($0) }
      table.append(
        .item(
          mark: row.state.rawValue, name: VisibleText.listed(row.name.utf8), items: row.items, bytes: row.bytes,
          note: time))
      if let reason = row.reason { table.append(.detail(reason + (row.hint == nil ? "" : "."))) }
      if let hint = row.hint { table.append(.detail(hint)) }
      if row.missing > 0 {
        table.append(.detail("\(Figures.count(row.missing, "item")) of it did not arrive"))
      }
    }
    list("Arrived under another name, since an item has the name:", renamed, in: &table)
    list("Not moved:", leftOut.map(\.line), in: &table)
    for sentence in next {
      guard let colon = sentence.firstRange(of: ": ") else {
        table.append(.heading(sentence))
        continue
      }
      table.append(.heading(String(sentence[..<colon.lowerBound]) + ":"))
      table.append(.command(String(sentence[colon.upperBound...])))
    }
    return table.text(columns: columns)
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
          "items": row.items, "bytes": row.bytes, "seconds": IfGiven(row.seconds), "missing": row.missing,
          "renamed": row.renamed.map { ["path": FileName($0.path), "target": FileName($0.target)] as JSONMembers },
        ] as JSONMembers
      },
      "leftOut": leftOut.map(\.members), "next": next,
    ]
  }
}
