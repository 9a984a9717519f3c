import MigrationHost
import MigrationWire

extension AppState {
  /// For a person: a table.
  static func table(_ states: [AppState], _ damaged: [AppHome.Damaged], now: Int64) -> Rendering {
    guard !states.isEmpty || !damaged.isEmpty else {
      return Rendering(standardError: "No apps are installed.\n")
    }
    // The column is shown only if there are clips.
    let hasClips = states.contains { $0.role.words != nil }
    var rows = [["ID", "VERSION", "NAME"] + (hasClips ? ["KIND"] : []) + ["LAST IMPORT", "NOW"]]
    rows += states.map { state in
      [state.identifier, VisibleText.of(state.version), VisibleText.of(state.name ?? "")]
        + (hasClips ? [state.role.words ?? "app"] : []) + [state.lastImport(now: now), state.now]
    }
    let broken = damaged.map { Rendering(standardError: "peer: note: \($0.identifier): \($0.error.description)\n") }
    return Rendering(
      standardError: broken.map(\.standardError).joined(), standardOutput: states.isEmpty ? "" : Table.text(rows))
  }

  /// For a program: an object per line.
  static func lines(_ states: [AppState], _ damaged: [AppHome.Damaged]) -> Rendering {
    let objects =
      states.map { state in JSONValue.object([.init("event", .string("app"))] + state.members) }
      + damaged.map {
        .object([
          .init("event", .string("damaged")), .init("id", .string($0.identifier)),
          .init("message", .string($0.error.description)),
        ])
      }
    return Rendering(standardOutput: objects.map { $0.text + "\n" }.joined())
  }

  private func lastImport(now: Int64) -> String {
    switch (unfinished, record) {
    case (.goingOn, _): "running"
    case (.interrupted, _): "interrupted"
    case (nil, let record?): (record.failure == nil ? "succeeded " : "failed ") + Figures.ago(now - record.date)
    case (nil, nil): "none"
    }
  }

  private var now: String {
    guard let holder else { return "" }
    return holder.process > 0 ? "\(holder.words) (process \(holder.process))" : holder.words
  }
}

extension AppState {
  /// For a person: sentences.
  func statusText(cleared: Bool) -> Rendering {
    var sentences: [String] = []
    if let words = role.words {
      sentences.append("This is the \(words); the app replaces it when it is installed.")
    } else if !hasExtension {
      sentences.append("The app has no migration extension: its data cannot be migrated.")
    }
    switch record {
    case nil: sentences.append("No import is recorded.")
    case let record?:
      let date = CalendarTime.text(record.date)
      if let failure = record.failure {
        let text = VisibleText.of(failure.text)
        sentences.append(
          "The last import failed (\(date)): \(text) [\(VisibleText.of(failure.domain)) \(failure.code)]")
      } else {
        sentences.append("The last import succeeded (\(date)).")
      }
    }
    switch unfinished {
    case .goingOn: sentences.append("An import is running.")
    case .interrupted:
      sentences.append("An import was interrupted. It is undone when the app is started, or before the next import.")
    case nil: break
    }
    let note = cleared && record != nil ? "The status is cleared.\n" : ""
    return Rendering(standardError: note, standardOutput: sentences.map { $0 + "\n" }.joined())
  }

  /// For a program: one object.
  func statusLine(cleared: Bool) -> Rendering {
    let object = JSONValue.object(
      [.init("event", .string("appStatus"))] + members + [.init("cleared", .bool(cleared && record != nil))])
    return Rendering(standardOutput: object.text + "\n")
  }

  private var members: [JSONValue.Member] {
    [
      .init("id", .string(identifier)), .init("version", .string(version)),
      .init("name", name.map(JSONValue.string) ?? .null), .init("store", .string(store)),
      .init("lastImport", .string(record.map { $0.failure == nil ? "succeeded" : "failed" } ?? "none")),
      .init("date", record.map { .string(CalendarTime.text($0.date)) } ?? .null),
      .init("transfer", record?.transfer.map(JSONValue.string) ?? .null),
      .init("failure", record?.failure?.object ?? .null),
      .init("unfinished", unfinished.map { .string($0.rawValue) } ?? .null),
      .init("use", holder.map { .string($0.use?.rawValue ?? "other") } ?? .null),
      .init("process", holder.flatMap { $0.process > 0 ? .integer(UInt64($0.process)) : nil } ?? .null),
    ] + role.members(hasExtension: hasExtension)
  }
}

extension ReportedError {
  /// The JSON form of an extension's error.
  var object: JSONValue {
    .object([
      .init("domain", .string(domain)), .init("code", .signed(Int64(code))), .init("message", .string(text)),
    ])
  }
}

extension AppLock.Holder {
  fileprivate var words: String {
    switch use {
    case .running: "running"
    case .migrating: "being migrated"
    case .installing: "being installed"
    case .removing: "being removed"
    case nil: "in use"
    }
  }
}
