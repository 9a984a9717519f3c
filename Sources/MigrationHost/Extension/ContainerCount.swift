import MigrationSystem
import MigrationWire

/// The number of items in an app's data: an estimate of the number of exported items, which only
/// the exporter knows.
enum ContainerCount {
  /// The most items that are counted, which takes a second or two.
  private static let most: UInt64 = 1_000_000

  /// Counts the container and the extension's groups, by names only.
  static func items(of site: ExtensionSite, isStopped: () -> Bool) -> UInt64 {
    var count: UInt64 = 0
    var pending = [site.container] + site.groups.values
    while let path = pending.popLast(), count < most, !isStopped() {
      guard let directory = try? Directory.open(path) else { continue }
      try? directory.forEachEntry { (name, kind) throws(SystemError) in
        count += 1
        // A file system that does not report types only makes the estimate worse.
        if kind == .directory { pending.append("\(path)/\(String(decoding: [UInt8](copying: name), as: UTF8.self))") }
        return true
      }
    }
    return count
  }
}
