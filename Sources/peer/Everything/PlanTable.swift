import MigrationApps
import MigrationSystem
import MigrationWire

/// The entries of a home that can move, with the choice of its user: for the sender.
struct PlanTable {
  let inventory: Inventory
  let choice: PlanChoice

  /// The table for a terminal. Entries that do not move have their number in parentheses.
  func text(columns: Int) -> String {
    var rows = SizedRows()
    var group: String?
    for (index, entry) in inventory.entries.enumerated() {
      if entry.group != group {
        group = entry.group
        rows.append(.heading(entry.group + ":"))
      }
      let number = choice.contains(index) ? " \(index + 1) " : "(\(index + 1))"
      rows.append(
        .item(
          mark: Figures.padded(number, to: String(inventory.entries.count).count + 2),
          name: VisibleText.listed(entry.name), items: entry.isDark ? nil : entry.size?.tally.items,
          bytes: entry.isDark ? nil : entry.size?.tally.bytes,
          note: note(of: index)))
    }
    if inventory.entries.indices.contains(where: { !choice.contains($0) }) {
      rows.append(.heading("A number in parentheses does not move; with a plus sign it does, such as: +3"))
    }
    if !inventory.leftOut.isEmpty {
      rows.append(.heading("Left out, also what is marked as a cache in the data of apps:"))
      for item in inventory.leftOut {
        rows.append(.detail(item.line))
        if let command = item.command { rows.append(.verbatim(command)) }
      }
    }
    rows.append(.heading(total))
    if inventory.lastMove != nil { rows.append(.heading(crossing)) }
    return rows.text(columns: columns)
  }

  /// A sentence about the data that crosses in a later pass; `apps` is the size of the apps' data.
  static func crossing(_ apps: UInt64) -> String {
    "Files cross only if they have changed since; the data of apps crosses as a whole: \(Figures.size(apps))"
  }

  /// A sentence about the data that crosses to a computer that has the last move.
  private var crossing: String {
    func sum(_ entries: [Inventory.Entry]) -> UInt64 { entries.compactMap(\.crossing).reduce(0, +) }
    let all = chosen.compactMap(\.size?.tally.bytes).reduce(0, +)
    let apps = sum(chosen.filter { $0.app != nil })
    return "To a computer that has the last move: will send at most \(Figures.size(sum(chosen))) of "
      + "\(Figures.size(all))"
      + (apps > 0 ? "; of that \(Figures.size(apps)) are apps, whose data crosses as a whole" : "")
  }

  private func note(of index: Int) -> String? {
    let needs = choice.unmetNeeds(of: index, in: inventory).map {
      "without \(VisibleText.of($0)), passwords or history in it are lost"
    }
    let crossing = inventory.entries[index].crossing.map { "will send at most \(Figures.size($0))" }
    let words = [crossing, inventory.entries[index].note].compactMap { $0 } + needs
    return words.isEmpty ? nil : words.joined(separator: "; ")
  }

  private var chosen: [Inventory.Entry] {
    inventory.entries.indices.filter { choice.contains($0) }.map { inventory.entries[$0] }
  }

  /// What is chosen, in a line.
  var total: String {
    let entries = chosen
    let sizes = entries.compactMap(\.size?.tally)
    let sum = sizes.reduce(Tally()) { $0.adding($1) }
    let least = sizes.count < entries.count ? "at least " : ""
    return "To move: \(Figures.count(UInt64(entries.count), "entry", "entries")), "
      + "\(least)\(Figures.count(sum.items, "item")), \(Figures.size(sum.bytes))"
  }

  /// The same for programs.
  var json: JSONMembers {
    let entries = inventory.entries.enumerated().map { index, entry in
      let members: JSONMembers = ["number": index + 1, "chosen": choice.contains(index)]
      return members + entry.members
    }
    return ["entries": entries, "leftOut": inventory.leftOut.map(\.members)]
  }
}

extension Inventory.Entry {
  /// The heading above it.
  fileprivate var group: String {
    switch subject {
    case .app: "Apps"
    case _ where mayRun: "Only if you add them: programs run by themselves what these contain"
    case .folder, .item: "Folders and files"
    }
  }

  /// The facts about the entry that a person has to know.
  fileprivate var note: String? {
    var words: [String] = []
    if let linkTarget {
      let isFollowed = if case .folder = subject { true } else { false }
      words.append(
        isFollowed
          ? "leads to \(VisibleText.quoted(linkTarget)), which moves"
          : "a link to \(VisibleText.quoted(linkTarget)), which moves as a link")
    }
    if isDark {
      words.append("it cannot be read, and stays")
    } else if unreadable > 0 {
      words.append("\(Figures.count(UInt64(unreadable), "item")) of it cannot be read, and stays")
    }
    if let app {
      if app.isIdentity { words.append("makes this computer itself: link the app anew, or add it") }
      if app.hasSecrets { words.append("has secrets") }
      if let user = app.inUse { words.append("in use by \(VisibleText.of(user)): close it first") }
    }
    return words.isEmpty ? nil : words.joined(separator: "; ")
  }

  /// Whether nothing of it can be read, so that its size is not known.
  fileprivate var isDark: Bool { unreadable > 0 && size?.tally.bytes == 0 }

  fileprivate var members: JSONMembers {
    var members: JSONMembers =
      switch subject {
      case .item: ["kind": "item", "name": FileName(name)]
      case .folder(let folder, _): ["kind": "folder", "name": FileName(name), "key": folder.rawValue]
      case .app(let app):
        [
          "kind": app.kind.rawValue, "name": app.name, "identifier": app.identifier, "version": "",
          "store": "", "identity": app.isIdentity, "inUse": IfGiven(app.inUse), "needs": app.needs,
        ]
      }
    if let linkTarget { members = members + ["linkTarget": FileName(linkTarget)] }
    return members + [
      "mayRun": mayRun, "secret": app?.hasSecrets ?? false,
      "items": size?.tally.items, "bytes": size?.tally.bytes, "crossingBytes": IfGiven(crossing),
    ]
  }
}

extension Omission {
  /// The JSON members of an item that does not move.
  var members: JSONMembers {
    [
      "path": FileName(path), "reason": reason.clause + (command.map { ": \($0)" } ?? ""),
      "command": IfGiven(command), "bytes": IfGiven(size?.tally.bytes),
    ]
  }

  /// The line of a list.
  var line: String {
    "\(VisibleText.listed(path)): \(reason.clause)" + (size.map { " (\(Figures.size($0.tally.bytes)))" } ?? "")
  }
}
