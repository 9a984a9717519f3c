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
    guard let program = try? Directory.open("/proc/self").readLink("exe") else { return nil }
    var folder = FileContent.split(program).directory
    let installed = folder + Array("/../share/peer/\(name)".utf8)
    if FileContent.isDirectory(installed) { return installed }
    while folder.count > 1 {
      let clone = folder + Array("/\(source)".utf8)
      if FileContent.isDirectory(clone) { return clone }
      folder = FileContent.split(folder).directory
    }
    return nil
  }
}
