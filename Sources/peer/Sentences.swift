import MigrationTransfer
import MigrationWire

extension Offer {
  /// How many names are told before the rest is only counted.
  private static let shownNames = 5

  /// What is offered, in a sentence; the room there is, if it is known.
  func sentence(_ role: Role, availableBytes: UInt64?) -> String {
    let verb = role == .sender ? "To send" : "To receive"
    let about = flags.contains(.estimated) ? "about " : ""
    let figures = "\(about)\(Figures.count(items, "item")), \(Figures.size(bytes))"
    let room = availableBytes.map { "; \(Figures.size($0)) free here" } ?? ""
    return "\(verb): \(names) (\(figures)\(room))"
  }

  private var names: String {
    switch contents {
    case .folders(let roots):
      let names = roots.prefix(Self.shownNames).map { VisibleText.listed($0.name) }.joined(separator: ", ")
      return roots.count > Self.shownNames
        ? names + " and \(Figures.count(UInt64(roots.count - Self.shownNames))) more" : names
    case .app(let app): return VisibleText.of(app.bundleIdentifier)
    }
  }
}

extension TransferResult {
  /// The result in sentences, with what is missing and what was lost.
  func text(_ role: Role, _ unsent: UnsentList) -> String {
    ([summary(role)] + unsentLines(unsent) + losses.map(\.sentence)).map { $0 + "\n" }.joined()
  }

  private func summary(_ role: Role) -> String {
    let verb = role == .sender ? "Sent" : "Received"
    let held = heldBytes > 0 ? " (\(Figures.size(heldBytes)) of it before)" : ""
    let moved = total.bytes - min(heldBytes, total.bytes)
    // A rate over next to nothing is no rate.
    let rate = moved > 0 && seconds >= 0.05 ? " (\(Figures.rate(Double(moved) / seconds)))" : ""
    let what = "\(Figures.count(total.items, "item")), \(Figures.size(total.bytes))\(held)"
    return "\(verb) \(what), in \(Figures.duration(seconds))\(rate)."
  }

  private func unsentLines(_ list: UnsentList) -> [String] {
    let count = max(unsent, list.count)
    guard count > 0 else { return [] }
    let named = list.first.map { "  \(VisibleText.listed($0.path)): \($0.clause)" }
    let rest = count - UInt64(named.count)
    return ["\(Figures.count(count, "item")) could not be sent:"] + named
      + (rest > 0 ? ["  and \(Figures.count(rest)) more"] : [])
  }
}

extension Done.Loss {
  /// What was lost, in a sentence.
  fileprivate var sentence: String {
    let items = Figures.count(count, "item")
    return switch kind {
    case .mode: "The permissions of \(items) could not be kept."
    case .time: "The times of \(items) could not be kept."
    case .owner: "The owners of \(items) could not be kept."
    case .attribute: "Extended attributes of \(items) could not be kept."
    case .accessList: "Access lists of \(items) could not be kept."
    case .hardLink:
      "\(Figures.count(count, "hard link")) became \(count == 1 ? "a file of its own" : "files of their own")."
    case .hole: "Holes in \(items) were filled with zeros."
    case .setIDBit: "The set-user-ID or set-group-ID bits of \(items) were dropped."
    }
  }
}
