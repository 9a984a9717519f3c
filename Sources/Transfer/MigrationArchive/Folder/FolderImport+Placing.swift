import MigrationSystem
import MigrationWire

/// Moves received items to their names, by performing the steps of `Placing`.
extension FolderImport {
  /// Gives a staged item a name that must be free.
  mutating func carry(_ item: Item, to target: ArchivePath) throws(Failure) -> Placing.Outcome {
    var placing = Placing(isDirectory: item.kind == .directory, asksKernel: renamesSafely)
    var placeholder: ExistingEntry?
    while true {
      if case .ended(let outcome) = placing.step { return outcome }
      let answer: Placing.Answer
      switch placing.step {
      case .announce:
        renamesSafely = false
        answer = try announcePlacing(item.path, target)
      case .withdraw: answer = try withdrawPlacing(item.path)
      case .placeholder:
        answer = trying { () throws(SystemError) in
          placeholder = try destination.createPlaceholder(target, isDirectory: item.kind == .directory)
          return true
        }
      default:
        let (step, made) = (placing.step, placeholder)
        answer = trying { () throws(SystemError) in try perform(step, item, target, made) }
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
    _ step: Placing.Step, _ item: Item, _ target: ArchivePath, _ placeholder: ExistingEntry?
  ) throws(SystemError) -> Bool {
    let isDirectory = item.kind == .directory
    switch step {
    case .rename: try destination.move(item.path, to: target)
    case .link: try destination.link(item.path, to: target)
    case .unstage: try staged.remove(item.path)
    case .examinePlaceholder: return try isPlaceholder(placeholder, at: target)
    case .renameOverPlaceholder, .renameIntoFree: try destination.replace(target, with: item.path)
    case .releasePlaceholder: try destination.release(target, isDirectory: isDirectory)
    case .examineName: return try destination.occupant(at: target) == nil
    case .giveUp:
      let isOurs = isDirectory ? true : try isPlaceholder(placeholder, at: target)
      if isOurs { try destination.release(target, isDirectory: isDirectory) }
    case .announce, .placeholder, .withdraw, .ended: break
    }
    return true
  }

  /// Whether an entry is the empty file that this import has just created.
  private func isPlaceholder(_ placeholder: ExistingEntry?, at target: ArchivePath) throws(SystemError) -> Bool {
    guard let placeholder, let there = try destination.occupant(at: target) else { return false }
    return there.kind == .regular && there.size == 0
      && (there.device, there.inode) == (placeholder.device, placeholder.inode)
  }

  /// Notes the places of all items of the archive, where each folder is synced: a run before this one may
  /// have moved them, and not lived to sync.
  func notePlaces() throws(Failure) {
    guard staging.disk.syncsEach else { return }
    let moves = staging.shared.withLock { $0.moving.mapValues(\.target) }
    try reading {
      try staging.journal.forEach(upTo: staging.journal.position) { _, record in
        if let path = record.completedItem?.path, let target = target(of: path, moves) {
          destination.noteChange(at: target)
        }
      }
    }
  }

  // MARK: The journal

  /// Records the moment at which the import begins, unless a run before has begun it.
  func noteBeginning() throws(Failure) {
    guard arrived != nil || existing == .setAside, staging.shared.withLock({ $0.importBegan }) == nil else { return }
    // What is written now has the time of now.
    try journal([.importing(since: nil)])
    let path = try? ArchivePath(staging.disk.name + Array("/".utf8) + DirectoryDisk.journalName)
    guard let path, let moment = ((try? destination.occupant(at: path)) ?? nil)?.modified else { return }
    let began = ItemTime(moment)
    try journal([.importing(since: began)])
    staging.shared.withLock { $0.importBegan = began }
  }

  /// Notes what was just put at a path, so that a later change of it shows.
  mutating func notePlaced(at target: ArchivePath) {
    guard arrived != nil, tellsEntriesApart, let there = (try? destination.occupant(at: target)) ?? nil,
      there.kind != .directory, let changed = there.changed
    else { return }
    placed.append(.placed(inode: there.inode, changed: ItemTime(changed)))
    if placed.count >= Self.together { recordPlaced() }
  }

  /// Records in the journal what was put in place.
  mutating func recordPlaced() {
    do throws(SystemError) {
      try staging.journal.append(placed)
    } catch {
      // It counts as changed by others.
      arrived?.noteUnrecorded(error)
    }
    placed = []
  }

  /// Records in the journal this placing and the following ones, so that many placings share one
  /// wait for the disk.
  private mutating func announcePlacing(
    _ path: ArchivePath, _ target: ArchivePath
  ) throws(Failure) -> Placing.Answer {
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

  private mutating func withdrawPlacing(_ path: ArchivePath) throws(Failure) -> Placing.Answer {
    told[path] = nil
    try journal([.placing(path, to: nil)])
    return .done
  }

  func journal(_ records: [JournalRecord]) throws(Failure) {
    try Failure.wrapping(.importFailed, "the journal cannot be written", staging.journal.appendDurably(records))
  }

  /// Decides, step by step, how a staged item gets a name that must be free.
  ///
  /// Nothing that exists is replaced. If the kernel can rename without replacing, one step suffices.
  /// Otherwise a file gets a second name and then loses the first. A directory, or a file that cannot
  /// have a second name, is renamed over an empty entry that was created under that name (the
  /// placeholder). The kernel refuses to rename over a directory that is not empty, and the import
  /// checks a file beforehand.
  struct Placing: Equatable {
    /// The next step.
    enum Step: Equatable {
      /// Rename, if the kernel can do so without replacing.
      case rename
      /// Record in the journal, durably, that an empty entry or a second name at the destination is
      /// this import's.
      case announce
      /// Give a file its final name in addition to the staged name.
      case link
      /// Remove the staged name of a file that has both names.
      case unstage
      /// Create an empty entry of that name.
      case placeholder
      /// Check that a placeholder is still the entry that was created, and empty.
      case examinePlaceholder
      /// Rename over the placeholder.
      case renameOverPlaceholder
      /// Remove the placeholder, because the file system does not rename over it.
      case releasePlaceholder
      /// Check whether the name is free.
      case examineName
      /// Rename to the name that has just been free.
      case renameIntoFree
      /// Record in the journal that the entry at the destination is not this import's, and end.
      case withdraw
      /// Remove the placeholder if possible, and end with the error.
      case giveUp(SystemError)
      case ended(Outcome)
    }

    /// The result.
    enum Outcome: Equatable {
      case placed
      /// The name belongs to an entry of another program.
      case taken
      case failed(SystemError)
    }

    /// The result of a step.
    enum Answer: Equatable {
      case done
      /// The check was negative.
      case no
      case failed(SystemError)
    }

    private(set) var step: Step
    private let isDirectory: Bool

    /// Starts; without `asksKernel`, as if the kernel could not rename without replacing.
    init(isDirectory: Bool, asksKernel: Bool) {
      self.isDirectory = isDirectory
      step = asksKernel ? .rename : .announce
    }

    /// Continues with the result of the step.
    mutating func take(_ answer: Answer) {
      step =
        switch answer {
        case .done: next
        // An entry that is no longer this import's belongs to another program.
        case .no: .withdraw
        case .failed(let error): afterFailure(error)
        }
    }

    private var next: Step {
      switch step {
      case .announce: isDirectory ? .placeholder : .link
      case .link: .unstage
      case .placeholder: isDirectory ? .renameOverPlaceholder : .examinePlaceholder
      case .examinePlaceholder: .renameOverPlaceholder
      case .releasePlaceholder: .examineName
      case .examineName: .renameIntoFree
      case .rename, .unstage, .renameOverPlaceholder, .renameIntoFree: .ended(.placed)
      case .withdraw: .ended(.taken)
      case .giveUp(let error): .ended(.failed(error))
      case .ended: step
      }
    }

    private func afterFailure(_ error: SystemError) -> Step {
      switch step {
      case .rename where error.isRenameFlagRefused: .announce
      case .rename where error.isAlreadyExisting: .ended(.taken)
      case .link where error.isAlreadyExisting, .placeholder where error.isAlreadyExisting: .withdraw
      case .link where error.isLinkRefused: .placeholder
      // Some file systems do not rename over any entry; a placeholder that is no longer empty cannot be
      // removed either.
      case .renameOverPlaceholder where error.isReplacingRefused: .releasePlaceholder
      case .releasePlaceholder where error.isNotFound: .examineName
      case .releasePlaceholder where error.isNotEmpty, .renameIntoFree where error.isTaken: .withdraw
      case .examinePlaceholder, .renameOverPlaceholder: .giveUp(error)
      case .giveUp(let first): .ended(.failed(first))
      case .ended: step
      case .rename, .announce, .link, .unstage, .placeholder, .releasePlaceholder, .examineName, .renameIntoFree,
        .withdraw:
        .ended(.failed(error))
      }
    }
  }
}

extension SystemError {
  /// A rename was refused because of the entry that has the new name, or because the file system
  /// never renames over entries.
  fileprivate var isReplacingRefused: Bool { isTaken || isPermissionDenied || isRenameFlagRefused }
  /// A name that was free is taken now.
  fileprivate var isTaken: Bool { isNotEmpty || isNotDirectory || isDirectory }
}
