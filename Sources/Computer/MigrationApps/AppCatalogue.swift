import MigrationArchive
package import MigrationSystem
import MigrationWire

/// The apps of files that this device knows: the described apps, and all Flatpaks.
package struct AppCatalogue: Sendable {
  /// By identifier.
  package let descriptions: [String: AppDescription]
  /// The mistakes because of which descriptions are not used.
  package let mistakes: [DescriptionError]
  let flatpaks: Flatpaks
  private let programs: [[UInt8]]
  let packages: InstalledPackages
  /// The path of the folder with a folder for each snap.
  private let snaps: [UInt8]
  /// The path of the folder with the files that every new home gets.
  package let skeleton: [UInt8]

  /// Reads the descriptions in some folders. Of two descriptions of one app, the first folder's counts. A
  /// file that other users than root and this user may change is a mistake: it could lead data elsewhere.
  package init(
    folders: [[UInt8]], trusting trust: Trust = Trust(), programs: [[UInt8]] = [], flatpaks: Flatpaks = Flatpaks(),
    packages: InstalledPackages = InstalledPackages(), snaps: [UInt8] = Array("/snap".utf8),
    skeleton: [UInt8] = Array("/etc/skel".utf8)
  ) {
    var descriptions: [String: AppDescription] = [:]
    var mistakes: [DescriptionError] = []
    for folder in folders {
      for (file, text) in Self.texts(in: folder, trusting: trust, &mistakes) {
        do {
          let description = try AppDescription(text, file: file)
          if descriptions[description.identifier] == nil { descriptions[description.identifier] = description }
        } catch {
          mistakes.append(error)
        }
      }
    }
    self.descriptions = descriptions
    self.mistakes = mistakes
    self.flatpaks = flatpaks
    self.programs = programs
    self.packages = packages
    self.snaps = snaps
    self.skeleton = skeleton
  }

  /// The files of a folder, by their paths, sorted. A folder that is missing has none.
  private static func texts(
    in folder: [UInt8], trusting trust: Trust, _ mistakes: inout [DescriptionError]
  ) -> [(file: [UInt8], text: [UInt8])] {
    var texts: [(file: [UInt8], text: [UInt8])] = []
    do throws(Trust.Distrust) {
      let directory = try open(folder, trust)
      let names = ((try? directory.directory.names()) ?? []).filter { $0.suffix(4) == Array(".app".utf8)[...] }
      for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        let file = folder + [UInt8(ascii: "/")] + name
        do throws(Trust.Distrust) {
          texts.append((file, try trust.read(name, in: directory.directory, at: file, limit: AppDescription.longest)))
        } catch {
          mistakes.append(DescriptionError(file: file, error))
        }
      }
    } catch {
      if error.isMissing { return texts }
      mistakes.append(
        DescriptionError(folder: folder, reason: "\(VisibleText.quoted(error.path)) \(error.clause)"))
    }
    return texts
  }

  private static func open(_ folder: [UInt8], _ trust: Trust) throws(Trust.Distrust) -> SharedDirectory {
    let (above, name) = FileContent.split(folder)
    return SharedDirectory(try trust.open(above, [name]))
  }

  // MARK: The sender

  /// The apps of which a home has data that not every new home has, sorted by name. `mistakes` gets the
  /// places that are not used.
  package func apps(
    in home: borrowing Directory, running: RunningPrograms = RunningPrograms(), mistakes: inout [DescriptionError]
  ) -> [MovableApp] {
    var apps: [MovableApp] = []
    for description in descriptions.values.sorted(by: { $0.identifier < $1.identifier }) {
      var found: (packaging: AppDescription.Packaging, places: [HomeItem])?
      // If several packagings have data, the first installed one counts, or else the first one.
      for packaging in description.packagings {
        let places = Self.places(of: description, packaging, in: home, &mistakes)
        if places.isEmpty { continue }
        let isInstalled = isInstalled(packaging, of: description)
        if isInstalled || found == nil { found = (packaging, places) }
        if isInstalled { break }
      }
      guard let found else { continue }
      apps.append(
        MovableApp(
          .described, identifier: description.identifier, name: description.name, places: found.places,
          exclusions: description.exclusions, hasSecrets: description.hasSecrets, isIdentity: description.isIdentity,
          needs: description.needs,
          inUse: use(of: description, found.packaging, at: found.places.map(\.path), in: home, running)))
    }
    if let skeleton = try? Directory.open(skeleton) {
      apps.removeAll { $0.places.allSatisfy { home.isSame(as: skeleton, at: $0.path) } }
    }
    apps += undescribed(besides: apps, in: home)
    return apps.sorted { ($0.name, $0.identifier) < ($1.name, $1.identifier) }
  }

  /// The key of the settings of an app that has no other data.
  package static let settingsKey = "dconf"

  /// The place of an app's settings in a home before they are loaded.
  package static func settingsPlace(of identifier: String) -> [UInt8] {
    Array(".local/share/peer-settings/\(identifier)".utf8)
  }

  /// The apps of which these settings have values, sorted by name.
  package func apps(with settings: DesktopSettings) -> [MovableApp] {
    descriptions.values.filter { !$0.settings.isEmpty }.compactMap { description in
      let own = settings.only(description.settings)
      if own.isEmpty { return nil }
      let bytes = UInt64(own.dump.count)
      return MovableApp(
        .settings, identifier: description.identifier, name: description.name, hasSecrets: description.hasSecrets,
        isIdentity: description.isIdentity, needs: description.needs,
        size: EntrySize(Tally(items: 1, bytes: bytes), allocated: bytes), settings: own)
    }.sorted { ($0.name, $0.identifier) < ($1.name, $1.identifier) }
  }

  /// The Flatpaks of whose data no description takes a part.
  private func undescribed(
    besides others: [MovableApp], in home: borrowing Directory
  ) -> [MovableApp] {
    let identifiers = ((try? home.openDirectoryBeneath(".var/app").names()) ?? []).map {
      String(decoding: $0, as: UTF8.self)
    }
    let taken = others.flatMap { $0.places.map(\.path) }
    let running = flatpaks.running()
    return identifiers.filter(Flatpaks.isIdentifier).compactMap { identifier in
      let base = Array(".var/app/\(identifier)/".utf8)
      guard !taken.contains(where: { $0.starts(with: base) }), descriptions[identifier] == nil else { return nil }
      let places = Flatpaks.places(of: identifier).sorted { $0.key < $1.key }.compactMap { key, path in
        home.kind(at: path).map { HomeItem(root: Array(key.utf8), path: path, kind: $0) }
      }
      guard places.contains(where: { $0.kind == .directory }) else { return nil }
      return MovableApp(
        .flatpak, identifier: identifier, name: flatpaks.name(of: identifier) ?? identifier, places: places,
        exclusions: Flatpaks.exclusions, inUse: running[identifier].map { "process \($0)" })
    }
  }

  func isInstalled(_ packaging: AppDescription.Packaging, of app: AppDescription) -> Bool {
    switch packaging {
    case .native:
      app.programs.isEmpty
        || app.programs.contains { program in
          programs.contains { (try? Directory.status(of: $0 + Array("/\(program)".utf8)))?.kind == .regular }
        }
    case .flatpak(let identifier): flatpaks.has(identifier)
    case .snap(let name): FileContent.isDirectory(snaps + Array("/\(name)/current".utf8))
    }
  }

  // MARK: The receiver

  /// The places of all data with secrets, of every packaging, relative to a home.
  package var secretPlaces: [[UInt8]] {
    descriptions.values.filter(\.isSecret).flatMap { $0.roots.flatMap(\.places) }.map(\.path)
  }

  /// The program that uses the data of an app of files now, for people. `running` is asked only if
  /// the app's description names processes or locks.
  package func use(
    of app: MovableApp, in home: borrowing Directory, running: () -> RunningPrograms
  ) -> String? {
    guard let description = descriptions[app.identifier] else { return use(of: .flatpak(app.identifier)) }
    let paths = app.places.map(\.path)
    let place = description.roots.lazy.flatMap(\.places).first { paths.contains($0.path) }
    guard let packaging = place?.packaging else { return nil }
    if description.processes.isEmpty, description.locks.isEmpty { return use(of: packaging) }
    return use(of: description, packaging, at: paths, in: home, running())
  }

  /// The program that uses the data of an app, for people.
  func use(
    of app: AppDescription, _ packaging: AppDescription.Packaging, at places: [[UInt8]], in home: borrowing Directory,
    _ running: RunningPrograms
  ) -> String? {
    if let user = use(of: packaging) ?? running.first(of: app.processes) { return user }
    if app.locks.isEmpty { return nil }
    for place in places {
      guard let folder = try? home.openDirectoryBeneath(place) else { continue }
      if let holder = running.holder(of: app.locks, in: folder) { return holder }
    }
    return nil
  }

  /// The running instance of a Flatpak, for people.
  func use(of packaging: AppDescription.Packaging) -> String? {
    guard case .flatpak(let identifier) = packaging else { return nil }
    return flatpaks.running()[identifier].map { "process \($0)" }
  }

  static func missing(_ packaging: AppDescription.Packaging, _ packages: [String]) -> AppDestination.Missing? {
    switch packaging {
    case .flatpak(let identifier): .flatpak(identifier)
    case .native: packages.first.map { .package($0) }
    case .snap: nil
    }
  }

  /// The places of a described app's data in a home, of one packaging.
  private static func places(
    of app: AppDescription, _ packaging: AppDescription.Packaging, in home: borrowing Directory,
    _ mistakes: inout [DescriptionError]
  ) -> [HomeItem] {
    var places: [HomeItem] = []
    for root in app.roots {
      for place in root.places where place.packaging == packaging {
        do {
          let kind = try home.kindWithoutLinks(at: place.path)
          guard kind == .directory || kind == .file else { continue }
          places.append(HomeItem(root: Array(root.key.utf8), path: place.path, kind: kind ?? .file))
          break
        } catch {
          mistakes.append(
            DescriptionError(
              file: app.file, line: root.line,
              reason: "\(VisibleText.quoted(place.path)) leads through a symbolic link, which is not followed"))
        }
      }
    }
    return places
  }
}

extension Directory {
  /// The type of an item beneath this directory; nil if there is none, or a link leads to it.
  func kind(at path: [UInt8]) -> ItemKind? { (try? kindWithoutLinks(at: path)) ?? nil }

  /// Whether there is anything at a path, also a link.
  func isTaken(at path: [UInt8]) -> Bool {
    do {
      return try kindWithoutLinks(at: path) != nil
    } catch {
      return true
    }
  }

  /// The type of an item beneath this directory, nil if there is none. Fails if a link leads to it.
  fileprivate func kindWithoutLinks(at path: [UInt8]) throws(SystemError) -> ItemKind? {
    let (directory, name) = FileContent.split(path)
    do throws(SystemError) {
      let status =
        directory == Array(".".utf8) ? try status(name) : try openDirectoryBeneath(directory).status(name)
      if status.kind == .symbolicLink { throw SystemError(reason: "it is a link", operation: "open") }
      return ItemKind(status.kind)
    } catch {
      guard error.isNotFound || error.isNotDirectory else { throw error }
      return nil
    }
  }

  /// Whether a file has the same bytes in both directories.
  func isSame(as other: borrowing Directory, at path: [UInt8]) -> Bool {
    guard kind(at: path) == .file, let mine = try? openBeneath(path).readAll(limit: 1 << 20),
      let others = try? other.openBeneath(path).readAll(limit: 1 << 20)
    else { return false }
    return mine == others
  }
}
