package import MigrationSystem
import MigrationWire

/// A folder of the user that travels by its key, in the role `home` (Protocol §6.2).
package enum HomeFolder: String, CaseIterable, Sendable {
  case desktop, documents, downloads, music, pictures, `public`, templates, videos

  /// The role of these keys.
  package static let role = "home"

  /// The key on the wire.
  package var key: [UInt8] { Array(rawValue.utf8) }

  /// The key's name in `user-dirs.dirs`.
  fileprivate var variable: String {
    switch self {
    case .downloads: "XDG_DOWNLOAD_DIR"
    case .public: "XDG_PUBLICSHARE_DIR"
    default: "XDG_\(rawValue.uppercased())_DIR"
    }
  }

  /// The folder's name where no file says another.
  package var usualName: [UInt8] { Array((rawValue.prefix(1).uppercased() + rawValue.dropFirst()).utf8) }
}

/// The places of the user's folders in a home, as `user-dirs.dirs` has them: paths relative to the
/// home.
///
/// A place that is the home itself or below a dot name is none. Of several folders with the same
/// place, the first has it.
package struct HomeFolders: Equatable, Sendable {
  package private(set) var places: [HomeFolder: [UInt8]] = [:]
  /// The targets of places that are links, or outside of the home: absolute paths without links.
  package private(set) var targets: [HomeFolder: [UInt8]] = [:]

  /// The folders that exist in a home.
  ///
  /// - Parameter isElsewhere: whether the home is that of another computer, whose links lead nowhere
  ///   here: none is followed.
  package init(in home: borrowing Directory, isElsewhere: Bool = false) {
    let configured = Self.configured(in: home)
    for folder in HomeFolder.allCases {
      guard case .some(let path?) = configured[folder] ?? .some(folder.usualName) else { continue }
      if !Self.isAbsolute(path), (try? home.openDirectoryBeneath(path)) != nil {
        if !places.values.contains(path) { places[folder] = path }
      } else if !isElsewhere, let target = Self.target(of: path, from: home), !targets.values.contains(target) {
        // A path outside has the folder's usual name, unless another item has it.
        let isNamed = Self.isAbsolute(path) && (try? home.isFree(folder.usualName)) == true
        places[folder] = isNamed ? folder.usualName : path
        targets[folder] = target
      }
    }
  }

  private static func isAbsolute(_ path: [UInt8]) -> Bool { path.first == UInt8(ascii: "/") }

  /// The target of a path, through links; nil if it is no directory, or contains the home.
  private static func target(of path: [UInt8], from home: borrowing Directory) -> [UInt8]? {
    guard let base = try? home.canonicalPath(),
      let target = try? Directory.open(isAbsolute(path) ? path : base + [UInt8(ascii: "/")] + path).canonicalPath(),
      target.count > 1, !(base + [UInt8(ascii: "/")]).starts(with: target + [UInt8(ascii: "/")])
    else { return nil }
    return target
  }

  /// A place for each folder, which need not exist: where the home has no place for it, the usual
  /// name. A link that leads to a folder of the user in the home stands for that folder.
  package static func receiving(in home: borrowing Directory) -> HomeFolders {
    let configured = configured(in: home)
    var folders = HomeFolders()
    for case (let folder, let path?) in configured.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      if isAbsolute(path) {
        folders.targets[folder] = path
        continue
      }
      let place = led(path, in: home)
      if !folders.places.values.contains(place) { folders.places[folder] = place }
    }
    for folder in HomeFolder.allCases where folders.places[folder] == nil {
      var name = led(folder.usualName, in: home)
      // Two folders in one place cannot be told apart later.
      if folders.places.values.contains(name) { name = folder.usualName }
      while folders.places.values.contains(name) { name += Array("-2".utf8) }
      folders.places[folder] = name
    }
    return folders
  }

  /// The place to which a link leads in the home, if that is a folder of the user's own, and else the
  /// path itself.
  private static func led(_ path: [UInt8], in home: borrowing Directory) -> [UInt8] {
    guard (try? home.openDirectoryBeneath(path)) == nil, let base = try? home.canonicalPath(),
      let target = target(of: path, from: home), target.starts(with: base + [UInt8(ascii: "/")])
    else { return path }
    let place = Array(target.dropFirst(base.count + 1))
    guard let status = try? home.openDirectoryBeneath(place).status(), (try? home.status().device) == status.device,
      status.owner == CurrentProcess.effectiveUserID
    else { return path }
    return place
  }

  private init() {}

  /// The places by key, as an importer takes them.
  package var map: [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: places.map { ($0.key.rawValue, $0.value) })
  }

  /// The paths of the folders, by key, in a home that has this path.
  package func paths(in home: [UInt8]) -> [(key: [UInt8], path: [UInt8])] {
    places.map { folder, place in
      (folder.key, Self.isAbsolute(place) ? place : home + [UInt8(ascii: "/")] + place)
    }
  }

  /// The folder at a path relative to the home.
  package func folder(at path: [UInt8]) -> HomeFolder? { places.first { $0.value == path }?.key }

  /// The longest configuration that is read.
  private static let longest = 64 << 10

  private static func configured(in home: borrowing Directory) -> [HomeFolder: [UInt8]?] {
    guard let file = try? home.openBeneath(".config/user-dirs.dirs"),
      let text = try? file.readAll(limit: longest)
    else { return [:] }
    return read(text, home: (try? home.canonicalPath()) ?? [])
  }

  /// The places in the text of `user-dirs.dirs`: relative to the home, absolute where they are outside of
  /// it; nil for a folder whose place is none. `home` is the home's own path, which may stand in the
  /// place of `$HOME`.
  static func read(_ text: [UInt8], home: [UInt8]) -> [HomeFolder: [UInt8]?] {
    var places: [HomeFolder: [UInt8]?] = [:]
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let line = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      guard let equals = line.firstIndex(of: UInt8(ascii: "=")),
        let folder = HomeFolder.allCases.first(where: { Array($0.variable.utf8) == Array(line[..<equals]) })
      else { continue }
      places.updateValue(place(quoted: line[(equals + 1)...], home: home), forKey: folder)
    }
    return places
  }

  /// The path in a value such as `"$HOME/Documents"`; nil if it is no place for a folder.
  private static func place(quoted value: ArraySlice<UInt8>, home: [UInt8]) -> [UInt8]? {
    let (quote, backslash, slash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"))
    guard value.first == quote else { return nil }
    var path: [UInt8] = []
    var rest = value.dropFirst()
    while let byte = rest.popFirst(), byte != quote {
      guard byte == backslash else {
        path.append(byte)
        continue
      }
      guard let escaped = rest.popFirst() else { return nil }
      path.append(escaped)
    }
    let base = path.starts(with: Array("$HOME".utf8)) ? Array("$HOME".utf8) : home
    guard !base.isEmpty, path.starts(with: base), path.dropFirst(base.count).first == slash || path == base else {
      return outside(path)
    }
    let components = path.dropFirst(base.count).split(separator: slash)
    guard !components.isEmpty, components.allSatisfy({ $0.first != UInt8(ascii: ".") }),
      let place = try? ArchivePath(Array(components.joined(separator: CollectionOfOne(slash))))
    else { return nil }
    return place.bytes
  }

  /// An absolute path of names; nil for any other.
  private static func outside(_ path: [UInt8]) -> [UInt8]? {
    guard isAbsolute(path), let place = try? ArchivePath(Array(path.dropFirst())) else { return nil }
    return [UInt8(ascii: "/")] + place.bytes
  }
}
