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
    let apps = states.map { Rendering.event("app", $0.members) }
    let broken = damaged.map { Rendering.event("damaged", ["id": $0.identifier, "message": $0.error.description]) }
    return (apps + broken).reduce(Rendering(), +)
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
    .event("appStatus", members + ["cleared": cleared && record != nil])
  }

  private var members: JSONMembers {
    [
      "id": identifier, "version": version,
      "name": name, "store": store,
      "lastImport": record.map { $0.failure == nil ? "succeeded" : "failed" } ?? "none",
      "date": record.map { CalendarTime.text($0.date) },
      "transfer": record?.transfer,
      "failure": record?.failure?.members,
      "unfinished": unfinished?.rawValue,
      "use": holder.map { $0.use?.rawValue ?? "other" },
      "process": holder.flatMap { $0.process > 0 ? $0.process : nil },
    ] + role.members(hasExtension: hasExtension)
  }
}

extension ReportedError {
  /// The JSON members of an extension's error.
  var members: JSONMembers { ["domain": domain, "code": code, "message": text] }
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
