package import MigrationArchive
import MigrationSystem

extension Selection {
  /// Leaves out the records of a store, if a source contains them: this run changes them until its end,
  /// and another device with the same keys would pass for this one.
  ///
  /// - Parameter others: more names of a program's own in the same folder.
  package mutating func leaveOut(recordsIn home: [UInt8], besides others: [[UInt8]] = [], of sources: [[UInt8]]) {
    guard let home = try? Directory.open(home).canonicalPath() else { return }
    for source in sources {
      guard let place = try? Directory.open(source).canonicalPath(), let root = try? SourceRoot(path: source),
        home == place || home.starts(with: place + Array("/".utf8))
      else { continue }
      let inside = root.name + home.dropFirst(place.count) + Array("/".utf8)
      for entry in TransferStore.entries + others { leaveOut(inside + entry) }
    }
  }
}
