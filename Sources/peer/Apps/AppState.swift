import MigrationHost
import MigrationWire

/// The state of an app: its identity, the result of its last import, and the process that uses it.
struct AppState: Equatable, Sendable {
  /// The state of an unfinished import.
  enum Unfinished: String {
    case goingOn
    case interrupted
  }

  var identifier: String
  var version: String
  var name: String?
  var store = ""
  var record: ImportRecord?
  /// Whether an import has begun and not ended.
  var hasUnfinishedImport = false
  var holder: AppLock.Holder?
  var role = AppBundle.Role.app(clip: nil)
  var hasExtension = true

  /// The state of an unfinished import; nil if there is none.
  var unfinished: Unfinished? {
    guard hasUnfinishedImport else { return nil }
    return holder == nil ? .interrupted : .goingOn
  }
}

extension AppState {
  /// Reads an app's state without waiting for locks.
  init(_ app: InstalledApp) throws(Failure) {
    identifier = app.identifier
    version = app.bundle.version
    name = app.bundle.displayName
    store = app.bundle.store
    holder = try app.holder()
    hasUnfinishedImport = try app.unfinishedImport != nil
    record = app.importRecord
    role = app.bundle.role
    hasExtension = app.bundle.migrationExtension != nil
  }
}

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

  /// The use of its data at the moment, for a person.
  var now: String {
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
        sentences.append("The last import failed (\(date)): \(failure.words).")
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
  var members: JSONMembers { ["domain": domain, "code": code, "message": explanation] }
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

extension AppBundle {
  /// Notes on the bundle for its author and for the person who installs it; lower-case clauses.
  var notes: [String] {
    var notes = otherExtensions.map { "\(VisibleText.quoted($0)) is an extension of another kind, which is ignored" }
    if case .app = role, migrationExtension == nil {
      notes.append(
        "the app has no migration extension: its data cannot be migrated"
          + (otherExtensions.isEmpty
            ? "" : "; EXExtensionPointIdentifier of such an extension is com.apple.app-migration"))
    }
    return notes
      + unsharedGroups.map { group, isOfApp, file in
        "the group \(group) is only in \(VisibleText.quoted(file)): "
          + (isOfApp
            ? "the extension finds neither its files nor its defaults, and does not migrate them"
            : "the app does not find the data that its extension puts there")
      }
  }
}

extension AppBundle.Role {
  /// The JSON members that describe a bundle.
  func members(hasExtension: Bool) -> JSONMembers {
    let (clip, parent): (String?, String?) =
      switch self {
      case .app(let clip): (clip, nil)
      case .clip(let app): (nil, app)
      }
    return [
      "hasExtension": hasExtension, "clip": clip,
      "clipOf": parent,
    ]
  }

  /// The words that describe it to a person; nil for an app.
  var words: String? {
    if case .clip(let app) = self { "clip of \(app)" } else { nil }
  }
}

extension AppHome.Installation {
  /// A sentence about the clip that the app has replaced; empty if there was none.
  var replaced: String {
    guard let replacement else { return "" }
    return "It has replaced its clip \(replacement.clip); the clip's own data is removed.\n"
      + replacement.groups.map { "The group \($0), which only the clip listed, is removed too.\n" }.joined()
  }

  /// The JSON members that describe the bundle and the replaced clip.
  var roleMembers: JSONMembers {
    app.bundle.role.members(hasExtension: app.bundle.migrationExtension != nil) + [
      "replacedClip": replacement?.clip,
      "removedGroups": replacement?.groups ?? [],
    ]
  }
}
