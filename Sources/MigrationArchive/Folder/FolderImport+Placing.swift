import MigrationSystem
import MigrationWire

/// Moves received items to their names, by performing the steps of `Placing`.
extension FolderImport {
  /// Gives a staged item a name that must be free.
  mutating func carry(_ item: Item, to target: ArchivePath) throws(ArchiveError) -> Placing.Outcome {
    var placing = Placing(isDirectory: item.kind == .directory, asksKernel: renamesSafely)
    var claim: Occupant?
    while true {
      if case .ended(let outcome) = placing.step { return outcome }
      let answer: Placing.Answer
      switch placing.step {
      case .announce:
        renamesSafely = false
        answer = try announcePlacing(item.path, target)
      case .withdraw: answer = try withdrawPlacing(item.path)
      case .claim:
        answer = trying { () throws(SystemError) in
          claim = try destination.claim(target, isDirectory: item.kind == .directory)
          return true
        }
      default:
        let (step, claimed) = (placing.step, claim)
        answer = trying { () throws(SystemError) in try perform(step, item, target, claimed) }
      }
      placing.take(answer)
    }
  }

  private func trying(_ body: () throws(SystemError) -> Bool) -> Placing.Answer {
    do {
      return try body() ? .done : .no
    } catch {
      return .failed(error)
    }
  }

  private func perform(
    _ step: Placing.Step, _ item: Item, _ target: ArchivePath, _ claim: Occupant?
  ) throws(SystemError) -> Bool {
    let isDirectory = item.kind == .directory
    switch step {
    case .rename: try destination.move(item.path, to: target)
    case .link: try destination.link(item.path, to: target)
    case .unstage: try staged.remove(item.path)
    case .examineClaim: return try isClaim(claim, at: target)
    case .renameOverClaim, .renameIntoFree: try destination.replace(target, with: item.path)
    case .releaseClaim: try destination.release(target, isDirectory: isDirectory)
    case .examineName: return try destination.occupant(at: target) == nil
    case .giveUp:
      let isOurs = isDirectory ? true : try isClaim(claim, at: target)
      if isOurs { try destination.release(target, isDirectory: isDirectory) }
    case .announce, .claim, .withdraw, .ended: break
    }
    return true
  }

  /// Whether an entry is the empty file that this import has just created.
  private func isClaim(_ claim: Occupant?, at target: ArchivePath) throws(SystemError) -> Bool {
    guard let claim, let there = try destination.occupant(at: target) else { return false }
    return there.kind == .regular && there.size == 0 && (there.device, there.inode) == (claim.device, claim.inode)
  }

  // MARK: The journal

  /// Records in the journal this placing and the following ones, so that many placings share one
  /// wait for the disk.
  private mutating func announcePlacing(
    _ path: ArchivePath, _ target: ArchivePath
  ) throws(ArchiveError) -> Placing.Answer {
    guard told[path] != target else { return .done }
    told[path] = target
    var records = [JournalRecord.placing(path, to: target)]
    for (path, target) in upcoming where told[path] == nil {
      told[path] = target
      records.append(.placing(path, to: target))
    }
    try journal(records)
    return .done
  }

  private mutating func withdrawPlacing(_ path: ArchivePath) throws(ArchiveError) -> Placing.Answer {
    told[path] = nil
    try journal([.placing(path, to: nil)])
    return .done
  }

  func journal(_ records: [JournalRecord]) throws(ArchiveError) {
    do {
      try staging.journal.appendDurably(records)
    } catch {
      throw ArchiveError(.importFailed, "the journal cannot be written", cause: error)
    }
  }
}
