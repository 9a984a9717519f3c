package import MigrationSystem
import MigrationWire

/// A folder of the user that travels by its key, in the role `home` (Protocol §6.2).
package enum HomeFolder: String, CaseIterable, Sendable {
  case desktop, documents, downloads, music, pictures, `public`, templates, videos

  /// The role whose keys these are.
  package static let role = "home"

  /// The key on the wire.
  package var key: [UInt8] { Array(rawValue.utf8) }

  /// The folder of a key.
  package init?(key: [UInt8]) { self.init(rawValue: String(decoding: key, as: UTF8.self)) }

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
/// A place that is the home itself, outside of it or below a dot name is none. Of several folders
/// with the same place, the first has it.
package struct HomeFolders: Equatable, Sendable {
  package private(set) var places: [HomeFolder: [UInt8]] = [:]

  /// The folders that exist in a home. No link is followed.
  package init(in home: borrowing Directory) {
    let configured = Self.configured(in: home)
    for folder in HomeFolder.allCases {
      guard case .some(let path?) = configured[folder] ?? .some(folder.usualName), !places.values.contains(path),
        (try? home.openDirectoryBeneath(path)) != nil
      else { continue }
      places[folder] = path
    }
  }

  /// A place for each folder, which need not exist: where the home has no place for it, the usual
  /// name.
  package static func receiving(in home: borrowing Directory) -> HomeFolders {
    let configured = configured(in: home)
    var folders = HomeFolders()
    for case (let folder, let path?) in configured.sorted(by: { $0.key.rawValue < $1.key.rawValue })
    where !folders.places.values.contains(path) {
      folders.places[folder] = path
    }
    for folder in HomeFolder.allCases where folders.places[folder] == nil {
      var name = folder.usualName
      // Two folders in one place cannot be told apart later.
      while folders.places.values.contains(name) { name += Array("-2".utf8) }
      folders.places[folder] = name
    }
    return folders
  }

  private init() {}

  /// The places by key, as an importer takes them.
  package var map: [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: places.map { ($0.key.rawValue, $0.value) })
  }

  /// The folder at a path relative to the home.
  package func folder(at path: [UInt8]) -> HomeFolder? { places.first { $0.value == path }?.key }

  /// The longest configuration that is read.
  private static let longest = 64 << 10

  private static func configured(in home: borrowing Directory) -> [HomeFolder: [UInt8]?] {
    guard let file = try? home.openBeneath(".config/user-dirs.dirs", .nonBlocking),
      (try? file.status().kind) == .regular, let text = try? file.readAll(limit: longest)
    else { return [:] }
    return read(text, home: (try? home.canonicalPath()) ?? [])
  }

  /// The places in the text of `user-dirs.dirs`; nil for a folder whose place is none. `home` is the
  /// home's own path, which may stand in the place of `$HOME`.
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

  /// The relative path in a value such as `"$HOME/Documents"`; nil if it is no place for a folder.
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
    guard !base.isEmpty, path.starts(with: base), path.dropFirst(base.count).first == slash else { return nil }
    let components = path.dropFirst(base.count).split(separator: slash)
    guard !components.isEmpty, components.allSatisfy({ $0.first != UInt8(ascii: ".") }),
      let place = try? ArchivePath(Array(components.joined(separator: CollectionOfOne(slash))))
    else { return nil }
    return place.bytes
  }
}
