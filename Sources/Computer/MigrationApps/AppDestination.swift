import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// The destination of an app of files on this device, and the kind of its data by this device's own
/// knowledge.
package struct AppDestination: Equatable, Sendable {
  /// A program that must be installed so that the data is of use.
  package enum Missing: Equatable, Sendable {
    case package(String)
    case flatpak(String)
  }

  package let name: String
  /// By key, relative to the home.
  package let places: [String: [UInt8]]
  package let missing: Missing?
  /// The program that uses the data there now, for people.
  package let inUse: String?
  /// The installed version, if older versions refuse the data.
  let installed: Version?
  /// What this device knows of the data; nil for a Flatpak without a description.
  let description: AppDescription?

  /// The keys of dconf that are loaded; empty for other data.
  package var settings: [DesktopSettings.Key] { description?.settings ?? [] }
  /// The files, by their paths in the archive, that the app writes when it is merely started.
  package var started: [ArchivePath] { description?.started ?? [] }
  /// The files, by their paths in the archive, in which paths of the home stand.
  var homeFiles: [ArchivePath] { description?.homeFiles ?? [] }

  /// The places of some roots that are taken.
  package func present(of keys: [[UInt8]], in home: borrowing Directory) -> [[UInt8]] {
    // Existing settings at that place have only been loaded before.
    if !settings.isEmpty { return [] }
    return keys.compactMap { places[String(decoding: $0, as: UTF8.self)] }.filter { home.isTaken(at: $0) }
  }

  /// The places of some roots that have data already. Files of every new home, as the folder
  /// `skeleton` has them, do not count, nor do files that the app writes when it is merely started.
  package func data(of keys: [[UInt8]], in home: borrowing Directory, besides skeleton: [UInt8]) -> [[UInt8]] {
    let present = keys.filter { !isMerelyStarted($0, in: home) }
    // Without a skeleton, each other file counts.
    guard let skeleton = try? Directory.open(skeleton) else { return self.present(of: present, in: home) }
    return self.present(of: present, in: home).filter { !home.isSame(as: skeleton, at: $0) }
  }

  /// Whether the place of a root has only files that the app writes when it is merely started.
  private func isMerelyStarted(_ key: [UInt8], in home: borrowing Directory) -> Bool {
    let files = started.map(\.bytes).filter { $0 == key || $0.starts(with: key + [UInt8(ascii: "/")]) }
    guard !files.isEmpty, let place = places[String(decoding: key, as: UTF8.self)] else { return false }
    if files.contains(key) { return home.kind(at: place) == .file }
    func hasOnly(_ folder: [UInt8], _ path: [UInt8]) -> Bool {
      guard let directory = try? home.openDirectoryBeneath(folder), let names = try? directory.names() else {
        return false
      }
      return names.allSatisfy { name in
        let rest = [UInt8(ascii: "/")] + name
        return files.contains(path + rest)
          || files.contains { $0.starts(with: path + rest + [UInt8(ascii: "/")]) }
            && hasOnly(folder + rest, path + rest)
      }
    }
    return hasOnly(place, key)
  }
}

extension AppDestination {
  /// The class of the data.
  package var kind: ArrivalClasses { description?.isSecret == true ? .secrets : .apps }
}

extension AppCatalogue {
  /// The destination of an app's data; nil if this device knows no such app. Only this device's own
  /// descriptions decide: a key of the sender that is unknown here has no place.
  package func destination(
    of identifier: String, in home: borrowing Directory, running: RunningPrograms = RunningPrograms()
  ) -> AppDestination? {
    if let description = descriptions[identifier], !description.settings.isEmpty {
      return AppDestination(
        name: description.name, places: [Self.settingsKey: Self.settingsPlace(of: identifier)], missing: nil,
        inUse: nil, installed: nil, description: description)
    }
    if let description = descriptions[identifier] {
      let installed = description.packagings.first { isInstalled($0, of: description) }
      guard let packaging = installed ?? description.packagings.first else { return nil }
      var places: [String: [UInt8]] = [:]
      for root in description.roots {
        let own = root.places.filter { $0.packaging == packaging }
        // Data in another place of the same packaging would hide the arriving data.
        let present = own.first { home.kind(at: $0.path) != nil }
        if let place = present ?? own.first { places[root.key] = place.path }
      }
      return AppDestination(
        name: description.name, places: places,
        missing: installed == nil ? Self.missing(packaging, description.packages) : nil,
        inUse: use(of: description, packaging, at: Array(places.values), in: home, running),
        installed: packaging == .native && description.written != nil
          ? packages.version(of: description.packages) : nil,
        description: description)
    }
    guard Flatpaks.isIdentifier(identifier) else { return nil }
    return AppDestination(
      name: flatpaks.name(of: identifier) ?? identifier, places: Flatpaks.places(of: identifier),
      missing: flatpaks.has(identifier) ? nil : .flatpak(identifier), inUse: use(of: .flatpak(identifier)),
      installed: nil, description: nil)
  }
}
