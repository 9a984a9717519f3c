import MigrationApps
import MigrationSystem
import MigrationWire

/// The programs that this computer's packagers offer. A name from elsewhere enters a command only
/// if it has the packager's grammar, and the packager knows it.
struct PackageCatalogue {
  /// The folder of APT's lists of packages.
  let lists: [UInt8]
  /// Installations.
  let flatpaks: [[UInt8]]

  private static func isSmall(_ byte: UInt8) -> Bool { (97...122).contains(byte) || (48...57).contains(byte) }

  /// The packages among these that APT can install.
  func known(_ packages: Set<String>) -> Set<String> {
    var wanted = packages.filter(Part.isPackage)
    var known: Set<String> = []
    for name in names(in: lists) where name.hasSuffix("_Packages") && !wanted.isEmpty {
      guard let file = try? Directory.open(lists).openChild(Array(name.utf8)) else { continue }
      known.formUnion(Self.packages(of: wanted, in: file))
      wanted.subtract(known)
    }
    return known
  }

  private static let block = 1 << 20

  /// The packages among these that a list has; the list may be long.
  private static func packages(of wanted: Set<String>, in file: borrowing Descriptor) -> Set<String> {
    let mark = Array("Package: ".utf8)
    var found: Set<String> = []
    var bytes = [UInt8](repeating: 0, count: block)
    var rest: [UInt8] = []
    while let count = try? file.readNext(into: &bytes), count > 0 {
      rest += bytes[..<count]
      guard let end = rest.lastIndex(of: 10) else { continue }
      for line in rest[..<end].split(separator: 10) where line.starts(with: mark) {
        let name = String(decoding: line.dropFirst(mark.count), as: UTF8.self)
        if wanted.contains(name) { found.insert(name) }
      }
      rest.removeSubrange(...end)
    }
    return found
  }

  /// The remote from which a Flatpak can be installed; nil if none is known to have it.
  func remote(of flatpak: String) -> String? {
    guard Flatpaks.isIdentifier(flatpak) else { return nil }
    for installation in flatpaks {
      let remotes = installation + Array("/appstream".utf8)
      for remote in names(in: remotes) where Self.isRemote(remote) {
        let folder = remotes + Array("/\(remote)".utf8)
        for architecture in names(in: folder) {
          let icons = folder + Array("/\(architecture)/active/icons".utf8)
          for size in names(in: icons) {
            let icon = icons + Array("/\(size)/\(flatpak).png".utf8)
            if (try? Directory.status(of: icon)) != nil { return remote }
          }
        }
      }
    }
    return nil
  }

  private static func isRemote(_ name: String) -> Bool {
    name.utf8.first != 45 && name.utf8.allSatisfy { isSmall($0) || (65...90).contains($0) || "+-._".utf8.contains($0) }
  }

  private func names(in folder: [UInt8]) -> [String] {
    ((try? Directory.open(folder).names()) ?? []).map { String(decoding: $0, as: UTF8.self) }.sorted()
  }
}
