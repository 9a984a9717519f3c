import MigrationSystem

/// A folder of files that come with the program: beside the installed program, or in the clone that
/// it was built in.
enum ShippedFolder {
  /// The path; nil if there is none.
  ///
  /// - Parameters:
  ///   - name: its name below share/peer.
  ///   - source: its place in the project.
  static func find(_ name: String, source: String) -> [UInt8]? {
    guard let program = try? program() else { return nil }
    let folder = FileContent.split(program).directory
    let places =
      [folder + Array("/../share/peer/\(name)".utf8)] + ancestors(of: folder).map { $0 + Array("/\(source)".utf8) }
    return places.first { FileContent.isDirectory($0) }
  }

  /// The path of the running program, with links resolved.
  static func program() throws(SystemError) -> [UInt8] { try Directory.open("/proc/self").readLink("exe") }

  /// A folder and all folders above it, the nearest first.
  static func ancestors(of folder: [UInt8]) -> [[UInt8]] {
    var (all, folder) = ([folder], folder)
    while folder.count > 1 {
      folder = FileContent.split(folder).directory
      all.append(folder)
    }
    return all
  }
}
