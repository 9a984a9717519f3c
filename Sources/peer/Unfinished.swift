import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension Command {
  /// Parses the words after `peer resume`.
  static func resume(_ arguments: Arguments) throws(Failure) -> Command {
    let words = arguments.operands.map { VisibleText.of($0) }
    guard let first = words.first else {
      throw .usage(
        "missing command after 'peer resume'",
        hint: "Run 'peer resume list', or resume a transfer by running its command again.")
    }
    guard words == ["list"] else {
      throw .usage("unexpected argument '\(first == "list" ? words[1] : first)'", .resume)
    }
    return .resumeList(json: arguments.has("--json"))
  }

  /// The age beyond which transfers are forgotten.
  static func age(_ arguments: Arguments) throws(Failure) -> Double {
    guard arguments.operands.isEmpty else {
      throw .usage("--older-than takes no ID", hint: "Write an ID or --older-than, not both.")
    }
    return try arguments.seconds(
      "--older-than", hint: "Write a number of days, as in 14d.", atMost: 3650 * 86_400) ?? 0
  }

  /// The first digits of a transfer's ID.
  static func unfinished(_ arguments: Arguments) throws(Failure) -> String {
    guard arguments.operands.count == 1, let typed = arguments.operands.first else {
      throw .usage(
        arguments.operands.isEmpty ? "missing argument: ID" : "'peer forget' takes one ID",
        hint: "'peer resume list' shows the ID of each unfinished transfer.")
    }
    let text = VisibleText.of(typed).lowercased()
    guard text.count <= 32, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      throw .usage(
        "\(VisibleText.quoted(typed)) is not a transfer's ID",
        hint: "'peer resume list' shows the ID of each unfinished transfer.")
    }
    guard text.count >= TransferStore.shortestPrefix else {
      throw .usage(
        "'\(text)' is too short for an ID", hint: "Write at least \(TransferStore.shortestPrefix) of its digits.")
    }
    return text
  }
}

/// `peer resume list` and `peer forget`: unfinished transfers, listed and forgotten.
enum Unfinished {
  /// Lists the unfinished transfers, newest first.
  static func list(json: Bool) throws(Failure) -> Rendering {
    let store = try TransferStore.ofUser()
    let listing = try store.listEverything()
    return json ? listing.lines : listing.table(now: Timestamp.coarseNow().seconds)
  }

  /// Forgets one transfer.
  static func forget(_ prefix: String, json: Bool) throws(Failure) -> Rendering {
    let forgotten = try TransferStore.ofUser().forget(prefix)
    return json ? forgotten.line : forgotten.sentence
  }

  /// Forgets the transfers without a connection for so many seconds.
  static func forget(olderThan age: Double, json: Bool) throws(Failure) -> Rendering {
    let store = try TransferStore.ofUser()
    let forgotten = try store.forget(olderThan: Int64(age), at: store.time())
    if json { return forgotten.map(\.line).reduce(Rendering(), +) }
    let none = Rendering(standardError: "No unfinished transfer is that old.\n")
    return forgotten.isEmpty ? none : forgotten.map(\.sentence).reduce(Rendering(), +)
  }

  /// Names the transfers of one role whose records cannot be used, and the way to be rid of each.
  static func damage(sending isSender: Bool, _ store: TransferStore) -> [String] {
    let damaged = ((try? store.list())?.damaged ?? []).filter { $0.role == (isSender ? .sender : .receiver) }
    let what = isSender ? "a transfer from this device" : "a transfer to this device"
    return damaged.prefix(3).map { one in
      "\(what) cannot be resumed: \(one.reason); \(DataHint.forgetting(one.identifier)) removes it"
    } + (damaged.count > 3 ? ["\(damaged.count - 3) more cannot be resumed: 'peer resume list' shows them"] : [])
  }

  /// Names the unfinished transfers into a directory, and the way to continue each.
  static func notices(in directory: borrowing Directory, _ store: TransferStore) throws(Failure) -> [String] {
    guard let path = try? directory.canonicalPath(), let known = try? store.remembered(at: path) else { return [] }
    let unfinished = known.filter { !$0.remembered.isDone }
    let others = ((try? directory.names()) ?? []).filter { name in
      Staging.isName(name)
        && !known.contains { known in
          known.remembered.parts.indices.contains {
            name.starts(with: Staging.name(of: known.remembered.transfer.ofPart(UInt16($0))))
          }
        }
    }
    let complete = known.filter { $0.remembered.isDone }.map(\.remembered.lastSeen).max()
    return unfinished.map { $0.notice(complete: complete) }
      + others.map {
        "\(VisibleText.quoted($0)) has data of a transfer that is not remembered here: it resumes only with the "
          + "PEER_HOME that began it, and \(DataHint.forgetting(String(decoding: $0.dropFirst(6), as: UTF8.self))) removes it"
      }
  }
}

extension TransferStore.Listing {
  private var unfinished: [TransferStore.Listed] { transfers.filter { !$0.remembered.isDone } }

  /// For a person: a table.
  func table(now: Int64) -> Rendering {
    guard !unfinished.isEmpty || !damaged.isEmpty || !leftovers.isEmpty else {
      return Rendering(standardError: "There are no unfinished transfers.\n")
    }
    var rows = [["ID", "WHAT", "DEVICE", "ARRIVED", "LAST CONNECTED"]]
    rows += unfinished.flatMap { [$0.row(now: now)] + $0.partRows }
    rows += damaged.map { [String($0.identifier.prefix(8)), VisibleText.of($0.reason), "", "", ""] }
    rows += leftovers.map {
      [
        String($0.identifier.hexadecimal.prefix(8)),
        "left in \(VisibleText.listed($0.destination)), without its record", "", "",
        Figures.ago(now - $0.modified),
      ]
    }
    return Rendering(standardOutput: Table.text(rows))
  }

  /// For a shell's completions of an ID.
  var candidates: [Completion.Candidate] {
    unfinished.map(\.candidate)
      + damaged.map { Completion.Candidate(word: String($0.identifier.prefix(8)), meaning: "cannot be used") }
      + leftovers.map {
        Completion.Candidate(word: String($0.identifier.hexadecimal.prefix(8)), meaning: "left without its record")
      }
  }

  /// For a program: an object per line.
  var lines: Rendering {
    let texts =
      unfinished.map(\.line) + damaged.map { .event("damaged", ["id": $0.identifier, "message": $0.reason]) }
      + leftovers.map { leftover in
        .event(
          "leftover",
          [
            "id": leftover.identifier.hexadecimal, "destination": FileName(leftover.destination),
            "modified": CalendarTime.text(leftover.modified),
          ])
      }
    return texts.reduce(Rendering(), +)
  }
}

extension TransferStore.Listed {
  fileprivate var candidate: Completion.Candidate {
    let preposition = remembered.role == .sender ? "to" : "from"
    return Completion.Candidate(word: shortIdentifier, meaning: "\(what) \(preposition) \(VisibleText.of(device))")
  }

  /// A clause about an unfinished transfer into this directory, with the commands for it. `complete` is the time of the
  /// newest complete one, which may have brought the same.
  func notice(complete: Int64? = nil) -> String {
    guard let complete, complete > remembered.lastSeen else { return notice }
    return notice + ". A later transfer into this directory is complete. A device that was installed anew, or has lost "
      + "its PEER_HOME, never continues an earlier one: then it can be given up"
  }

  private var notice: String {
    let name = VisibleText.quoted(Staging.name(of: remembered.transfer.ofPart(remembered.newest)))
    if remembered.parts.count > 1 {
      let done = remembered.parts.count { $0.finished != nil }
      return
        "\(done) of \(remembered.parts.count) parts from \(VisibleText.of(device)) \(done == 1 ? "has" : "have") "
        + "arrived: the others follow when that device runs its 'peer send' again, and \(DataHint.forgetting(shortIdentifier)) gives them up"
    }
    let ending = "when that device runs its 'peer send' again, and \(DataHint.forgetting(shortIdentifier)) removes it"
    if isAllHere {
      return "\(name) has everything that \(VisibleText.of(device)) sends, which is not in its place yet: that follows "
        + ending
    }
    return "\(name) has an unfinished transfer from \(VisibleText.of(device)) (\(arrived)): it resumes " + ending
  }

  /// Whether all data has arrived, and only its import is left.
  private var isAllHere: Bool { remembered.total.bytes > 0 && remembered.held.bytes >= remembered.total.bytes }

  private var arrived: String {
    Figures.share(remembered.held.bytes, of: max(remembered.total.bytes, remembered.held.bytes))
  }

  private var shortIdentifier: String { String(remembered.transfer.hexadecimal.prefix(8)) }

  fileprivate func row(now: Int64) -> [String] {
    return [
      shortIdentifier, what, VisibleText.of(device), isAllHere ? "all, not in place" : arrived,
      isInUse ? "in use" : Figures.ago(now - remembered.lastSeen),
    ]
  }

  private var what: String {
    switch remembered.subject {
    case .sources(let sources):
      if let home = Migration.home(ofName: sources.first ?? []) { return "moving \(VisibleText.listed(home))" }
      if remembered.plan.parts.count > 1 { return "sending \(remembered.partCount)" }
      if let app = AppSource.identifier(ofOrigin: sources.first ?? []) {
        return "sending the data of \(VisibleText.of(app))"
      }
      let more = sources.count > 1 ? " and \(sources.count - 1) more" : ""
      return "sending \(VisibleText.listed(sources.first ?? []))\(more)"
    case .destination(let path, _):
      if let app = remembered.app { return "receiving the data of \(VisibleText.of(app))" }
      if remembered.plan.parts.count > 1 {
        return "receiving \(remembered.partCount) into \(VisibleText.listed(path))"
      }
      return "receiving into \(VisibleText.listed(path))"
    }
  }

  /// A line for each of several parts.
  fileprivate var partRows: [[String]] {
    remembered.namedParts.map { ["", "  \(VisibleText.of($0.name))", "", $0.state.rawValue, ""] }
  }

  private var device: String { remembered.label.isEmpty ? remembered.address : remembered.label }

  fileprivate var line: Rendering {
    let subject: JSONMembers =
      switch remembered.subject {
      case .sources(let sources):
        remembered.plan.parts.count > 1 || Migration.home(ofName: sources.first ?? []) != nil
          ? [
            "home": IfGiven(Migration.home(ofName: sources.first ?? []).map { FileName($0) }),
            "sources": remembered.paths.map { ["path": FileName($0)] as JSONMembers },
          ]
          : AppSource.identifier(ofOrigin: sources.first ?? []).map { ["app": $0] } ?? [
            "sources": remembered.paths.map { ["path": FileName($0)] as JSONMembers }
          ]
      case .destination(let path, _):
        remembered.app.map { ["app": $0] } ?? ["destination": FileName(path)]
      }
    return .event(
      "transfer",
      [
        "id": remembered.transfer.hexadecimal, "role": remembered.role == .sender ? "sender" : "receiver",
      ] + subject + [
        "label": remembered.label, "address": remembered.address, "items": remembered.total.items,
        "bytes": remembered.total.bytes, "heldBytes": remembered.held.bytes,
        "started": CalendarTime.text(remembered.started), "lastConnected": CalendarTime.text(remembered.lastSeen),
        "inUse": isInUse,
        "parts": IfGiven(
          remembered.plan.parts.count > 1
            ? remembered.namedParts.map { ["part": $0.name, "state": $0.state.rawValue] as JSONMembers } : nil),
      ])
  }
}

extension TransferRecord {
  /// How far a part is.
  fileprivate enum PartState: String {
    case done
    case begun
    case waiting
    case declined
  }

  /// The app of a receiver's only part; nil for folders, and for several parts.
  fileprivate var app: String? {
    if case .app(let app) = plan.parts[0].contents, plan.parts.count == 1 { app.bundleIdentifier } else { nil }
  }

  fileprivate var paths: [[UInt8]] {
    (sources ?? []).filter { $0.first == UInt8(ascii: "/") }
  }

  /// How many parts there are, and are done.
  fileprivate var partCount: String {
    "\(plan.parts.count) parts, of which \(parts.count { $0.finished != nil }) are done"
  }

  /// The parts of a plan with several parts; empty for a plan of one part.
  fileprivate var namedParts: [(name: String, state: PartState)] {
    if plan.parts.count == 1 { return [] }
    return zip(plan.parts, parts).map { part, known in
      let state: PartState =
        known.finished != nil ? .done : consent.refuses(part) ? .declined : known.begun != nil ? .begun : .waiting
      return (part.name, state)
    }
  }
}

extension TransferStore.Forgotten {
  /// For a person.
  var sentence: Rendering {
    let warning = notice.map { "peer: note: \($0)\n" } ?? ""
    return Rendering(standardError: warning + "The transfer \(transfer.hexadecimal.prefix(8)) is forgotten.\n")
  }

  /// For a program.
  var line: Rendering {
    .event("forgotten", ["id": transfer.hexadecimal, "notice": notice])
  }
}
