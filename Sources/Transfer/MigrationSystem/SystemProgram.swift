/// A program of this system: it belongs to root, and only root can change it or put another one in its
/// place.
///
/// A process outside of a confinement starts no other program: the programs in its user's own
/// folders may have come from another device.
package struct SystemProgram: Equatable, Sendable {
  /// Absolute, without links.
  package let path: [UInt8]

  /// The folders where systems have the programs of all users, as text for `PATH`.
  private static let folders = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"]

  /// Looks for a program by its name; nil if the system has none.
  package init?(_ name: String) {
    self.init(name, in: Self.folders)
  }

  init?(_ name: String, in folders: [String]) {
    for folder in folders {
      guard let path = try? Self.path(of: Array("\(folder)/\(name)".utf8)) else { continue }
      self.path = path
      return
    }
    return nil
  }

  /// The path without links; nil unless it is root's alone.
  private static func path(of link: [UInt8]) throws(SystemError) -> [UInt8]? {
    let file = try Descriptor.openThroughLinks(link)
    let path = try Directory.open("/proc/self/fd").readLink(Array("\(file.raw)".utf8))
    let status = try file.status()
    guard status.kind == .regular, status.mode & 0o111 != 0, isRoots(status) else { return nil }
    var folder = FileContent.split(path).directory
    guard isRoots(try Directory.status(of: folder)) else { return nil }
    while folder.count > 1 {
      folder = FileContent.split(folder).directory
      guard isRoots(try Directory.status(of: folder), isAbove: true) else { return nil }
    }
    return path
  }

  /// Whether only root can change an item. Other users may add names to a folder above, if they
  /// cannot change root's names there.
  static func isRoots(_ status: FileStatus, isAbove: Bool = false) -> Bool {
    status.owner == 0 && (status.mode & 0o022 == 0 || isAbove && status.mode & 0o1000 != 0)
  }

  /// Runs it as `ChildProcess.run` does, with a PATH of this system.
  package func run(
    _ arguments: [String], environment: [String: String], input: consuming Descriptor? = nil, limit: Int,
    patience: Duration
  ) throws(SystemError) -> [UInt8] {
    let variables = environment.merging(["PATH": Self.folders.joined(separator: ":")]) { $1 }
    return try ChildProcess.run(
      String(decoding: path, as: UTF8.self), arguments, environment: variables, input: input, limit: limit,
      patience: patience)
  }
}
