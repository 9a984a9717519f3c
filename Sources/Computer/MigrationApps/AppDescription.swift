package import MigrationWire

/// The places and the rules of an app's data, read from a file that the user of this device, its
/// administrator or this program's package wrote (docs/DescribingApps.md).
package struct AppDescription: Equatable, Sendable {
  /// How an app is installed. Each packaging has its own places.
  package enum Packaging: Hashable, Sendable {
    case native
    /// The identifier of a Flatpak.
    case flatpak(String)
    /// The name of a snap.
    case snap(String)
  }

  /// One place of a root, for one packaging.
  package struct Location: Equatable, Sendable {
    package let packaging: Packaging
    /// Relative to the home.
    package let path: [UInt8]

    /// Whether one of the two places equals or contains the other.
    func overlaps(_ other: Location) -> Bool {
      let (mine, others) = (path + [UInt8(ascii: "/")], other.path + [UInt8(ascii: "/")])
      return mine.starts(with: others) || others.starts(with: mine)
    }
  }

  /// A root of the app's data, with its places, the preferred one first.
  package struct Root: Equatable, Sendable {
    package let key: String
    package let places: [Location]
    let line: Int
  }

  package let identifier: String
  /// For people.
  package let name: String
  /// The names of the distribution's packages.
  package let packages: [String]
  /// The names of its programs.
  package let programs: [String]
  package let roots: [Root]
  /// The keys of dconf, in a description without roots.
  package let settings: [DesktopSettings.Key]
  /// Patterns relative to each root; the locks are among them.
  package let exclusions: [[UInt8]]
  /// The names of processes that use the data.
  package let processes: [String]
  /// The lock files of processes that use the data, relative to each root.
  package let locks: [PathPattern]
  /// The files, by their paths in the archive, in which paths of the home stand.
  package let homeFiles: [ArchivePath]
  /// The files, by their paths in the archive, that the app writes when it is merely started.
  package let started: [ArchivePath]
  /// The place in the data that names the version that wrote it, if older versions refuse the data.
  package let written: WrittenVersion?
  package let hasSecrets: Bool
  /// Whether the data is the identity of a device.
  package let isIdentity: Bool
  /// The identifiers of apps without whose data a part of this app's data is lost, such as a keyring.
  package let needs: [String]
  /// The file, for messages.
  let file: [UInt8]

  /// Whether its data is not for other users, or for other devices.
  var isSecret: Bool { hasSecrets || isIdentity }

  /// The packagings that have places, the preferred one first.
  var packagings: [Packaging] {
    var list: [Packaging] = []
    for root in roots {
      for place in root.places where !list.contains(place.packaging) { list.append(place.packaging) }
    }
    return list
  }

  /// The most bytes of a description.
  static let longest = 64 << 10

  /// Whether a text is an identifier: a file's name without its ending, and safe in a command.
  package static func isIdentifier(_ text: String) -> Bool {
    let others = Set("._-".utf8)
    return (1...128).contains(text.utf8.count) && text.utf8.first.map { !others.contains($0) } ?? false
      && text.utf8.allSatisfy { $0.isLetterOrDigit || others.contains($0) }
  }
}

extension AppDescription {
  /// Reads a description. `file` is its path; the identifier is the file's name without `.app`.
  package init(_ text: [UInt8], file: [UInt8]) throws(DescriptionError) {
    do throws(KeyFile.Mistake) {
      var reader = try DescriptionReader(KeyFile(text))
      self = try reader.description(file: file)
    } catch {
      throw DescriptionError(file: file, line: error.line, reason: error.reason)
    }
  }
}

/// Checks the groups and the entries of a description: each may come once, and each is known.
private struct DescriptionReader {
  typealias Mistake = KeyFile.Mistake

  private var groups: [String: KeyFile.Group] = [:]

  private static let keys: [String: [String]?] = [
    "Application": ["Id", "Name", "Packages", "Programs", "Secret", "Identity", "Needs"], "Data": nil,
    "Settings": ["Keys"], "Exclude": ["Patterns"], "Running": ["Processes", "Locks"], "Home": ["Files"],
    "Version": ["File", "Key"], "Start": ["Files"],
  ]

  init(_ file: KeyFile) throws(Mistake) {
    for group in file.groups {
      guard let keys = Self.keys[group.name] else {
        throw Mistake(line: group.line, reason: "the group \(VisibleText.quoted(group.name)) is unknown")
      }
      guard groups[group.name] == nil else { throw Mistake(line: group.line, reason: "the group comes twice") }
      var seen: Set<String> = []
      for entry in group.entries {
        guard seen.insert(entry.key).inserted else { throw Mistake(line: entry.line, reason: "the key comes twice") }
        guard keys?.contains(entry.key) ?? true else {
          throw Mistake(line: entry.line, reason: "the key \(VisibleText.quoted(entry.key)) is unknown")
        }
      }
      groups[group.name] = group
    }
  }

  mutating func description(file: [UInt8]) throws(Mistake) -> AppDescription {
    let identifier = try required("Id")
    guard AppDescription.isIdentifier(identifier.value) else {
      throw Mistake(line: identifier.line, reason: "an Id has letters, digits, '.', '_' and '-' only")
    }
    let ending = Array("/\(identifier.value).app".utf8)
    guard file.suffix(ending.count) == ending[...] else {
      throw Mistake(line: identifier.line, reason: "the file is not named \(identifier.value).app")
    }
    let name = try required("Name")
    guard (1...Limits.name).contains(name.value.utf8.count) else {
      throw Mistake(line: name.line, reason: "the Name is too long")
    }
    let (locks, roots) = (try locks(), try roots())
    return AppDescription(
      identifier: identifier.value, name: name.value, packages: try words("Application", "Packages"),
      programs: try words("Application", "Programs"), roots: roots,
      settings: try settings(),
      exclusions: try exclusions() + locks.map(\.exclusion), processes: try words("Running", "Processes"), locks: locks,
      homeFiles: try files("Home", roots), started: try files("Start", roots), written: try written(roots),
      hasSecrets: try isSet("Secret"), isIdentity: try isSet("Identity"),
      needs: try words("Application", "Needs"), file: file)
  }

  private func entry(_ group: String, _ key: String) -> KeyFile.Entry? {
    groups[group]?.entries.first { $0.key == key }
  }

  private func required(_ key: String) throws(Mistake) -> KeyFile.Entry {
    guard let entry = entry("Application", key), !entry.value.isEmpty else {
      throw Mistake(line: groups["Application"]?.line ?? 0, reason: "[Application] has no \(key)")
    }
    return entry
  }

  private func isSet(_ key: String) throws(Mistake) -> Bool {
    guard let entry = entry("Application", key) else { return false }
    guard entry.value == "yes" || entry.value == "no" else {
      throw Mistake(line: entry.line, reason: "\(key) is 'yes' or 'no'")
    }
    return entry.value == "yes"
  }

  /// A list of names that may stand in a command.
  private func words(_ group: String, _ key: String) throws(Mistake) -> [String] {
    guard let entry = entry(group, key) else { return [] }
    let list = entry.list
    let allowed = Set("+-._".utf8)
    for word in list where !word.utf8.allSatisfy({ $0.isLetterOrDigit || allowed.contains($0) }) || word.first == "-" {
      throw Mistake(line: entry.line, reason: "\(VisibleText.quoted(word)) is no name of a package or a program")
    }
    return list
  }

  private func exclusions() throws(Mistake) -> [[UInt8]] {
    guard let entry = entry("Exclude", "Patterns") else { return [] }
    let list = entry.list
    for pattern in list where pattern.utf8.allSatisfy({ Set("*/?!".utf8).contains($0) }) {
      throw Mistake(line: entry.line, reason: "the pattern \(VisibleText.quoted(pattern)) takes everything")
    }
    return list.map { Array($0.utf8) }
  }

  private func locks() throws(Mistake) -> [PathPattern] {
    guard let entry = entry("Running", "Locks") else { return [] }
    var locks: [PathPattern] = []
    for text in entry.list {
      guard let lock = PathPattern(text) else {
        throw Mistake(
          line: entry.line,
          reason: "\(VisibleText.quoted(text)) is no path of a lock file: it has names, and '*' for a folder")
      }
      locks.append(lock)
    }
    return locks
  }

  /// The key of a root, and what follows it in a path such as `profile/x/prefs.js`.
  private func checkKey(_ text: String, _ line: Int, _ roots: [AppDescription.Root]) throws(Mistake) {
    let key = text.prefix { $0 != "/" }
    let isOfSettings = roots.isEmpty && key == AppCatalogue.settingsKey
    guard isOfSettings || roots.contains(where: { $0.key == key }) else {
      throw Mistake(line: line, reason: "\(VisibleText.quoted(text)) begins with no key of [Data]")
    }
  }

  /// The paths of single files in a group.
  private func files(_ group: String, _ roots: [AppDescription.Root]) throws(Mistake) -> [ArchivePath] {
    guard let entry = entry(group, "Files") else { return [] }
    var files: [ArchivePath] = []
    for text in entry.list {
      try checkKey(text, entry.line, roots)
      guard !text.contains(where: { "*?[\\".contains($0) }), let path = try? ArchivePath(Array(text.utf8)) else {
        throw Mistake(line: entry.line, reason: "\(VisibleText.quoted(text)) is no path of one file")
      }
      files.append(path)
    }
    return files
  }

  private func written(_ roots: [AppDescription.Root]) throws(Mistake) -> WrittenVersion? {
    guard let entry = entry("Version", "File") else { return nil }
    try checkKey(entry.value, entry.line, roots)
    guard let file = PathPattern(entry.value) else {
      throw Mistake(line: entry.line, reason: "\(VisibleText.quoted(entry.value)) is no path of a file")
    }
    return WrittenVersion(file: file, key: self.entry("Version", "Key")?.value)
  }

  private func settings() throws(Mistake) -> [DesktopSettings.Key] {
    guard let entry = entry("Settings", "Keys") else { return [] }
    var keys: [DesktopSettings.Key] = []
    for text in entry.list {
      guard let key = DesktopSettings.Key(text) else {
        throw Mistake(
          line: entry.line,
          reason: "\(VisibleText.quoted(text)) is no key of dconf, and no folder with three names or more in its path")
      }
      keys.append(key)
    }
    return keys
  }

  private func roots() throws(Mistake) -> [AppDescription.Root] {
    if groups["Data"] == nil, entry("Settings", "Keys")?.list.isEmpty == false { return [] }
    if let settings = groups["Settings"] {
      throw Mistake(line: settings.line, reason: "settings have a description of their own, without [Data]")
    }
    guard let group = groups["Data"], !group.entries.isEmpty else {
      throw Mistake(line: groups["Data"]?.line ?? 0, reason: "[Data] names nothing")
    }
    var roots: [AppDescription.Root] = []
    for entry in group.entries {
      guard Self.isKey(entry.key) else {
        throw Mistake(line: entry.line, reason: "a key has small letters, digits and '-' only")
      }
      guard !Flatpaks.keys.contains(entry.key) else {
        throw Mistake(line: entry.line, reason: "the key '\(entry.key)' belongs to Flatpaks without a description")
      }
      let list = entry.list
      guard !list.isEmpty else { throw Mistake(line: entry.line, reason: "the key has no place") }
      var places: [AppDescription.Location] = []
      for text in list { places.append(try Self.place(text, line: entry.line)) }
      for place in places where roots.contains(where: { $0.places.contains { $0.overlaps(place) } }) {
        throw Mistake(line: entry.line, reason: "\(VisibleText.quoted(place.path)) is part of another key's place")
      }
      roots.append(AppDescription.Root(key: entry.key, places: places, line: entry.line))
    }
    return roots
  }

  /// The form of a key on the wire (Protocol §6.2).
  private static func isKey(_ text: String) -> Bool {
    (1...Limits.key).contains(text.utf8.count) && text.first?.isLowercase == true
      && text.utf8.allSatisfy { ($0.isLetterOrDigit && !(65...90).contains($0)) || $0 == UInt8(ascii: "-") }
  }

  /// The bases that a place begins with.
  private static let bases = ["home": "", "config": ".config/", "data": ".local/share/", "state": ".local/state/"]

  /// Places that hold the data of many apps.
  private static let shared: Set<String> = [
    "", ".config", ".local", ".local/share", ".local/state", ".var", ".var/app", "snap", ".cache", ".local/share/peer",
  ]

  /// The place in a text such as `config/vlc` or `flatpak/org.videolan.VLC/config/vlc`.
  private static func place(_ text: String, line: Int) throws(Mistake) -> AppDescription.Location {
    func mistake(_ reason: String) -> Mistake { Mistake(line: line, reason: "\(VisibleText.quoted(text)) \(reason)") }
    if text.hasPrefix("/") || text.hasPrefix("~") {
      throw mistake("is an absolute path: a place begins with home, config, data, state, flatpak or snap")
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard !parts.contains(".."), !parts.contains("."), !parts.contains("") else {
      throw mistake("has a component that is empty, '.' or '..'")
    }
    guard !text.contains(where: { "*?[\\".contains($0) }) else {
      throw mistake("has a pattern, which could take everything")
    }
    let rest = parts.dropFirst().joined(separator: "/")
    let (packaging, path): (AppDescription.Packaging, String)
    switch parts[0] {
    case "flatpak":
      guard parts.count > 2, Flatpaks.isIdentifier(parts[1]) else { throw mistake("names no data of a Flatpak") }
      (packaging, path) = (.flatpak(parts[1]), ".var/app/" + rest)
    case "snap":
      guard parts.count > 3, AppDescription.isIdentifier(parts[1]), parts[2] == "common" else {
        throw mistake("names no data of a snap below 'common', which its versions share")
      }
      (packaging, path) = (.snap(parts[1]), "snap/" + rest)
    default:
      guard let base = bases[parts[0]] else {
        throw mistake("begins with none of home, config, data, state, flatpak and snap")
      }
      (packaging, path) = (.native, base + rest)
    }
    guard !shared.contains(path.hasSuffix("/") ? String(path.dropLast()) : path),
      !path.hasPrefix(".local/share/peer/")
    else { throw mistake("takes everything: it has the data of other apps too") }
    guard let place = try? ArchivePath(Array(path.utf8)) else { throw mistake("is too long") }
    return AppDescription.Location(packaging: packaging, path: place.bytes)
  }
}

/// A path in which `*` stands for any one folder.
package struct PathPattern: Equatable, Sendable {
  static let any = Array("*".utf8)

  let components: [[UInt8]]

  /// Nil if it is no path of names.
  init?(_ text: String) {
    components = text.split(separator: "/", omittingEmptySubsequences: false).map { Array($0.utf8) }
    guard !text.isEmpty, components.last != Self.any,
      components.allSatisfy({ $0 == Self.any || Self.isName($0) })
    else { return nil }
  }

  private static func isName(_ bytes: [UInt8]) -> Bool {
    (try? ArchivePath.checkComponent(bytes.span)) != nil && !bytes.contains { Array("*?[\\".utf8).contains($0) }
  }

  /// Whether a path fits.
  func matches(_ path: ArchivePath) -> Bool {
    let names = path.bytes.split(separator: UInt8(ascii: "/"))
    return names.count == components.count
      && zip(names, components).allSatisfy { $1 == Self.any || Array($0) == $1 }
  }

  /// The pattern by which such files stay behind.
  var exclusion: [UInt8] { [UInt8(ascii: "/")] + components.joined(separator: [UInt8(ascii: "/")]) }
}
