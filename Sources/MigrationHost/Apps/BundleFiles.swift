import MigrationSystem
import MigrationWire

/// The files of a bundle. None of them is reached through a link.
struct BundleFiles {
  let path: [UInt8]
  private let directory: SharedDirectory

  init(_ path: [UInt8]) throws(HostError) {
    self.path = path
    do {
      directory = SharedDirectory(try Directory.open(path))
    } catch {
      throw HostError(
        .source, "the bundle \(VisibleText.quoted(path)) cannot be opened",
        hint: "A bundle is a directory; check the path, and that you may read it.", name: path, cause: error)
    }
  }

  /// Records all entries that cannot be part of a bundle.
  func check(_ faults: BundleFaults) throws(HostError) {
    try BundleTree.check(directory, faults)
  }

  /// Copies the whole bundle into an empty directory.
  func copy(to target: SharedDirectory) throws(HostError) {
    try BundleTree.copy(directory, to: target)
  }

  /// A required property list.
  func properties(_ file: String) throws(HostError) -> BundleProperties {
    guard let properties = try propertiesIfThere(file) else { throw .bundle(file, "it is missing") }
    return properties
  }

  /// A property list; nil if there is no such file.
  func propertiesIfThere(_ file: String) throws(HostError) -> BundleProperties? {
    guard try kind(of: file) == .regular else { return nil }
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try directory.directory.openBeneath(file).readAll(limit: PropertyList.longestFile)
    } catch {
      throw .bundle(file, "it cannot be read: \(error.words)")
    }
    guard case .dictionary(let values) = PropertyList(bytes) else {
      throw .bundle(file, "it is not an XML or binary property list that contains a dictionary")
    }
    return BundleProperties(file: file, values: values)
  }

  /// The path in the bundle of the program that a property list names.
  func executable(_ info: BundleProperties, in folder: String) throws(HostError) -> [UInt8] {
    let key = "CFBundleExecutable"
    let name = try info.requiredText(key)
    guard !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != "..", name.utf8.count <= Limits.component else {
      throw info.fault(key, "\(VisibleText.quoted(name)) is not the name of a file next to it")
    }
    let file = folder + name
    guard let status = try status(of: file), status.kind == .regular else {
      throw info.fault(key, "there is no file \(VisibleText.quoted(name)) next to it")
    }
    // The mode bits and not this user's permission: the result is the same for every user.
    guard status.mode & 0o111 != 0 else {
      throw .bundle(file, "it is not executable", hint: "Make it executable, as with chmod +x.")
    }
    return Array(file.utf8)
  }

  /// The paths in the bundle of its extensions, sorted.
  func extensionFolders() throws(HostError) -> [String] {
    let hint = BundleExtensions.hint
    switch try kind(of: "Extensions") {
    case nil: return []
    case .directory: break
    default: throw .bundle("Extensions", "it is not a directory", hint: hint)
    }
    var names: [[UInt8]] = []
    let suffix = Array(".appex".utf8)
    do throws(SystemError) {
      try directory.directory.openDirectoryBeneath("Extensions").forEachEntry { (name, _) throws(SystemError) in
        let name = [UInt8](copying: name)
        if name.count > suffix.count, name.suffix(suffix.count) == suffix[...] { names.append(name) }
        return true
      }
    } catch {
      throw .bundle("Extensions", "it cannot be read: \(error.words)")
    }
    var folders: [String] = []
    for name in names {
      guard let text = String(validating: name, as: UTF8.self) else {
        throw .bundle("Extensions/".utf8 + name, "its name is not UTF-8")
      }
      guard try kind(of: "Extensions/\(text)") == .directory else {
        throw .bundle("Extensions/\(text)", "it is not a directory", hint: hint)
      }
      folders.append("Extensions/\(text)")
    }
    return folders.sorted()
  }

  private func kind(of file: String) throws(HostError) -> FileKind? { try status(of: file)?.kind }

  /// The entry at a path in the bundle; nil if there is none. A link on the way, or as the last
  /// component, is a fault.
  private func status(of file: String) throws(HostError) -> FileStatus? {
    let parts = file.utf8.split(separator: UInt8(ascii: "/")).map { [UInt8]($0) }
    do throws(SystemError) {
      var parent = SharedDirectory(try directory.directory.duplicate())
      for part in parts.dropLast() { parent = SharedDirectory(try parent.directory.openChildDirectory(part)) }
      let status = try parent.directory.status(parts[parts.count - 1])
      guard status.kind != .symbolicLink else { throw SystemError(reason: "it is a symbolic link", operation: "read") }
      return status
    } catch {
      if error.isNotFound { return nil }
      throw .bundle(file, error.words)
    }
  }
}
