import MigrationSystem
import MigrationWire

/// Sets the existing data of an app aside before new data arrives there: all roots change together,
/// and a failure brings the old data back.
extension FolderImport {
  /// A root, the name that the old entry of its place has now, and whether the root has that place if
  /// it is not staged.
  typealias Changed = (item: Item, aside: ArchivePath?, isOurs: Bool)

  /// Gives the entry with an item's name another one beside it, with the date: `NAME.before-2026-11-25`.
  /// Returns the name; nil if there is no entry any more.
  func setAside(_ item: Item) throws(ArchiveError) -> ArchivePath? {
    for number in 1...Self.besideNames {
      let suffix = ".before-\(CivilDate.text(Timestamp.coarseNow()))" + (number > 1 ? "-\(number)" : "")
      guard let aside = sibling(of: item.target, Array(item.target.name) + Array(suffix.utf8)) else { break }
      let old = try importing(item.path) { () throws(SystemError) in try destination.occupant(at: item.target) }
      guard let old else { return nil }
      if try importing(item.path, { () throws(SystemError) in try destination.occupant(at: aside) }) != nil { continue }
      try journal([.aside(item.path, inode: old.inode, at: aside)])
      do {
        try destination.rename(item.target, to: aside)
        return aside
      } catch {
        if error.isNotFound { return nil }
        guard error.isAlreadyExisting else { throw failed(item.path, error) }
      }
    }
    throw noNameLeft(for: item)
  }

  /// Notes what an import before this one has moved, and set aside, and not brought back.
  mutating func noteEarlierChanges() {
    let (moves, asides) = staging.shared.withLock { ($0.moving, $0.asides) }
    for (path, move) in moves.sorted(by: { $0.key < $1.key }) {
      let old = asides[path].flatMap { aside -> ArchivePath? in
        guard let there = try? destination.occupant(at: aside.target) else { return nil }
        return there.inode == aside.inode || !tellsEntriesApart ? aside.target : nil
      }
      guard old != nil || existing == .setAside && path.parent == nil else { continue }
      let there = try? destination.occupant(at: move.target)
      let isOurs = there.map { (try? hasMoved(path, move, $0)) == true } ?? false
      changed.append((Item(path: path, target: move.target, kind: .directory), old, isOurs))
    }
  }

  /// Gives the old entries their names again: where no new item is in place, or after a failure
  /// all of them. What cannot be brought back stays beside its place; another run continues from
  /// there.
  mutating func bringBack(afterFailure: Bool) {
    for (item, aside, isOurs) in changed.reversed() {
      if (try? isStaged(item.path, item)) != true {
        guard afterFailure, !isOurs || (try? destination.takeBack(item.target, to: item.path)) != nil else { continue }
      }
      if let aside { try? destination.rename(aside, to: item.target) }
    }
  }
}

/// A day, as people write it.
enum CivilDate {
  /// The day of a moment in UTC: `2026-11-25`.
  static func text(_ moment: Timestamp) -> String {
    // The days since 1 March of the year 0: a leap day is the last one of its year.
    let days = Int((Double(moment.seconds) / 86_400).rounded(.down)) + 719_468
    let era = days / 146_097
    let day = days % 146_097
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let dayOfYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * dayOfYear + 2) / 153
    let (number, isNext) = (month < 10 ? month + 3 : month - 9, month >= 10)
    return [year + era * 400 + (isNext ? 1 : 0), number, dayOfYear - (153 * month + 2) / 5 + 1]
      .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: "-")
  }
}
