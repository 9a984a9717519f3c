import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// `peer resume list` and `peer forget`: unfinished transfers, listed and forgotten.
enum Unfinished {
  /// Lists the unfinished transfers, newest first.
  static func list(json: Bool) -> Int32 {
    Answer.give(json: json) { () throws(TransferFailure) in
      let store = try store()
      do throws(StoreError) {
        let listing = try store.list()
        return json ? listing.lines : listing.table(now: Timestamp.coarseNow().seconds)
      } catch {
        throw error.failure
      }
    }
  }

  /// Forgets one.
  static func forget(_ prefix: String, json: Bool) -> Int32 {
    Answer.give(json: json) { () throws(TransferFailure) in
      let forgotten = try store().forget(prefix)
      return json ? forgotten.line : forgotten.sentence
    }
  }

  private static func store() throws(TransferFailure) -> TransferStore { TransferStore(home: try Home.path()) }
}

extension TransferStore.Listing {
  /// The unfinished transfers.
  private var unfinished: [TransferStore.Listed] { transfers.filter { $0.remembered.done == nil } }

  /// For a person: a table.
  func table(now: Int64) -> Rendering {
    guard !unfinished.isEmpty || !damaged.isEmpty else {
      return Rendering(standardError: "There are no unfinished transfers.\n")
    }
    var rows = [["ID", "WHAT", "DEVICE", "ARRIVED", "LAST CONNECTED"]]
    rows += unfinished.map { $0.row(now: now) }
    rows += damaged.map { [String($0.identifier.prefix(8)), "damaged: \(VisibleText.of($0.reason))", "", "", ""] }
    return Rendering(standardOutput: Table.text(rows))
  }

  /// For a shell's completions of an ID.
  var candidates: [Completion.Candidate] {
    unfinished.map(\.candidate)
      + damaged.map { Completion.Candidate(word: String($0.identifier.prefix(8)), meaning: "damaged") }
  }

  /// For a program: an object per line.
  var lines: Rendering {
    let objects =
      unfinished.map(\.object)
      + damaged.map {
        .object([
          .init("event", .string("damaged")), .init("id", .string($0.identifier)), .init("message", .string($0.reason)),
        ])
      }
    return Rendering(standardOutput: objects.map { $0.text + "\n" }.joined())
  }
}

extension TransferStore.Listed {
  fileprivate var candidate: Completion.Candidate {
    let preposition = remembered.role == .sender ? "to" : "from"
    return Completion.Candidate(word: shortIdentifier, meaning: "\(what) \(preposition) \(VisibleText.of(device))")
  }

  private var shortIdentifier: String { String(remembered.transfer.hexadecimal.prefix(8)) }

  fileprivate func row(now: Int64) -> [String] {
    let total = max(remembered.total.bytes, remembered.held.bytes)
    return [
      shortIdentifier, what, VisibleText.of(device),
      Figures.share(remembered.held.bytes, of: total),
      isInUse ? "in use" : Figures.ago(now - remembered.lastSeen),
    ]
  }

  private var what: String {
    switch remembered.subject {
    case .sources(let sources):
      if let app = AppSource.identifier(ofOrigin: sources.first ?? []) {
        return "sending the data of \(VisibleText.of(app))"
      }
      let more = sources.count > 1 ? " and \(sources.count - 1) more" : ""
      return "sending \(VisibleText.listed(sources.first ?? []))\(more)"
    case .destination(let destination):
      if case .app(let app) = destination.offer.contents {
        return "receiving the data of \(VisibleText.of(app.bundleIdentifier))"
      }
      return "receiving into \(VisibleText.listed(destination.path))"
    }
  }

  private var device: String { remembered.label.isEmpty ? remembered.address : remembered.label }

  fileprivate var object: JSONValue {
    let subject: [JSONValue.Member] =
      switch remembered.subject {
      case .sources(let sources):
        AppSource.identifier(ofOrigin: sources.first ?? []).map { [.init("app", .string($0))] } ?? [
          .init("sources", .array(sources.map { .object(JSONValue.Member.name("path", $0)) }))
        ]
      case .destination(let destination):
        if case .app(let app) = destination.offer.contents {
          [.init("app", .string(app.bundleIdentifier))]
        } else {
          JSONValue.Member.name("destination", destination.path)
        }
      }
    return .object(
      [
        .init("event", .string("transfer")), .init("id", .string(remembered.transfer.hexadecimal)),
        .init("role", .string(remembered.role == .sender ? "sender" : "receiver")),
      ] + subject + [
        .init("label", .string(remembered.label)), .init("address", .string(remembered.address)),
        .init("items", .integer(remembered.total.items)), .init("bytes", .integer(remembered.total.bytes)),
        .init("heldBytes", .integer(remembered.held.bytes)),
        .init("started", .string(CalendarTime.text(remembered.started))),
        .init("lastConnected", .string(CalendarTime.text(remembered.lastSeen))), .init("inUse", .bool(isInUse)),
      ])
  }
}

extension TransferStore.Forgotten {
  fileprivate var sentence: Rendering {
    let warning = notice.map { "peer: note: \($0)\n" } ?? ""
    return Rendering(standardError: warning + "The transfer \(transfer.hexadecimal.prefix(8)) is forgotten.\n")
  }

  fileprivate var line: Rendering {
    let object = JSONValue.object([
      .init("event", .string("forgotten")), .init("id", .string(transfer.hexadecimal)),
      .init("notice", notice.map(JSONValue.string) ?? .null),
    ])
    return Rendering(standardOutput: object.text + "\n")
  }
}
