import MigrationSystem
import MigrationWire

/// How many items an app's data has: the best guess at how many will be exported, since only the exporter knows.
enum ContainerCount {
  /// Counts at most so many, which takes a second or two.
  private static let most: UInt64 = 1_000_000

  /// What is in the container and in the extension's groups, by names alone.
  static func items(of site: ExtensionSite, isStopped: () -> Bool) -> UInt64 {
    var count: UInt64 = 0
    var pending = [site.container] + site.groups.values
    while let path = pending.popLast(), count < most, !isStopped() {
      guard let directory = try? Directory.open(path) else { continue }
      try? directory.forEachEntry { (name, kind) throws(SystemError) in
        count += 1
        // A file system that does not tell kinds makes the guess worse, and nothing else.
        if kind == .directory { pending.append("\(path)/\(String(decoding: [UInt8](copying: name), as: UTF8.self))") }
        return true
      }
    }
    return count
  }
}
