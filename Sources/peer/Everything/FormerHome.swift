import MigrationHost
import MigrationSystem

extension EverythingOptions {
  /// The path that a home from another computer had there.
  enum FormerHome {
    private static let list = Array("etc/passwd".utf8)
    private static let longest = 1 << 20

    /// The path that a home had there, as the list of users says that is on the same disk: of the
    /// directories above, that with a list in which the rest of the path is the home of a user. Nil if there is none.
    static func path(of home: [UInt8]) -> [UInt8]? {
      var directory = home
      while directory.count > 1 {
        directory = FileContent.split(directory).directory
        let rest = directory == [UInt8(ascii: "/")] ? home : Array(home.dropFirst(directory.count))
        if homes(below: directory).contains(rest) { return rest }
      }
      return nil
    }

    /// The homes of the users whom the list of a disk names, or of this system. Links on it lead into
    /// this system, and are not followed.
    static func homes(below directory: [UInt8]) -> Set<[UInt8]> {
      guard let disk = try? Directory.open(directory),
        let folder = try? disk.openDirectoryBeneath(FileContent.split(list).directory),
        let content = try? folder.openChild(FileContent.split(list).name).readAll(limit: longest)
      else { return [] }
      return Set(
        content.split(separator: UInt8(ascii: "\n")).compactMap { line in
          let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
          return fields.count == 7 ? Array(fields[5]) : nil
        })
    }
  }
}
