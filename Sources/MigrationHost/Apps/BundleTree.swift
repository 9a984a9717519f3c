import MigrationSystem
import MigrationWire

/// The contents of a bundle: checked, and copied.
///
/// A bundle contains directories, files, and symbolic links that stay inside it; all other types
/// are refused.
enum BundleTree {
  /// The deepest nesting of directories: deeper nesting is a mistake, such as a bundle that
  /// contains its own installation.
  private static let deepest = 64
  private static let directoryMode: UInt32 = 0o755
  /// The part of a file that is in memory at a time.
  private static let chunk = 256 << 10

  /// An item in a bundle.
  private enum Item {
    case directory
    case file
    case link(target: [UInt8])
  }

  /// Records all entries that cannot be part of a bundle.
  static func check(_ bundle: SharedDirectory, _ faults: BundleFaults) throws(HostError) {
    _ = try faults.noting { () throws(HostError) in try walk(bundle, to: nil, path: [], faults) }
  }

  /// Copies a bundle into an empty directory: modes become 0755 or 0644, links are kept, and times
  /// are new.
  static func copy(_ bundle: SharedDirectory, to copy: SharedDirectory) throws(HostError) {
    try walk(bundle, to: copy, path: [], nil)
  }

  /// Without a list for faults, the first fault ends the walk.
  private static func walk(
    _ directory: SharedDirectory, to copy: SharedDirectory?, path: [[UInt8]], _ faults: BundleFaults?
  ) throws(HostError) {
    guard path.count <= deepest else { throw fault(path, "it is more than \(deepest) directories deep") }
    for name in try names(directory, path) {
      let step = { () throws(HostError) in try take(name, of: directory, to: copy, path: path, faults) }
      if let faults { _ = try faults.noting(step) } else { try step() }
    }
  }

  private static func take(
    _ name: [UInt8], of directory: SharedDirectory, to copy: SharedDirectory?, path: [[UInt8]], _ faults: BundleFaults?
  ) throws(HostError) {
    let place = path + [name]
    switch try item(name, in: directory, place) {
    case .directory:
      let child = try reading(place) { () throws(SystemError) in
        SharedDirectory(try directory.directory.openChildDirectory(name))
      }
      try walk(
        child, to: try copy.map { copy throws(HostError) in try makeDirectory(name, in: copy) }, path: place, faults)
    case .file:
      if let copy { try copyFile(name, from: directory, to: copy, place) }
    case .link(let target):
      guard staysInside(target, depth: path.count) else {
        throw fault(
          place, "the symbolic link points to \(VisibleText.quoted(target)), which may be outside the bundle",
          hint: "A link in a bundle has a relative target that stays inside it, with \"..\" only at its start.")
      }
      if let copy {
        try writing { () throws(SystemError) in try copy.directory.makeSymbolicLink(name, target: target) }
      }
    }
  }

  private static func names(_ directory: SharedDirectory, _ path: [[UInt8]]) throws(HostError) -> [[UInt8]] {
    var names: [[UInt8]] = []
    try reading(path) { () throws(SystemError) in
      try directory.directory.forEachEntry { (name, _) throws(SystemError) in
        names.append([UInt8](copying: name))
        return true
      }
    }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }

  private static func item(
    _ name: [UInt8], in directory: SharedDirectory, _ place: [[UInt8]]
  ) throws(HostError) -> Item {
    let kind = try reading(place) { () throws(SystemError) in try directory.directory.status(name).kind }
    switch kind {
    case .directory: return .directory
    case .regular: return .file
    case .symbolicLink:
      return .link(target: try reading(place) { () throws(SystemError) in try directory.directory.readLink(name) })
    case .fifo: throw fault(place, "it is a named pipe", hint: strayHint)
    case .socket: throw fault(place, "it is a socket", hint: strayHint)
    case .blockDevice, .characterDevice: throw fault(place, "it is a device", hint: strayHint)
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

  private static func makeDirectory(_ name: [UInt8], in copy: SharedDirectory) throws(HostError) -> SharedDirectory {
    try writing { () throws(SystemError) in
      try copy.directory.makeDirectory(name)
      let made = SharedDirectory(try copy.directory.openChildDirectory(name))
      try made.directory.descriptor.setMode(directoryMode)
      return made
    }
  }

  private static func copyFile(
    _ name: [UInt8], from directory: SharedDirectory, to copy: SharedDirectory, _ place: [[UInt8]]
  ) throws(HostError) {
    // A named pipe that has replaced the file meanwhile does not block.
    let source = try reading(place) { () throws(SystemError) in
      SharedDescriptor(try directory.directory.openChild(name, .nonBlocking))
    }
    let status = try reading(place) { () throws(SystemError) in try source.descriptor.status() }
    guard status.kind == .regular else { throw fault(place, "it changed while it was copied") }
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
  ) throws(HostError) -> Result {
    do {
      return try body()
    } catch {
      throw fault(place, "it cannot be read: \(error.words)")
    }
  }

  private static func writing<Result>(_ body: () throws(SystemError) -> Result) throws(HostError) -> Result {
    try HostError.wrapping(.storage, "the bundle cannot be copied", body)
  }

  private static func fault(_ place: [[UInt8]], _ reason: String, hint: String? = nil) -> HostError {
    .bundle(place.isEmpty ? Array(".".utf8) : Array(place.joined(separator: [UInt8(ascii: "/")])), reason, hint: hint)
  }
}
