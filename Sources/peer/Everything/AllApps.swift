import MigrationApps
import MigrationHost
import MigrationSystem
import MigrationWire

/// `peer app list --all`: the apps of every kind of which this user has data.
struct AllApps {
  /// The apps with an extension.
  let installed: [AppState]
  let damaged: [AppHome.Damaged]
  /// The apps of files, and their sizes.
  let files: [(app: MovableApp, size: EntrySize?)]
  var notes: [String] = []

  /// For a person: a table.
  var table: Rendering {
    guard !installed.isEmpty || !files.isEmpty else {
      return Rendering(standardError: warnings + "No app has data that can be moved.\n")
    }
    var rows = [["ID", "KIND", "VERSION", "NAME", "SIZE", "NOW"]]
    rows += installed.map { state in
      [
        state.identifier, state.role.words ?? MovableApp.Kind.withExtension.rawValue, VisibleText.of(state.version),
        VisibleText.of(state.name ?? ""), "", state.now,
      ]
    }
    rows += files.map { app, size in
      [
        app.identifier, app.kind.rawValue, "", VisibleText.of(app.name),
        size.map { Figures.size($0.tally.bytes) } ?? "", app.inUse.map { "in use (\(VisibleText.of($0)))" } ?? "",
      ]
    }
    return Rendering(standardError: warnings, standardOutput: Table.text(rows))
  }

  private var warnings: String {
    let broken = damaged.map { "\($0.identifier): \($0.error.description)" }
    return (broken + notes).map { "peer: note: \($0)\n" }.joined()
  }

  /// For a program: an object per line.
  var lines: Rendering {
    let files = files.map { app, size in
      Rendering.event(
        "fileApp",
        [
          "id": app.identifier, "name": app.name, "kind": app.kind.rawValue, "bytes": size?.tally.bytes,
          "inUse": app.inUse, "secret": app.hasSecrets, "identity": app.isIdentity,
        ])
    }
    let notes = Rendering(standardError: notes.map { "peer: note: \($0)\n" }.joined())
    return files.reduce(AppState.lines(installed, damaged) + notes, +)
  }
}

extension AllApps {
  /// Looks for the apps of files in the home of this user, and measures their data.
  init(_ installed: [AppState], _ damaged: [AppHome.Damaged], records: [UInt8]) throws(Failure) {
    let path = try Home.ofUser(hint: "Set HOME.")
    do {
      let home = SharedDirectory(try Directory.open(path))
      let (apps, notes) = KnownApps(records: records).apps(in: home.directory)
      var inventory = try Inventory(of: home, apps: apps, records: [records])
      try inventory.measure(until: StopSignal(), only: { $0.app != nil })
      self.init(
        installed: installed, damaged: damaged,
        files: inventory.entries.compactMap { entry in entry.app.map { ($0, entry.size) } },
        notes: notes)
    } catch {
      throw Failure(.failed, "the home \(VisibleText.quoted(path)) cannot be read: \(error)")
    }
  }
}
