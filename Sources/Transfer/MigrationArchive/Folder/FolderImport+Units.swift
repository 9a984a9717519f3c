import MigrationSystem
import MigrationWire

/// Imports each unit whole (Protocol §6.4): unchanged if no item of it exists, not at all if it
/// equals the existing unit, and otherwise under a new name.
extension FolderImport {
  /// The staged members of a unit of files in one directory, and their fates.
  struct StagedUnit {
    fileprivate var members: [Item] = []
    fileprivate var fates: [ArchivePath: Fate] = [:]
  }

  /// The units in one directory, by the names of their files.
  struct StagedUnits {
    fileprivate var all: [[UInt8]: StagedUnit] = [:]
    fileprivate var bases: [ArchivePath: [UInt8]] = [:]

    /// Treats an item as the member of no unit.
    mutating func release(_ path: ArchivePath) { bases[path] = nil }
  }

  // MARK: Files and their sidecar files

  /// Gives the sidecar files of a file that is about to be replaced other names, if they have not come with
  /// it: a database would take them for its own.
  mutating func renameSidecars(of item: Item, at target: ArchivePath) throws(Failure) {
    for (own, name) in zip(ItemUnit.sidecars(of: item.path.name), ItemUnit.sidecars(of: target.name)) {
      guard let path = sibling(of: item.path, own), let there = sibling(of: target, name), try !isOfArchive(path),
        case .found(let entry) = try look(at: there, for: item.path), entry.kind == .regular
      else { continue }
      for number in 2...Self.besideNames {
        let free = NewName.numbered(there.name, isDirectory: false, number: number)
        guard let aside = sibling(of: there, free) else { break }
        guard case .free = try look(at: aside, for: item.path) else { continue }
        try importing(item.path) { () throws(SystemError) in try destination.rename(there, to: aside) }
        arrived?.noteAside(aside)
        break
      }
    }
  }

  /// Finds the units among the staged items of a directory: some of their files may be at the
  /// destination.
  mutating func findUnits(among items: [Item], in target: ArchivePath?) throws(Failure) {
    units = StagedUnits()
    let files = items.filter { $0.kind != .directory }
    guard existing == .merge, places == nil || target != nil, let first = files.first else { return }
    let names = try importing(first.path) { () throws(SystemError) in try destination.names(in: target) } ?? []
    let staged = Set(files.map { Array($0.target.name) })
    let all = staged.union(names.filter { ItemUnit.base(of: $0[...]) != nil })
    let bases = Set(all.compactMap { ItemUnit.base(of: $0[...]).map { Array($0) } })
      .filter { staged.contains($0) || names.contains($0) }
    guard !bases.isEmpty else { return }
    for item in files {
      let name = Array(item.target.name)
      guard
        let base = [ItemUnit.base(of: name[...]).map { Array($0) }, name].compactMap(\.self).first(
          where: bases.contains)
      else { continue }
      units.bases[item.path] = base
      units.all[base, default: StagedUnit()].members.append(item)
    }
  }

  /// The fate of an item as a member of a unit; nil if it belongs to none.
  mutating func fateInUnit(of item: Item) throws(Failure) -> Fate? {
    guard let base = units.bases[item.path], let unit = units.all[base] else { return nil }
    if let fate = unit.fates[item.path] { return fate }
    let fates = try fates(of: unit.members, base, beside: item)
    // Before the first of them is moved: a later run must not take the rest for another unit.
    try announce(fates.compactMap { path, fate in fate.target.map { (path, $0) } })
    units.all[base]?.fates = fates
    return fates[item.path]
  }

  private func fates(
    of members: [Item], _ base: [UInt8], beside item: Item
  ) throws(Failure) -> [ArchivePath: Fate] {
    if let begun = try begunFates(of: members) { return begun }
    if areUnchanged(members), !members.contains(where: isWantedAgain) {
      return Dictionary(uniqueKeysWithValues: members.map { ($0.path, .isKnown) })
    }
    let names = [base] + ItemUnit.sidecars(of: base[...])
    if try areFree(names, beside: item, isNew: false) {
      return Dictionary(uniqueKeysWithValues: members.map { ($0.path, .arrives(at: $0.target)) })
    }
    if members.allSatisfy(isPresent) {
      return Dictionary(uniqueKeysWithValues: members.map { ($0.path, .isPresent(at: $0.target, nil)) })
    }
    for number in 2...Self.besideNames {
      let numbered = NewName.numbered(
        base[...], isDirectory: false, number: number, leaving: ItemUnit.longestEnding)
      let names = [numbered] + ItemUnit.sidecars(of: numbered[...])
      let beside = members.compactMap { member in
        sibling(of: member.target, numbered + member.target.name.dropFirst(base.count)).map { member.renamed($0) }
      }
      if beside.allSatisfy(isCopy) {
        return Dictionary(uniqueKeysWithValues: beside.map { ($0.path, .isPresent(at: $0.target, nil)) })
      }
      guard beside.allSatisfy({ isTaken($0, at: $0.target) }), try areFree(names, beside: item, isNew: true) else {
        continue
      }
      return Dictionary(uniqueKeysWithValues: beside.map { ($0.path, .arrives(at: $0.target)) })
    }
    throw noNameLeft(for: item)
  }

  /// The fates that a run before has decided on and begun with.
  private func begunFates(of members: [Item]) throws(Failure) -> [ArchivePath: Fate]? {
    let moves = staging.shared.withLock { shared in members.map { shared.moving[$0.path] } }
    var fates: [ArchivePath: Fate] = [:]
    for (member, move) in zip(members, moves) {
      guard let move, case .free = try look(at: move.target, for: member.path) else { return nil }
      fates[member.path] = .arrives(at: move.target)
    }
    return fates
  }

  /// Whether names next to an item are free, and for new ones, no staged item has them. A name that
  /// cannot exist is free.
  private func areFree(_ names: [[UInt8]], beside item: Item, isNew: Bool) throws(Failure) -> Bool {
    for name in names {
      if let target = sibling(of: item.target, name), case .found = try look(at: target, for: item.path) {
        return false
      }
      if isNew, let path = sibling(of: item.path, name), try isStaged(path, item) { return false }
    }
    return true
  }

  // MARK: Folders

  /// Whether a directory on both sides is under version control on one of them.
  func isWhole(_ directory: Item) throws(Failure) -> Bool {
    for name in ItemUnit.repositoryNames {
      if let path = try? directory.path.appending(name.span), try isStaged(path, directory) { return true }
      guard let target = try? directory.target.appending(name.span) else { continue }
      do throws(SystemError) {
        if try destination.occupant(at: target) != nil { return true }
      } catch {
        // Nothing, or something else, has the directory's own name.
        guard error.isNotFound || error.isNotDirectory || error.isSymbolicLink || error.isTooLong else {
          throw failed(directory.path, error)
        }
      }
    }
    return false
  }

  /// Whether everything in a staged directory equals what exists.
  mutating func holdsAll(of directory: Item) throws(Failure) -> Bool {
    var pending = [directory]
    while let next = pending.popLast() {
      for item in try entries(of: next) {
        guard item.kind == .directory else {
          guard isPresent(item) else { return false }
          continue
        }
        guard (try? destination.occupant(at: item.target))?.kind == .directory else { return false }
        pending.append(item)
      }
    }
    return true
  }
}
