import MigrationEngine
import MigrationHost
import MigrationTransfer
import MigrationWire
import PeerTransfer

extension Offer {
  /// The most names that are shown; the rest is only counted.
  private static let shownNames = 5

  /// The offer in a sentence, with the free space if it is known. `part` names an offer that has only keys.
  func sentence(_ role: Role, of part: Part? = nil, availableBytes: UInt64?) -> String {
    let verb = role == .sender ? "To send" : "To receive"
    let about = flags.contains(.estimated) ? "about " : ""
    let figures = "\(about)\(Figures.count(items, "item")), \(Figures.size(bytes))"
    let room = availableBytes.map { "; \(Figures.size($0)) free here" } ?? ""
    return "\(verb): \(names(of: part)) (\(figures)\(room))"
  }

  private func names(of part: Part?) -> String {
    switch contents {
    case .role, .files:
      if let part { return VisibleText.of(part.name) }
    case .folders, .app, .unknown: break
    }
    switch contents {
    case .folders(let roots), .role(_, let roots), .unknown(_, _, let roots, _):
      return Figures.list(roots.map { VisibleText.listed($0.name) }, first: Self.shownNames)
    case .app(let app): return VisibleText.of(app.bundleIdentifier) + app.origin
    case .files(let app, _): return VisibleText.of(app)
    }
  }
}

extension [Part] {
  /// How many names are shown before the rest is only counted.
  private static let shownNames = 5

  /// A plan of several parts in a sentence, with the free space if it is known.
  func sentence(_ role: Role, availableBytes: UInt64?) -> String {
    let names = Figures.list(map { VisibleText.of($0.name) }, first: Self.shownNames)
    let total = reduce(Tally()) { $0.adding(Tally(items: $1.items ?? 0, bytes: $1.bytes ?? 0)) }
    let figures = "\(Figures.count(UInt64(count), "part")), about \(Figures.size(total.bytes))"
    let room = availableBytes.map { "; \(Figures.size($0)) free here" } ?? ""
    return "\(role == .sender ? "To send" : "To receive"): \(names) (\(figures)\(room))"
  }
}

extension PartEnd {
  /// The end of a part in a sentence.
  var sentence: String {
    let name = VisibleText.of(name)
    switch result {
    case .success(let result) where result.presentParts > 0: return "\(name): \(PartEnds.presentReason)"
    case .success(let result):
      let figures = "\(Figures.count(result.total.items, "item")), \(Figures.size(result.total.bytes))"
      return result.concludedAt == nil
        ? "\(name): done (\(figures); \(Figures.size(result.sentBytes)) over the wire)"
        : "\(name): done before (\(figures))"
    case .failure(let failure):
      let subject = root.map { "\(name), \(VisibleText.listed($0))" } ?? name
      return "\(subject): \(failure.message)"
    }
  }
}

extension AppIdentity {
  /// The claimed source of the data, after the app's name; empty for an app of this platform
  /// without a store.
  var origin: String {
    let isUsual = platform == AppSource.platform && store.isEmpty
    return isUsual
      ? "" : ", claimed to be from \(VisibleText.of(platform))" + (store.isEmpty ? "" : ", \(VisibleText.of(store))")
  }
}

extension HumanReport {
  /// How many networks of wrong codes are shown before the rest is only counted.
  private static let shownGuessers = 8

  /// The report that no new code is shown, and why.
  static func end(_ count: Int, _ guessers: [GuessLimit.Count], isOver: Bool) -> String {
    var lines = ["Too many wrong codes (\(count)): no new code is shown. They came from:"]
    lines += guessers.prefix(shownGuessers).map { "  \(VisibleText.of($0.network)): \($0.count)" }
    if guessers.count > shownGuessers {
      let rest = guessers.dropFirst(shownGuessers).reduce(0) { $0 + $1.count }
      lines.append("  \(Figures.count(UInt64(guessers.count - shownGuessers))) others: \(rest)")
    }
    if !isOver { lines.append("A paired device may return. Press Enter to show a new code.") }
    return lines.joined(separator: "\n")
  }
}

extension TransferResult {
  /// The result in sentences, with missing items and losses.
  func text(_ role: Role, _ unsent: NotStoredList) -> String { headline(role) + details(role, unsent) }

  /// A summary of the arrived data.
  func headline(_ role: Role) -> String { ([summary(role)] + partLines).map { $0 + "\n" }.joined() }

  /// The items that need a word, and losses. A table of the parts has the renamed items.
  func details(_ role: Role, _ unsent: NotStoredList, besidesTable: Bool = false) -> String {
    (removedLines(role) + notStoredLines(unsent) + unsentLines(unsent) + leftOutLines(unsent)
      + (besidesTable ? [] : renamedLines(unsent)) + losses.map(\.sentence) + lostAttributes.map(\.sentence))
      .map { $0 + "\n" }.joined()
  }

  private func summary(_ role: Role) -> String {
    let verb = role == .sender ? "Sent" : "Received"
    if let concludedAt {
      return
        "\(verb) nothing: \(Figures.count(total.items, "item")), \(Figures.size(total.bytes)) had arrived by "
        + "\(CalendarTime.text(concludedAt)), in an earlier run.\n"
        + DataHint.newerData.text
    }
    let held = heldBytes > 0 ? " (\(Figures.size(heldBytes)) of it earlier)" : ""
    // Folders that were removed there have come, and the files of them have not.
    let away = notStored + (removed.count - min(leftOut.removed, removed.count))
    let stored = total.items - min(away, total.items)
    let what = "\(Figures.count(stored, "item")), \(Figures.size(total.bytes))\(held)"
    let time = "in \(Figures.duration(seconds))"
    guard sentBytes > 0 else { return "\(verb) \(what), \(time)." }
    // A rate over a very short time is meaningless.
    let rate = seconds >= 0.05 ? " (\(Figures.rate(Double(sentBytes) / seconds)))" : ""
    let plain = savedBytes > 0 ? ", compressed from \(Figures.size(sentBytes + savedBytes))," : ""
    return "\(verb) \(what): \(Figures.size(sentBytes)) over the wire\(plain) \(time)\(rate)."
  }

  private var partLines: [String] {
    (failedParts > 0 ? ["\(Figures.count(UInt64(failedParts), "part")) of it did not arrive, as named here."] : [])
      + (presentParts > 0
        ? [
          "\(Figures.count(UInt64(presentParts), "app")) changed on the new computer; nothing is newer on the old one."
        ] : [])
  }

  private func removedLines(_ role: Role) -> [String] {
    guard removed.count > 0 else { return [] }
    let there = role == .receiver ? "here" : "on the other device"
    let verb = removed.count == 1 ? "was" : "were"
    let line =
      "\(Figures.count(removed.count, "item")) \(verb) moved or removed \(there) after arriving, and not sent again"
    let (place, other) = role == .receiver ? ("here", "on the other device") : ("there", "here")
    let again = DataHint.arrivingAgain(place, other)
    guard removed.unsettled > 0 else { return [line + ".", again] }
    return [line + ".", again, DataHint.removalMeant.text]
  }

  private func leftOutLines(_ list: NotStoredList) -> [String] {
    var lines: [String] = []
    if leftOut.present > 0 {
      lines.append("\(Figures.count(leftOut.present, "item")) existed already.")
    }
    let count = max(leftOut.differing, UInt64(list.differing.count))
    guard count > 0 else { return lines }
    return lines
      + Self.list(
        count == 1
          ? "1 item exists at the destination and differs; the existing item was kept"
          : "\(Figures.count(count, "item")) exist at the destination and differ; the existing items were kept",
        list.differing.sorted(by: \.path).map { VisibleText.listed($0.path) }, of: count)
  }

  private func renamedLines(_ list: NotStoredList) -> [String] {
    let count = max(renamed, list.renamedCount)
    guard count > 0 else { return [] }
    let named = list.renamed.sorted(by: \.path).map {
      "\(VisibleText.quoted($0.path)) was saved as \(VisibleText.quoted($0.target))."
    }
    guard named.isEmpty else { return named + Self.rest(of: count, named: named.count) }
    return Self.list(
      "\(Figures.count(count, "item")) \(count == 1 ? "was" : "were") saved under another name", [], of: count)
  }

  /// A sentence with the names below it. Where there is none, it says who has them.
  private static func list(_ sentence: String, _ named: [String], of count: UInt64) -> [String] {
    if named.isEmpty { return [sentence + "; an earlier run or the other device has named what it was."] }
    return [sentence + ":"] + named.map { "  \($0)" } + rest(of: count, named: named.count)
  }

  private static func rest(of count: UInt64, named: Int) -> [String] {
    count > named ? ["  and \(Figures.count(count - UInt64(named))) more"] : []
  }

  private func notStoredLines(_ list: NotStoredList) -> [String] {
    guard notStored > 0 else { return [] }
    let sentence = "\(Figures.count(notStored, "item")) could not be stored at the destination"
    // If more items were named during the transfer, some were gone from the source at its end.
    guard UInt64(list.notStored.count) <= notStored else { return [sentence + "."] }
    return Self.list(
      sentence, list.notStored.sorted(by: \.path).map { "\(VisibleText.listed($0.path)): \($0.clause)" }, of: notStored)
  }

  private func unsentLines(_ list: NotStoredList) -> [String] {
    let count = max(unsent, list.count)
    guard count > 0 else { return [] }
    return Self.list(
      "\(Figures.count(count, "item")) could not be sent",
      list.first.sorted(by: \.path).map { "\(VisibleText.listed($0.path)): \($0.clause)" }, of: count)
  }
}

extension Array {
  /// The elements in the order of their paths.
  func sorted(by path: (Element) -> [UInt8]) -> [Element] {
    sorted { path($0).lexicographicallyPrecedes(path($1)) }
  }
}

extension LostAttribute {
  /// An attribute that was not sent, in a sentence.
  fileprivate var sentence: String {
    if name == Array("hard link".utf8) {
      let links = "\(Figures.count(count, "hard link")) of symbolic links"
      return "\(links) became \(count == 1 ? "a symbolic link of its own" : "symbolic links of their own")."
    }
    let items = count == 1 ? "1 item has" : "\(Figures.count(count, "item")) have"
    return "\(items) the attribute \(VisibleText.listed(name)), which is not transferred."
  }
}

extension Done.Loss {
  /// The loss in a sentence.
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
    case .setIDBit:
      "The set-user-ID or set-group-ID bits of \(items) were dropped; 'peer receive --owners --set-id-bits' keeps them."
    case .ownerName:
      "The users or groups of \(items) have names that are unknown here: their numbers were kept. 'peer receive "
        + "--owner-map' says who they are."
    default: "Other details of \(items) could not be kept."
    }
  }
}

/// The first output of a receiver: the command to type on the other device.
struct Invitation: Equatable, Sendable {
  let text: String

  /// `wanted` has the words after `peer send` on the other device. Only with `isVerbose`, all
  /// addresses are shown.
  init(_ listening: Listening, wanting wanted: String, isVerbose: Bool) {
    var lines: [String] = []
    let hosts = listening.shown.map { Self.target($0, listening.port) }
    if let first = hosts.first {
      lines.append("On the other device:  peer send \(wanted) --to \(first)")
      if isVerbose { lines += hosts.dropFirst().map { "                  or  ... --to \($0)" } }
    } else {
      lines.append("Listening on port \(listening.port).")
    }
    if listening.isAnnounced { lines.append("            or just:  peer send \(wanted)   (same network)") }
    if !listening.from.isEmpty { lines.append("Only from: \(listening.from.joined(separator: ", "))") }
    text = lines.joined(separator: "\n")
  }

  /// The address as it is typed, without the default port.
  static func target(_ host: String, _ port: UInt16) -> String {
    if port == Limits.defaultPort { return VisibleText.of(host) }
    return VisibleText.of(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
  }
}
