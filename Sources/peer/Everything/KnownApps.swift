import MigrationApps
import MigrationSystem
import MigrationWire

/// The apps of files that this device knows, with what the environment says about this user.
struct KnownApps {
  let catalogue: AppCatalogue
  /// The user's programs that run now; none for a home from elsewhere.
  let running: RunningPrograms
  /// The programs that this computer's packagers offer.
  let offered: PackageCatalogue
  private let mistakes: [DescriptionError]
  /// Which descriptions are not used, and why.
  var notes: [String] { mistakes.map(\.description) }
  /// The packages of this device; none for a home from elsewhere.
  let packages: InstalledPackages
  /// The program that reads the settings of a desktop; nil if it is not installed.
  private let dconf: SettingsLoader.Dconf?
  private let isElsewhere: Bool
  private let system: SystemFolder

  /// The folders that descriptions come from, the user's own first.
  static func described(
    records: [UInt8], variable: (String) -> [UInt8]? = Environment.bytes
  ) -> [[UInt8]] {
    let system = SystemFolder(variable)
    var folders = [records + Array("/descriptions".utf8), system.path("/etc/peer/apps")]
    if let shipped = system.descriptions, shipped.distrust == nil { folders.append(shipped.path) }
    return folders
  }

  /// Reads the descriptions, and looks for this user's programs and Flatpaks. `records` is PEER_HOME.
  ///
  /// - Parameter isElsewhere: whether the home is not that of this user here: then nothing of the
  ///   running system counts.
  init(records: [UInt8], isElsewhere: Bool = false, variable: (String) -> [UInt8]? = Environment.bytes) {
    let system = SystemFolder(variable)
    (self.isElsewhere, self.system) = (isElsewhere, system)
    func folder(_ name: String, _ rest: String) -> [[UInt8]] {
      guard let value = variable(name), value.first == UInt8(ascii: "/") else { return [] }
      return [value + Array(rest.utf8)]
    }
    let all =
      folder("XDG_DATA_HOME", "/flatpak") + folder("HOME", "/.local/share/flatpak") + [system.path("/var/lib/flatpak")]
    packages =
      isElsewhere
      ? InstalledPackages()
      : InstalledPackages(
        system.path("/var/lib/dpkg/status"), automatic: system.path("/var/lib/apt/extended_states"))
    catalogue = AppCatalogue(
      folders: Self.described(records: records, variable: variable),
      programs: isElsewhere
        ? []
        : (variable("PATH") ?? []).split(separator: UInt8(ascii: ":")).filter { $0.first == UInt8(ascii: "/") }.map {
          system.path($0)
        },
      flatpaks: isElsewhere
        ? Flatpaks()
        : Flatpaks(installations: all, instances: folder("XDG_RUNTIME_DIR", "/.flatpak").first),
      packages: packages, snaps: system.path("/snap"), skeleton: system.path("/etc/skel"))
    let reach = system.descriptions.flatMap { folder in
      FileContent.isDirectory(folder.path)
        ? folder.distrust.map { DescriptionError(folder: folder.path, reason: $0) } : nil
    }
    mistakes = catalogue.mistakes + [reach].compactMap(\.self)
    offered = PackageCatalogue(lists: system.path("/var/lib/apt/lists"), flatpaks: isElsewhere ? [] : all)
    dconf = SettingsLoader.Dconf()
    running = system.running(isElsewhere)
  }

  /// The program that uses the data of an app of files at this moment, for people.
  func use(of app: MovableApp, in home: borrowing Directory) -> String? {
    catalogue.use(of: app, in: home) { system.running(isElsewhere) }
  }

  /// The program that uses what an app has in a home at this moment, for people.
  func use(ofArriving app: String, in home: borrowing Directory) -> String? {
    catalogue.destination(of: app, in: home, running: system.running(isElsewhere))?.inUse
  }

  /// The apps of which a home has data, and a note for each description or place that is not used.
  func apps(in home: borrowing Directory) -> (apps: [MovableApp], notes: [String]) {
    var mistakes = mistakes
    var apps = catalogue.apps(in: home, running: running, mistakes: &mistakes)
    let (settings, note) = settings(of: home)
    if let settings { apps += catalogue.apps(with: settings) }
    return (
      apps.sorted { ($0.name, $0.identifier) < ($1.name, $1.identifier) },
      mistakes.map(\.description) + [note].compactMap(\.self)
    )
  }

  /// The settings of a desktop in a home, or a note that they do not move.
  private func settings(of home: borrowing Directory) -> (DesktopSettings?, note: String?) {
    guard let path = try? home.canonicalPath(), hasSettings(home, path) else { return (nil, nil) }
    let place = "the desktop's settings in \(VisibleText.quoted(SettingsLoader.Dconf.database)) do not move"
    guard let dconf else {
      return (nil, "\(place): dconf is not installed here, which the package dconf-cli has")
    }
    let settings = dconf.settings(ofHome: isElsewhere ? path : nil)
    return (settings, settings == nil ? "\(place): dconf cannot read them" : nil)
  }

  /// Of a home from elsewhere, no link is followed: it would lead to the settings of this user.
  private func hasSettings(_ home: borrowing Directory, _ path: [UInt8]) -> Bool {
    isElsewhere
      ? (try? home.openBeneath(SettingsLoader.Dconf.database)) != nil
      : (try? Directory.status(of: path + [UInt8(ascii: "/")] + SettingsLoader.Dconf.database)) != nil
  }

  /// The items of this computer that stay behind, since they are in no home.
  var outsideHomes: [Omission] {
    let crontab = isElsewhere || !Crontab.isThere(system.path("/usr/bin/crontab")) ? [] : [Omission.crontab]
    return crontab + [.system]
  }

  /// The files of this computer's administrator and packagers, and its processes: below `/`, or below the
  /// folder that PEER_SYSTEM names.
  private struct SystemFolder {
    /// Empty for `/`.
    private let root: [UInt8]

    init(_ variable: (String) -> [UInt8]?) { root = variable("PEER_SYSTEM") ?? [] }

    func path(_ absolute: String) -> [UInt8] { root + Array(absolute.utf8) }
    func path(_ absolute: ArraySlice<UInt8>) -> [UInt8] { root + absolute }

    /// The descriptions that come with this program.
    var descriptions: ShippedFolder? {
      root.isEmpty
        ? ShippedFolder("known-apps", source: "Sources/Computer/MigrationApps/Descriptions")
        : ShippedFolder(path: path("/usr/share/peer/known-apps"), distrust: nil)
    }

    /// The user's programs that run; none for a home from elsewhere.
    func running(_ isElsewhere: Bool) -> RunningPrograms {
      isElsewhere ? RunningPrograms() : RunningPrograms(of: CurrentProcess.effectiveUserID, in: path("/proc"))
    }
  }
}
