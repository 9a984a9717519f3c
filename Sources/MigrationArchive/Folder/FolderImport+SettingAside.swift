import MigrationSystem
import MigrationWire

/// Sets the existing data of an app aside before new data arrives there: all roots change together,
/// and a failure brings the old data back.
extension FolderImport {
  /// A root, and the name that the old entry of its place has now.
  typealias Changed = (item: Item, aside: ArchivePath?)

  /// Gives the entry with an item's name another one beside it, with the date: `NAME.before-2026-11-25`.
  /// Returns the name; nil if there is no entry any more.
  func setAside(_ item: Item) throws(ArchiveError) -> ArchivePath? {
    for number in 1...Self.besideNames {
      let suffix = ".before-\(CivilDate.text(Timestamp.coarseNow()))" + (number > 1 ? "-\(number)" : "")
      guard let aside = sibling(of: item.target, Array(item.target.name) + Array(suffix.utf8)) else { break }
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

  /// Gives the old entries their names again: where no new item is in place, or after a failure
  /// all of them. What cannot be brought back stays beside its place; another run continues from
  /// there.
  mutating func bringBack(_ changed: [Changed], afterFailure: Bool) {
    for (item, aside) in changed.reversed() {
      if (try? isStaged(item.path, item)) != true {
        guard afterFailure, (try? destination.takeBack(item.target, to: item.path)) != nil else { continue }
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
