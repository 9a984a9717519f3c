import MigrationSystem
import MigrationWire

/// The files that an exporter has left in its scratch directory. Small files are the purpose of the
/// directory; a copy of the data takes space that the old device may not have.
struct ScratchGrowth: Equatable {
  /// The size up to which no notice is due: 1 MiB on the disk.
  static let unremarkable: UInt64 = 1 << 20
  /// The most items that are counted, which takes less than a second.
  private static let most: UInt64 = 100_000

  private(set) var items: UInt64 = 0
  /// On the disk.
  private(set) var bytes: UInt64 = 0

  /// Counts the contents of a directory.
  init(beneath path: String) {
    var pending = [Array(path.utf8)]
    while let path = pending.popLast(), items < Self.most {
      guard let directory = try? Directory.open(path) else { continue }
      try? directory.forEachEntry { (name, _) throws(SystemError) in
        let name = [UInt8](copying: name)
        let status = try directory.status(name)
        items += 1
        bytes += UInt64(max(0, status.allocatedBytes))
        if status.kind == .directory { pending.append(path + [UInt8(ascii: "/")] + name) }
        return items < Self.most
      }
    }
  }

  /// A notice for the author; nil if none is due.
  func notice(of app: String) -> String? {
    guard bytes > Self.unremarkable else { return nil }
    return
      "the extension of \(app) has left \(ReadableNumber.count(items, "item")) in its temporary directory, "
      + "\(ReadableNumber.size(bytes)): files that are appended unchanged need no copy"
  }
}
