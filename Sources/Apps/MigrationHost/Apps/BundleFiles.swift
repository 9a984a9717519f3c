import MigrationArchive
import MigrationSystem
import MigrationWire

/// The files of a bundle. None of them is reached through a link.
struct BundleFiles {
  let path: [UInt8]
  private let directory: SharedDirectory

  init(_ path: [UInt8]) throws(Failure) {
    self.path = path
    do {
      directory = SharedDirectory(try Directory.open(path))
    } catch {
      throw Failure(
        .source, "the bundle \(VisibleText.quoted(path)) cannot be opened",
        hint: "A bundle is a directory; check the path, and that you may read it.", name: path, cause: error)
    }
  }

  /// A required property list.
  func properties(_ file: String) throws(Failure) -> BundleProperties {
    guard let properties = try propertiesIfThere(file) else { throw .bundle(file, "it is missing") }
    return properties
  }

  /// A property list; nil if there is no such file.
  func propertiesIfThere(_ file: String) throws(Failure) -> BundleProperties? {
    guard try kind(of: file) == .regular else { return nil }
    let bytes = try SystemError.mapped(directory.directory.openBeneath(file).readAll(limit: PropertyList.longestFile)) {
      Failure.bundle(file, "it cannot be read: \($0.words)")
    }
    guard case .dictionary(let values) = PropertyList(bytes) else {
      throw .bundle(file, "it is not an XML or binary property list that contains a dictionary")
    }
    return BundleProperties(file: file, values: values)
  }

  /// The path in the bundle of the program that a property list names; nil without the list.
  func executable(_ info: BundleProperties?, in folder: String) throws(Failure) -> [UInt8]? {
    guard let info else { return nil }
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
  func extensionFolders() throws(Failure) -> [String] {
    let hint = Self.extensionHint
    switch try kind(of: "Extensions") {
    case nil: return []
    case .directory: break
    default: throw .bundle("Extensions", "it is not a directory", hint: hint)
    }
    let suffix = Array(".appex".utf8)
    let names = try SystemError.mapped(directory.directory.openDirectoryBeneath("Extensions").names()) {
      Failure.bundle("Extensions", "it cannot be read: \($0.words)")
    }
    var folders: [String] = []
    for name in names where name.count > suffix.count && name.suffix(suffix.count) == suffix[...] {
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

  private func kind(of file: String) throws(Failure) -> FileKind? { try status(of: file)?.kind }

  /// The entry at a path in the bundle; nil if there is none. A link on the way, or as the last
  /// component, is a fault.
  private func status(of file: String) throws(Failure) -> FileStatus? {
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

/// The contents of a bundle: checked, and copied.
///
/// A bundle contains directories, files, and symbolic links that stay inside it; all other types
/// are refused.
extension BundleFiles {
  /// The deepest nesting of directories: deeper nesting is a mistake, such as a bundle that
  /// contains its own installation.
  private static let deepest = 64
  private static let directoryMode: UInt32 = 0o755
  /// The part of a file that is in memory at a time.
  private static let chunk = 256 << 10

  /// Records all entries that cannot be part of a bundle.
  func check(_ faults: BundleProperties.Faults) throws(Failure) {
    try faults.noting(Self.walk(directory, to: nil, path: [], faults))
  }

  /// Copies the bundle into an empty directory: modes become 0755 or 0644, links are kept, and times
  /// are new.
  func copy(to copy: SharedDirectory) throws(Failure) {
    try Self.walk(directory, to: copy, path: [], nil)
  }

  /// Without a list for faults, the first fault ends the walk.
  private static func walk(
    _ directory: SharedDirectory, to copy: SharedDirectory?, path: [[UInt8]], _ faults: BundleProperties.Faults?
  ) throws(Failure) {
    guard path.count <= deepest else { throw fault(path, "it is more than \(deepest) directories deep") }
    for name in try names(directory, path) {
      let step = { () throws(Failure) in try take(name, of: directory, to: copy, path: path, faults) }
      if let faults { try faults.noting(step()) } else { try step() }
    }
  }

  private static func take(
    _ name: [UInt8], of directory: SharedDirectory, to copy: SharedDirectory?, path: [[UInt8]],
    _ faults: BundleProperties.Faults?
  ) throws(Failure) {
    let place = path + [name]
    switch try reading(place, { () throws(SystemError) in try directory.directory.status(name).kind }) {
    case .directory:
      let child = try reading(place) { () throws(SystemError) in
        SharedDirectory(try directory.directory.openChildDirectory(name))
      }
      try walk(
        child, to: try copy.map { copy throws(Failure) in try makeDirectory(name, in: copy) }, path: place, faults)
    case .regular:
      if let copy { try copyFile(name, from: directory, to: copy, place) }
    case .symbolicLink:
      let target = try reading(place) { () throws(SystemError) in try directory.directory.readLink(name) }
      guard staysInside(target, depth: path.count) else {
        throw fault(
          place, "the symbolic link points to \(VisibleText.quoted(target)), which may be outside the bundle",
          hint: "A link in a bundle has a relative target that stays inside it, with \"..\" only at its start.")
      }
      if let copy {
        try writing { () throws(SystemError) in try copy.directory.makeSymbolicLink(name, target: target) }
      }
    case .fifo: throw fault(place, "it is a named pipe", hint: strayHint)
    case .socket: throw fault(place, "it is a socket", hint: strayHint)
    case .blockDevice, .characterDevice: throw fault(place, "it is a device", hint: strayHint)
    }
  }

  private static func names(_ directory: SharedDirectory, _ path: [[UInt8]]) throws(Failure) -> [[UInt8]] {
    try reading(path) { () throws(SystemError) in try directory.directory.names() }.sorted {
      $0.lexicographicallyPrecedes($1)
    }
  }

  private static let strayHint = "A bundle holds directories, files and symbolic links; remove it."

  /// Whether a link at some depth points inside the bundle, through any other links: each of them
  /// goes up first and then only down, and so does their combination.
  private static func staysInside(_ target: [UInt8], depth: Int) -> Bool {
    guard target.first != UInt8(ascii: "/") else { return false }
    var up = 0
    var isGoingDown = false
    for part in target.split(separator: UInt8(ascii: "/")) where part != Array(".".utf8)[...] {
      guard part == Array("..".utf8)[...] else {
        isGoingDown = true
        continue
      }
      up += 1
      if isGoingDown || up > depth { return false }
    }
    return true
  }

  private static func makeDirectory(_ name: [UInt8], in copy: SharedDirectory) throws(Failure) -> SharedDirectory {
    try writing { () throws(SystemError) in
      try copy.directory.makeDirectory(name)
      let made = SharedDirectory(try copy.directory.openChildDirectory(name))
      try made.directory.descriptor.setMode(directoryMode)
      return made
    }
  }

  private static func copyFile(
    _ name: [UInt8], from directory: SharedDirectory, to copy: SharedDirectory, _ place: [[UInt8]]
  ) throws(Failure) {
    let source = try reading(place) { () throws(SystemError) in
      SharedDescriptor(try directory.directory.openChild(name))
    }
    let status = try reading(place) { () throws(SystemError) in try source.descriptor.status() }
    let target = try writing { () throws(SystemError) in SharedDescriptor(try copy.directory.createFile(name)) }
    var buffer = [UInt8](repeating: 0, count: chunk)
    var offset: Int64 = 0
    while true {
      let count = try reading(place) { () throws(SystemError) in
        try source.descriptor.readFully(at: offset, into: &buffer)
      }
      try writing { () throws(SystemError) in
        try target.descriptor.write(at: offset, buffer.span.extracting(0..<count))
      }
      offset += Int64(count)
      if count < chunk { break }
    }
    try writing { () throws(SystemError) in
      try target.descriptor.setMode(status.mode & 0o111 != 0 ? 0o755 : 0o644)
    }
  }

  private static func reading<Result>(
    _ place: [[UInt8]], _ body: () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    try SystemError.mapped(body()) { fault(place, "it cannot be read: \($0.words)") }
  }

  private static func writing<Result>(_ body: () throws(SystemError) -> Result) throws(Failure) -> Result {
    try Failure.wrapping(.failed, "the bundle cannot be copied", body())
  }

  private static func fault(_ place: [[UInt8]], _ reason: String, hint: String? = nil) -> Failure {
    .bundle(place.isEmpty ? Array(".".utf8) : Array(place.joined(separator: [UInt8(ascii: "/")])), reason, hint: hint)
  }
}
