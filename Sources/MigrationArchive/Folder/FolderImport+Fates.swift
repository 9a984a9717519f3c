import MigrationSystem
import MigrationWire

/// Decides how each item is imported, given the existing entry with its name.
extension FolderImport {
  /// A staged item.
  struct Item {
    let path: ArchivePath
    let kind: FileKind
  }

  enum Fate: Equatable {
    /// The item is moved to this path, whose name is free.
    case arrives(at: ArchivePath)
    /// The item replaces a file or link.
    case replaces
    /// This directory exists; the contents of the staged directory are moved into it.
    case merges(ExistingEntry)
    /// An existing entry is kept, and the item is not imported.
    case stays
    /// The item has both names.
    case isThere
    /// The item cannot be imported, regardless of how existing names are treated.
    case cannotBeStored(RefusalReason, SystemError?)

    /// The path that the whole item is moved to.
    var target: ArchivePath? {
      if case .arrives(let target) = self { target } else { nil }
    }

    var isMerging: Bool { if case .merges = self { true } else { false } }
  }

  /// The number of names to try for an item that is imported next to an existing one.
  private static let besideNames = 10_000

  /// Decides how to import an item.
  mutating func fate(of item: Item) throws(ArchiveError) -> Fate {
    let (path, isDirectory) = (item.path, item.kind == .directory)
    let occupant: ExistingEntry
    switch try look(at: path, for: path) {
    case .found(let found): occupant = found
    case .free: return .arrives(at: path)
    case .refused(let reason, let cause): return .cannotBeStored(reason, cause)
    }
    if try hasRival(path, occupant) { return .cannotBeStored(.nameTaken, nil) }
    if !isDirectory, occupant.isSame(as: try stagedOccupant(path)) { return .isThere }
    switch existing {
    case .refuse: throw taken(path)
    case .keepBoth: return try beside(item)
    case .skip: return isDirectory && occupant.kind == .directory ? .merges(occupant) : .stays
    case .replace:
      switch occupant.kind {
      case .directory where isDirectory: return .merges(occupant)
      case .regular where !isDirectory, .symbolicLink where !isDirectory: return .replaces
      // Entries of other types are kept: a file's new content cannot restore them.
      case .directory, .regular, .symbolicLink, .fifo, .socket, .blockDevice, .characterDevice:
        return try beside(item)
      }
    }
  }

  /// Imports the item under the next free name next to the taken one. A name that another item of
  /// the archive has is not free, wherever that item is now.
  private func beside(_ item: Item) throws(ArchiveError) -> Fate {
    for number in 2...Self.besideNames {
      let name = ListedNames.numbered(item.path.name, isDirectory: item.kind == .directory, number: number)
      guard let path = try? item.path.parent?.appending(name.span) ?? ArchivePath(name) else { break }
      switch try look(at: path, for: item.path) {
      case .found: continue
      case .refused(let reason, let cause): return .cannotBeStored(reason, cause)
      case .free: break
      }
      let rival = try importing(item.path) { () throws(SystemError) in try destination.occupant(ofStaged: path) }
      if rival == nil { return .arrives(at: path) }
    }
    throw ArchiveError(
      .importFailed, "no free name is left for \(VisibleText.quoted(item.path)) in the destination",
      name: item.path.bytes)
  }

  /// The staged entries of a directory, sorted by name.
  func entries(of directory: ArchivePath?) throws(ArchiveError) -> [Item] {
    let entries: [(name: [UInt8], kind: FileKind)]
    do throws(SystemError) {
      entries = try staged.entries(of: directory)
    } catch {
      throw ArchiveError(.importFailed, "the staging directory cannot be imported", cause: error)
    }
    var items: [Item] = []
    for (name, kind) in entries {
      guard let path = try? directory?.appending(name.span) ?? ArchivePath(name) else { continue }
      items.append(Item(path: path, kind: kind))
    }
    return items.sorted { $0.path < $1.path }
  }

  /// Items are not renamed from one file system to another: an import that meets a mount point in
  /// the destination names it and leaves it unchanged.
  func checkFileSystem(of directory: ArchivePath, _ there: ExistingEntry) throws(ArchiveError) {
    guard try there.device != stagedOccupant(directory).device else { return }
    throw ArchiveError(
      .importFailed,
      "\(VisibleText.quoted(directory)) in the destination is a mount point; items are not moved into another file system",
      name: directory.bytes)
  }

  func stagedOccupant(_ path: ArchivePath) throws(ArchiveError) -> ExistingEntry {
    try importing(path) { () throws(SystemError) in
      guard let occupant = try destination.occupant(ofStaged: path) else { throw SystemError(noSuchFile: "find") }
      return occupant
    }
  }

  // MARK: Failures

  func importing<Result>(
    _ path: ArchivePath, _ body: () throws(SystemError) -> Result
  ) throws(ArchiveError) -> Result {
    do {
      return try body()
    } catch {
      throw failed(path, error)
    }
  }

  func failed(_ path: ArchivePath, _ cause: SystemError) -> ArchiveError {
    ArchiveError(.importFailed, "\(VisibleText.quoted(path)) cannot be imported", name: path.bytes, cause: cause)
  }

  private func taken(_ root: ArchivePath) -> ArchiveError {
    ArchiveError(
      .importFailed,
      "\(VisibleText.quoted(root)) was created in the destination in the meantime; it was left unchanged, "
        + "and the received data is kept in \(VisibleText.quoted(staging.disk.name))",
      hint: "Move it away, or start 'peer receive' with --existing keep-both, and run 'peer send' again.",
      name: root.bytes)
  }

  /// Leaves an item and its contents in staging.
  mutating func cannotStore(_ item: Item, _ reason: RefusalReason, _ cause: SystemError?) throws(ArchiveError) {
    guard staging.shared.withLock({ $0.mayRefuse }) else {
      throw failed(item.path, cause ?? SystemError(reason: reason.words, operation: "import"))
    }
    notStored[item.path] = (reason, cause?.words)
  }

  /// Records an item that is not stored because an existing item keeps its name, with all items
  /// below it. A file or link that is present, and need not have come, counts as stored.
  mutating func stays(_ item: Item) {
    let granularity = staging.abilities.timeGranularity
    guard !destination.isPresent(item.path, at: item.path, timeGranularity: granularity) else { return }
    notStored[item.path] = (.other, "an existing item has this name and is kept")
  }

  /// The result of looking up a name, or a refusal of the item with that name.
  enum Look {
    case found(ExistingEntry)
    case free
    case refused(RefusalReason, SystemError)
  }

  func look(at target: ArchivePath, for path: ArchivePath) throws(ArchiveError) -> Look {
    do {
      return try destination.occupant(at: target).map { .found($0) } ?? .free
    } catch {
      // A name that the file system does not allow is refused at the lookup.
      if let reason = error.namingRefusal { return .refused(reason, error) }
      throw failed(path, error)
    }
  }

  /// Removes empty claims, and removes the staged name of items that have both names.
  func settleEarlierPlacing() throws(ArchiveError) {
    let earlier = staging.shared.withLock { $0.earlierPlacing }
    guard earlier.isAny else { return }
    do {
      try staging.journal.forEach(upTo: staging.journal.position) { position, record in
        guard case .placing(let path, let target?) = record, earlier.counts(path, at: position) else { return }
        try settle(path, at: target)
      }
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(.importFailed, "the journal cannot be read", cause: error as? SystemError)
    }
  }

  private func settle(_ path: ArchivePath, at target: ArchivePath) throws(ArchiveError) {
    do {
      // An item that is no longer staged has been imported.
      guard let item = try destination.occupant(ofStaged: path), let there = try destination.occupant(at: target)
      else { return }
      switch item.kind {
      case .directory:
        // A directory that is not empty is not removed.
        if there.kind == .directory { try destination.release(target, isDirectory: true) }
      default:
        if try hasBothNames(path, item, target, there) {
          try staged.remove(path)
        } else if there.kind == .regular, there.size == 0 {
          try destination.release(target, isDirectory: false)
        }
      }
    } catch {
      guard error.isNotEmpty || error.isNotFound || error.isNotDirectory else { throw failed(path, error) }
    }
  }

  /// Whether a file or link that is still staged already has its name at the destination. On some
  /// file systems each name has an inode number of its own.
  private func hasBothNames(
    _ path: ArchivePath, _ item: ExistingEntry, _ target: ArchivePath, _ there: ExistingEntry
  ) throws(SystemError) -> Bool {
    if there.isSame(as: item) { return true }
    // An empty file may be a claim, and can be removed without loss.
    guard there.kind == .symbolicLink || there.size > 0 else { return false }
    return try destination.isCopy(of: path, at: target)
  }
}

extension SystemError {
  /// Why no entry can have a name, if the file system gave this reason at the lookup.
  fileprivate var namingRefusal: RefusalReason? { isInvalid ? .nameNotAllowed : placingRefusal }

  /// Why an item cannot be moved to its destination, if the cause is the item, not the disk or the
  /// user's permissions.
  var placingRefusal: RefusalReason? {
    if isTooLong { return .nameTooLong }
    if isEncodingRefused { return .nameNotAllowed }
    if isTooLarge { return .tooLarge }
    return isLinkCountExceeded ? .other : nil
  }
}

/// The items that a killed import was about to place in several steps, as far as the journal's
/// survey keeps them.
struct EarlierPlacing: Sendable {
  /// Whether the journal has any.
  private(set) var isAny = false
  /// The positions in the journal where the earlier records of a path were withdrawn.
  private var withdrawn: [ArchivePath: UInt64] = [:]

  mutating func note(_ path: ArchivePath, _ target: ArchivePath?, at position: UInt64) {
    isAny = true
    if target == nil { withdrawn[path] = position }
  }

  /// Whether a record of a path at a position in the journal is still valid.
  func counts(_ path: ArchivePath, at position: UInt64) -> Bool { withdrawn[path].map { position > $0 } ?? true }
}
