package import MigrationSystem
import MigrationWire

/// Sets the existing data of an app aside before new data arrives there: all roots change together,
/// and a failure brings the old data back.
extension FolderImport {
  /// A root that is moved, or a folder that was set aside in a merge.
  struct Changed {
    let item: Item
    /// The present name of the old entry.
    let aside: ArchivePath?
    /// Whether the item, if it is not staged, lies at its place.
    var isOurs = true
    /// Whether the old entry was set aside, and does not have that name any more.
    var lacksOld = false
  }

  /// Gives the entry with an item's name another one beside it, with the date: `NAME.before-2026-11-25`.
  /// Returns the name; nil if there is no entry any more.
  func setAside(_ item: Item) throws(Failure) -> ArchivePath? {
    for number in 1...Self.besideNames {
      guard let aside = Self.aside(item.target, number) else { break }
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

  /// A name beside an old entry.
  private static func aside(_ target: ArchivePath, _ number: Int) -> ArchivePath? {
    let suffix = ".before-\(CivilDate.text(Timestamp.coarseNow()))" + (number > 1 ? "-\(number)" : "")
    let name = NewName.ending(target.name, in: Array(suffix.utf8))
    return try? target.parent?.appending(name.span) ?? ArchivePath(name)
  }

  /// The places of the old entries that have other names now, and these names.
  var setAside: [(place: ArchivePath, name: ArchivePath)] {
    changed.compactMap { change in
      // Another program may have taken it away meanwhile.
      change.aside.flatMap { (try? destination.occupant(at: $0)) == .some(nil) ? nil : (change.item.target, $0) }
    }
  }

  /// Gives the old entries their names back: those without a new item in place or, after a failure, all of
  /// them, unless others have changed arrived items. Returns a clause about the entries that cannot be
  /// brought back, and stay beside their places; nil if there are none. Another run continues from there.
  mutating func bringBack(afterFailure: Bool) -> String? {
    if afterFailure, let obstacle = obstacle() { return "\(obstacle.clause), so that nothing is brought back" }
    var clauses: [String] = []
    for change in changed.reversed() {
      let (item, aside, isOurs) = (change.item, change.aside, change.isOurs)
      do throws(SystemError) {
        if try destination.occupant(ofStaged: item.path) == nil {
          guard afterFailure else { continue }
          if isOurs { try destination.takeBack(item.target, to: item.path) }
        }
        if let aside { try destination.rename(aside, to: item.target) }
      } catch {
        // A run before has brought it back, or another program has taken it away.
        if error.isNotFound, aside.map({ (try? destination.occupant(at: $0)) == .some(nil) }) ?? true { continue }
        let names = aside.map { "\(VisibleText.quoted(item.target)), now \(VisibleText.quoted($0))," }
        clauses.append("\(names ?? VisibleText.quoted(item.target)) cannot be brought back: \(error.words)")
      }
    }
    return clauses.isEmpty ? nil : clauses.joined(separator: "; ")
  }

  // MARK: Giving up

  /// Undoes an import that has set old entries aside and is not complete, before its staged data is
  /// removed. Fails, and brings nothing back, if what is in place was touched since, or if the old entry
  /// is not beside it any more: it would go with the staged data.
  static func undo(_ transfer: TransferID, _ keys: TransferKeys, on disk: DirectoryDisk) throws(Failure) {
    do {
      let survey = try JournalSurvey(of: disk.journal, keys: keys, transfer: transfer)
      guard case .concluded(let total) = survey.stage, !survey.moving.isEmpty else { return }
      if !survey.asides.isEmpty {
        let offer = Offer(
          contents: .folders([]), items: total.items, bytes: total.bytes, allocated: total.bytes, flags: .estimated)
        let staging = try Staging.recover(from: disk, for: offer, transfer: transfer, keys: keys)
        var moves = FolderImport(staging, to: disk)
        try moves.noteEarlierChanges()
        if let (path, clause) = moves.obstacle() {
          throw Failure(
            .importFailed, "\(clause), and the new data would be lost", hint: DataHint.touchedHere.text,
            name: path.bytes)
        }
        if let left = moves.bringBack(afterFailure: true) { throw Failure(.importFailed, left) }
      }
      if survey.existing == .merge, disk.abilities.tellsEntriesApart { try keepDisplaced(survey.moving, on: disk) }
      try disk.synchronize()
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(.importFailed, "an import cannot be undone", cause: error as? SystemError)
    }
  }

  /// Takes files out of staging that an exchange has put there, and that no run has checked: a user
  /// may have saved data in such a file. It gets a name beside the newer one.
  private static func keepDisplaced(
    _ moving: [ArchivePath: Staging.Move], on disk: DirectoryDisk
  ) throws(SystemError) {
    for (path, move) in moving.sorted(by: { $0.key < $1.key }) {
      guard let displaced = try disk.occupant(ofStaged: path), displaced.inode != move.inode,
        displaced.kind != .directory
      else { continue }
      var number = 1
      while true {
        guard let aside = aside(move.target, number), number < besideNames else { throw .unsupported("name") }
        number += 1
        do throws(SystemError) {
          guard try disk.occupant(at: move.target)?.inode == move.inode else { break }
          try disk.move(path, to: aside)
          break
        } catch  where error.isAlreadyExisting {
          continue
        } catch  where error.isNotFound || error.isNotDirectory {
          // The folder has gone, and the newer version with it.
          break
        }
      }
    }
  }

  /// Why the new data has to stay where it is, and which; nil if it may go back to staging.
  private func obstacle() -> (path: ArchivePath, clause: String)? {
    for change in changed where change.isOurs {
      let place = VisibleText.quoted(change.item.target)
      do throws(SystemError) {
        guard try destination.occupant(ofStaged: change.item.path) == nil,
          try destination.occupant(at: change.item.target) != nil
        else { continue }
        if change.lacksOld {
          return (change.item.target, "the old data of \(place) is not beside it any more")
        }
        if let touched = try touched(change.item) {
          return (touched, "\(VisibleText.quoted(touched)) was changed here after it had arrived")
        }
      } catch {
        if error.isNotFound || error.isNotDirectory { continue }
        return (change.item.target, "\(place) cannot be looked at: \(error.words)")
      }
    }
    return nil
  }

  /// The path of an item, in a moved item, that was changed since the import began; nil if there is
  /// none. If that moment is unknown, the moved item counts as changed.
  private func touched(_ item: Item) throws(SystemError) -> ArchivePath? {
    guard let moment = staging.shared.withLock({ $0.importBegan }).map({ Timestamp($0) }) else { return item.target }
    let sent = (try? staging.directoryRecord(item.path))?.modified.map { Timestamp($0) }
    let moved = Set(staging.shared.withLock { $0.moving.values.map(\.inode) })
    var pending = [item.target]
    while let path = pending.popLast() {
      guard let there = try destination.occupant(at: path) else { continue }
      // A root was renamed, and got the time that came, behind that moment. It may have another name in here.
      let isRoot = path == item.target
      let last = isRoot || moved.contains(there.inode) ? there.modified : there.changed
      guard let last, last <= moment || isRoot && last == sent else { return path }
      guard there.kind == .directory else { continue }
      for name in try destination.names(in: path) ?? [] {
        guard let child = try? path.appending(name.span) else { return path }
        pending.append(child)
      }
    }
    return nil
  }
}

/// A day, as people write it.
package enum CivilDate {
  /// The day of a moment in UTC: `2026-11-25`.
  package static func text(_ moment: Timestamp) -> String {
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
