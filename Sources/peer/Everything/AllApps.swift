import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
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
          "inUse": app.inUse, "runsByItself": app.flags.contains(.runsByItself),
          "secret": app.flags.contains(.secret), "identity": app.isIdentity,
        ])
    }
    let notes = Rendering(standardError: notes.map { "peer: note: \($0)\n" }.joined())
    return files.reduce(AppState.lines(installed, damaged) + notes, +)
  }
}

extension AllApps {
  /// Looks for the apps of files in the home of this user, and measures their data.
  init(_ installed: [AppState], _ damaged: [AppHome.Damaged], records: [UInt8]) throws(TransferFailure) {
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
      throw TransferFailure(.failed, "the home \(VisibleText.quoted(path)) cannot be read: \(error)")
    }
  }
}

/// The apps of files that this device knows, with what the environment says about this user.
struct KnownApps {
  let catalogue: AppCatalogue
  /// The user's programs that run now; none for a home from elsewhere.
  let running: RunningPrograms
  /// The folders with installations of Flatpaks; none for a home from elsewhere.
  let installations: [[UInt8]]
  /// The packages of this device; none for a home from elsewhere.
  let packages: InstalledPackages
  /// What reads the settings of this user; nil for a home from elsewhere.
  private let dconf: Dconf?
  private let isElsewhere: Bool

  /// Reads the descriptions, and looks for this user's programs and Flatpaks. `records` is PEER_HOME.
  ///
  /// - Parameter isElsewhere: whether the home is not that of this user here: then nothing of the
  ///   running system counts.
  init(records: [UInt8], isElsewhere: Bool = false, variable: (String) -> [UInt8]? = Environment.bytes) {
    self.isElsewhere = isElsewhere
    func folder(_ name: String, _ rest: String) -> [[UInt8]] {
      guard let value = variable(name), value.first == UInt8(ascii: "/") else { return [] }
      return [value + Array(rest.utf8)]
    }
    let all =
      folder("XDG_DATA_HOME", "/flatpak") + folder("HOME", "/.local/share/flatpak") + [Array("/var/lib/flatpak".utf8)]
    packages =
      isElsewhere
      ? InstalledPackages()
      : InstalledPackages(Array("/var/lib/dpkg/status".utf8), automatic: Array("/var/lib/apt/extended_states".utf8))
    let shipped = ShippedFolder.find("known-apps", source: "Sources/MigrationApps/Descriptions")
    catalogue = AppCatalogue(
      folders: [records + Array("/descriptions".utf8), Array("/etc/peer/apps".utf8)] + [shipped].compactMap(\.self),
      programs: isElsewhere
        ? []
        : (variable("PATH") ?? []).split(separator: UInt8(ascii: ":")).filter { $0.first == UInt8(ascii: "/") }.map(
          Array.init),
      flatpaks: isElsewhere
        ? Flatpaks()
        : Flatpaks(installations: all, instances: folder("XDG_RUNTIME_DIR", "/.flatpak").first),
      packages: packages)
    installations = isElsewhere ? [] : all
    dconf = isElsewhere ? nil : Dconf()
    running = Self.running(isElsewhere)
  }

  private static func running(_ isElsewhere: Bool) -> RunningPrograms {
    isElsewhere ? RunningPrograms() : RunningPrograms(of: CurrentProcess.effectiveUserID)
  }

  /// The program that uses the data of an app of files at this moment, for people.
  func use(of app: MovableApp, in home: borrowing Directory) -> String? {
    catalogue.use(of: app, in: home) { Self.running(isElsewhere) }
  }

  /// The apps of which a home has data, and a note for each description or place that is not used.
  func apps(in home: borrowing Directory) -> (apps: [MovableApp], notes: [String]) {
    var mistakes = catalogue.mistakes
    var apps = catalogue.apps(in: home, running: running, mistakes: &mistakes)
    if let settings = dconf?.settings() { apps += catalogue.apps(with: settings) }
    return (apps.sorted { ($0.name, $0.identifier) < ($1.name, $1.identifier) }, mistakes.map(\.description))
  }
}
