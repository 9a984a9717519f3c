import MigrationArchive
import MigrationSystem
package import MigrationWire

/// The app's data container: HOME of the app and of its extension.
extension InstalledApp {
  /// Creates the missing parts of the container and of the groups' directories.
  package func prepareContainer() throws(Failure) {
    try files.makeDirectory(container)
    try files.unlock(container)
    for directory in ContainerContents.skeleton {
      // The app may have replaced it, for example with a link to another disk; that is kept.
      if try files.kind(of: "\(container)/\(directory)") == nil { try files.makeDirectory("\(container)/\(directory)") }
    }
    try files.unlock("\(container)/.config")
    try files.makeDirectory("statuses")
    for group in bundle.allGroups { try files.makeDirectory(PreferenceLink(group).directory) }
    try linkPreferences()
  }

  /// Whether there is any data: an item other than a directory, outside tmp, and not created by
  /// this program.
  package var holdsData: Bool {
    get throws(Failure) {
      guard let status = try files.status(of: container) else { return false }
      // A container that its owner has closed is not read, even by root.
      guard ContainerContents.isOpen(status), let root = try files.open(container) else { return true }
      let links = Set(try preferenceLinks().map(\.file))
      return try Failure.wrapping(
        .failed, "the container of \(identifier) cannot be examined",
        ContainerContents(ignoring: links).holdsData(root))
    }
  }

  /// Empties the container; durable when it returns. The groups keep their data.
  package func clearContainer() throws(Failure) {
    try empty()
    try sweepTrash()
  }

  /// Moves the container aside, and creates an empty one; durable when it returns.
  ///
  /// `settle` moves it back, unless an import has succeeded meanwhile.
  package func setContainerAside() throws(Failure) {
    if try files.kind(of: container) != nil { try files.move(container, to: replaced) }
    try prepareContainer()
  }

  /// Moves the old container back to its place, and removes the current one; durable when it
  /// returns.
  package func putContainerBack() throws(Failure) {
    try restore()
    try sweepTrash()
  }

  /// Empties the container; its contents are moved to the trash, and not removed yet.
  func empty() throws(Failure) {
    try discard(container)
    try prepareContainer()
  }

  /// Moves the old container back to its place; the current one is moved to the trash, and not
  /// removed yet.
  func restore() throws(Failure) {
    guard try files.kind(of: replaced) != nil else { return }
    try discard(container)
    // From now on the container at this place is the old one.
    if var mark = try importMark, !mark.isRestoring {
      mark.isRestoring = true
      try write(mark)
    }
    try files.move(replaced, to: container)
    try prepareContainer()
  }

  /// Moves an entry to the trash in one step. The next sweep removes it.
  func discard(_ place: String) throws(Failure) {
    guard try files.kind(of: place) != nil else { return }
    try files.move(place, to: "\(trash)/\(try Self.randomName())")
  }

  /// Empties the trash.
  func sweepTrash() throws(Failure) {
    try files.removeTree(trash)
  }

  static func randomName() throws(Failure) -> String {
    try Failure.wrapping(.failed, "no name can be generated", SystemRandom.bytes(8).hexadecimal)
  }
}

/// Looks for data in a container.
package struct ContainerContents {
  /// The initial contents of a container.
  static let skeleton = ["Documents", "Library/Application Support", "Library/Caches", "tmp", ".config"]

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

extension ContainerContents {
  /// A clause about the first of a container's own directories that an importer has replaced by a
  /// symbolic link which leads out of the container, or nowhere; nil if there is none. The clause
  /// can follow the importer's name.
  package static func strayLink(in container: String) -> String? {
    guard let root = try? Directory.open(container).canonicalPath() else { return nil }
    for place in ["Library"] + skeleton {
      let (parent, name) = FileContent.split(Array("\(container)/\(place)".utf8))
      guard let directory = try? Directory.open(parent), (try? directory.status(name).kind) == .symbolicLink
      else { continue }
      let target = try? Directory.open("\(container)/\(place)").canonicalPath()
      if target?.starts(with: root + [UInt8(ascii: "/")]) != true {
        return "has replaced '\(place)' of the container by a symbolic link that leads out of it"
      }
    }
    return nil
  }
}
