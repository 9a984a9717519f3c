import MigrationSystem
import MigrationWire

/// Looks for data in a container.
struct ContainerContents {
  /// Deeper nesting of empty directories is intentional, and counts as data.
  private static let deepest = 100

  /// Ignored paths.
  private let ignored: Set<String>

  init(ignoring ignored: Set<String>) { self.ignored = ignored }

  /// Whether an item is a directory that its owner may list. Root also stops at closed directories.
  static func isOpen(_ status: FileStatus) -> Bool { status.kind == .directory && status.mode & 0o500 == 0o500 }

  /// Whether there is any item other than directories, not counting `tmp`.
  func holdsData(_ root: SharedDirectory) throws(SystemError) -> Bool {
    try holdsData(root, path: "", depth: 0)
  }

  private func holdsData(_ directory: SharedDirectory, path: String, depth: Int) throws(SystemError) -> Bool {
    guard depth <= Self.deepest else { return true }
    var directories: [[UInt8]] = []
    var isFound = false
    try directory.directory.forEachEntry { (name, kind) throws(SystemError) in
      let name = [UInt8](copying: name)
      let place = path + String(decoding: name, as: UTF8.self)
      if place == "tmp" || ignored.contains(place) { return true }
      var kind = kind
      if kind == nil { kind = try directory.directory.status(name).kind }
      if kind == .directory {
        directories.append(name)
      } else {
        isFound = true
      }
      return !isFound
    }
    if isFound { return true }
    for name in directories {
      guard try Self.isOpen(directory.directory.status(name)) else { return true }
      let child = SharedDirectory(try directory.directory.openChildDirectory(name))
      let place = path + String(decoding: name, as: UTF8.self) + "/"
      if try holdsData(child, path: place, depth: depth + 1) { return true }
    }
    return false
  }
}
