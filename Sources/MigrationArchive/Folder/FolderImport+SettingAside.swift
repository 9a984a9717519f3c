package import MigrationSystem
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
      let name = ListedNames.ending(item.target.name, in: Array(suffix.utf8))
      guard let aside = sibling(of: item.target, name) else { break }
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
  mutating func noteEarlierChanges() throws(ArchiveError) {
    let (moves, asides) = staging.shared.withLock { ($0.moving, $0.asides) }
    for (path, move) in moves.sorted(by: { $0.key < $1.key }) {
      var old: ArchivePath?
      if let aside = asides[path], let there = try occupant(at: aside.target, for: path),
        there.inode == aside.inode || !tellsEntriesApart
      {
        old = aside.target
      }
      guard old != nil || existing == .setAside && path.parent == nil else { continue }
      let there = try occupant(at: move.target, for: path)
      let isOurs = if let there { try hasMoved(path, move, there) } else { false }
      changed.append((Item(path: path, target: move.target, kind: .directory), old, isOurs))
    }
  }

  private func occupant(at target: ArchivePath, for path: ArchivePath) throws(ArchiveError) -> ExistingEntry? {
    try importing(path) { () throws(SystemError) in
      do throws(SystemError) {
        return try destination.occupant(at: target)
      } catch  where error.isNotFound || error.isNotDirectory {
        return nil
      }
    }
  }

  /// The places of the old entries that have other names now, and these names.
  var setAside: [(place: ArchivePath, name: ArchivePath)] {
    changed.compactMap { item, aside, _ in
      // Another program may have taken it away meanwhile.
      aside.flatMap { (try? destination.occupant(at: $0)) == .some(nil) ? nil : (item.target, $0) }
    }
  }

  /// Gives the old entries their names again: where no new item is in place, or after a failure
  /// all of them. Returns a clause about what cannot be brought back, and stays beside its place; nil
  /// if that is nothing. Another run continues from there.
  mutating func bringBack(afterFailure: Bool) -> String? {
    var clauses: [String] = []
    for (item, aside, isOurs) in changed.reversed() {
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
  /// removed. Fails, and changes nothing, if what is in place was touched since: it would go with the
  /// staged data.
  static func undo(_ transfer: TransferID, _ keys: TransferKeys, on disk: DirectoryDisk) throws(ArchiveError) {
    do {
      let survey = try JournalSurvey(of: disk.journal, keys: keys, transfer: transfer)
      guard case .concluded(let total) = survey.stage, !survey.asides.isEmpty else { return }
      let offer = Offer(
        contents: .folders([]), items: total.items, bytes: total.bytes, allocated: total.bytes, flags: .estimated)
      let staging = try Staging.recover(from: disk, for: offer, transfer: transfer, keys: keys)
      var moves = FolderImport(staging, to: disk)
      try moves.noteEarlierChanges()
      if let touched = try moves.touched() {
        throw ArchiveError(
          .importFailed, "\(VisibleText.quoted(touched)) was changed here after it had arrived, and would be lost",
          hint: DataHint.touchedHere.text,
          name: touched.bytes)
      }
      if let left = moves.bringBack(afterFailure: true) { throw ArchiveError(.importFailed, left) }
      try disk.synchronize()
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(.importFailed, "an import cannot be undone", cause: error as? SystemError)
    }
  }

  /// Something that arrived at the place of an old entry, and was changed after that had been set
  /// aside; nil if nothing was. The old entry has the time of its last renaming.
  private func touched() throws(SystemError) -> ArchivePath? {
    var times: [ArchivePath: Timestamp] = [:]
    for case (let item, let aside?, _) in changed { times[item.path] = try destination.occupant(at: aside)?.changed }
    for case (let item, _, true) in changed {
      guard let moved = times[item.path] ?? times.values.min() else { continue }
      var pending = [item.target]
      while let path = pending.popLast() {
        guard let there = try destination.occupant(at: path) else { continue }
        // The renaming itself is the last change of a root.
        let last = path == item.target ? there.modified : there.changed
        guard let last, last <= moved else { return path }
        guard there.kind == .directory else { continue }
        for name in try destination.names(in: path) ?? [] {
          guard let child = try? path.appending(name.span) else { return path }
          pending.append(child)
        }
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
