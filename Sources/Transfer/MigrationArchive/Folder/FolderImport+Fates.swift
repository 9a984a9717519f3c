import MigrationSystem
import MigrationWire

/// Decides how each item is imported, given the existing entry with its name.
extension FolderImport {
  /// A staged item.
  struct Item {
    let path: ArchivePath
    /// Its path at the destination, if the name is free.
    let target: ArchivePath
    let kind: FileKind

    /// The item with another path at the destination.
    func renamed(_ target: ArchivePath) -> Item { Item(path: path, target: target, kind: kind) }
  }

  enum Fate: Equatable {
    /// The item is moved to this path, whose name is free.
    case arrives(at: ArchivePath)
    /// The item replaces a file or link at this path.
    case replaces(at: ArchivePath)
    /// The existing entry at this path gets another name, and the item gets its name.
    case setsAside(at: ArchivePath)
    /// A directory exists at this path; the contents of the staged directory are moved into it.
    /// With `follows`, the directory gets the arrived metadata.
    case merges(at: ArchivePath, ExistingEntry, follows: Bool = false)
    /// An existing entry is kept, and the item is not imported.
    case stays
    /// The sender has no newer version than the arrived one.
    case isKnown
    /// The item was moved or removed here.
    case isRemoved
    /// An earlier version was moved or removed here, and this one is not stored.
    case staysAway
    /// The item has both names.
    case isThere
    /// An equal item exists at this path; if the item is a directory, as this entry.
    case isPresent(at: ArchivePath, ExistingEntry?)
    /// The item cannot be imported, regardless of how existing names are treated.
    case cannotBeStored(NotStored.Reason, SystemError?)

    /// The path that the whole item is moved to.
    var target: ArchivePath? {
      if case .arrives(let target) = self { target } else { nil }
    }

    /// The path where the item comes to lie.
    var place: ArchivePath? {
      switch self {
      case .arrives(let place), .replaces(let place), .setsAside(let place), .merges(let place, _, _): place
      default: nil
      }
    }

    /// The path of an existing entry whose name the item gets.
    var replaced: ArchivePath? {
      switch self {
      case .replaces(let target), .setsAside(let target): target
      default: nil
      }
    }

    var isMerging: Bool { if case .merges = self { true } else { false } }
  }

  /// The number of names to try for an item that is imported next to an existing one.
  static let besideNames = 10_000

  /// Finds out how to import an item. The name that it gets decides what it is, also where that is not
  /// the name with which it came.
  mutating func fate(of item: Item) throws(Failure) -> Fate {
    let fate = try fateByName(of: item)
    guard let place = fate.place, place != home(of: item.path),
      !(fate.isMerging ? permit?.allows(at: place, isLink: false) ?? true : isTaken(item, at: place))
    else { return fate }
    return .cannotBeStored(.notTaken, nil)
  }

  /// Gathers the facts for `ItemFate`.
  private mutating func fateByName(of item: Item) throws(Failure) -> Fate {
    if let hindrance = try hindrance(of: item) { return .cannotBeStored(.noPlace, hindrance) }
    if let fate = try fateInUnit(of: item) { return fate }
    // A run before has set an earlier version aside.
    if earlier(item) != nil, let target = staging.shared.withLock({ $0.moving[item.path]?.target }),
      case .free = try look(at: target, for: item.path)
    {
      return .arrives(at: target)
    }
    var facts = try facts(of: item)
    if let earlier = facts.earlier, earlier.isAway, !earlier.isWantedAgain, facts.kind == .folder,
      earlier.source != .kind
    {
      try keepAway(item, removing: earlier.hasNew)
    }
    guard facts.fate == .unclear else {
      return try fate(facts.fate, of: item, at: earlier(item)?.target ?? item.target)
    }
    let occupant: ExistingEntry
    switch try look(at: item.target, for: item.path) {
    case .found(let found): occupant = found
    case .free: return .arrives(at: item.target)
    case .refused(let reason, let cause): return .cannotBeStored(reason, cause)
    }
    guard let real = try listedPath(of: item.target, occupant), try !hasRival(item, occupant, real) else {
      return .cannotBeStored(.nameTaken, nil)
    }
    // By a short form of its name, for instance.
    if !ArrivalRule.areAlike(real.name, item.target.name), !isTaken(item, at: real) {
      return .cannotBeStored(.notTaken, nil)
    }
    facts.isOthers = staging.deliveries?.hasOthers(at: item.target, than: item.path) == true
    facts.own = try own(item, occupant, &facts)
    return try fate(facts.fate, of: item, at: item.target)
  }

  /// The entry that has the item's own name, as far as the fate depends on it.
  private mutating func own(
    _ item: Item, _ occupant: ExistingEntry, _ facts: inout ItemFate
  ) throws(Failure) -> ItemFate.Own {
    guard item.kind == .directory else {
      if try occupant.isSame(as: stagedOccupant(item.path)) { return .itself }
      // Equal size and time prove nothing if the sender has found other content.
      let isProven = facts.earlier?.source != .content
      if existing.leavesOutEqual || facts.isOthers, isProven ? isPresent(item) : isCopy(item) {
        return .equal
      }
      return occupant.kind == .regular || occupant.kind == .symbolicLink ? .entry : .other
    }
    guard occupant.kind == .directory else { return .other }
    guard existing == .merge else { return .folder }
    guard try occupant.mount == stagedOccupant(item.path).mount else { return .mount }
    guard try isWhole(item) else { return .folder }
    facts.kind = .whole
    return try holdsAll(of: item) ? .equalFolder : .folder
  }

  /// How a fate is performed; `target` is where the earlier version lies, or the item's own name.
  private mutating func fate(
    _ fate: ItemFate.Fate, of item: Item, at target: ArchivePath
  ) throws(Failure) -> Fate {
    switch fate {
    case .arrives: .arrives(at: target)
    case .beside: try beside(item)
    case .replaces: .replaces(at: target)
    case .setsAside: .setsAside(at: target)
    case .merges, .mergesFollowing:
      .merges(at: target, try occupant(at: target, for: item), follows: fate == .mergesFollowing)
    case .follows, .known: .isKnown
    case .present: .isPresent(at: target, item.kind == .directory ? try occupant(at: target, for: item) : nil)
    case .isThere: .isThere
    case .removedHere: .isRemoved
    case .keptAway: .staysAway
    case .kept: .stays
    case .refused: throw taken(item.path)
    case .unclear, .stays, .nothing: preconditionFailure("an item that came has a fate")
    }
  }

  private func occupant(at target: ArchivePath, for item: Item) throws(Failure) -> ExistingEntry {
    guard case .found(let there) = try look(at: target, for: item.path) else {
      throw failed(item.path, SystemError(noSuchFile: "open"))
    }
    return there
  }

  /// Imports the item under the next free name next to the taken one. A name that another item of
  /// the archive has is not free, wherever that item is now. Where folders are merged, an equal
  /// item with such a name is taken for it.
  private mutating func beside(_ item: Item) throws(Failure) -> Fate {
    for number in 2...Self.besideNames {
      let name = NewName.numbered(item.target.name, isDirectory: item.kind == .directory, number: number)
      guard let target = sibling(of: item.target, name) else { break }
      guard isTaken(item, at: target) else { continue }
      switch try look(at: target, for: item.path) {
      case .found(let there):
        guard existing == .merge || existing == .update, try isThere(item.renamed(target), there) else { continue }
        return .isPresent(at: target, item.kind == .directory ? there : nil)
      case .refused(let reason, let cause): return .cannotBeStored(reason, cause)
      case .free: if try isFree(target, beside: item) { return .arrives(at: target) }
      }
    }
    throw noNameLeft(for: item)
  }

  /// Whether an entry with a new name of an item is what an earlier transfer put there.
  private mutating func isThere(_ item: Item, _ there: ExistingEntry) throws(Failure) -> Bool {
    guard item.kind == .directory else { return isCopy(item) }
    guard there.kind == .directory else { return false }
    return try holdsAll(of: item)
  }

  /// Whether no staged item has the name of a target next to the item's own, and none there would
  /// take the item for a sidecar file.
  private func isFree(_ target: ArchivePath, beside item: Item) throws(Failure) -> Bool {
    if let path = sibling(of: item.path, Array(target.name)), try isStaged(path, item) { return false }
    guard existing == .merge, item.kind != .directory else { return true }
    for name in ItemUnit.sidecars(of: target.name) {
      guard let sidecar = sibling(of: target, name) else { continue }
      if case .found = try look(at: sidecar, for: item.path) { return false }
    }
    return true
  }

  func isStaged(_ path: ArchivePath, _ item: Item) throws(Failure) -> Bool {
    try importing(item.path) { () throws(SystemError) in try destination.occupant(ofStaged: path) } != nil
  }

  func sibling(of path: ArchivePath, _ name: [UInt8]) -> ArchivePath? {
    try? path.parent?.appending(name.span) ?? ArchivePath(name)
  }

  func noNameLeft(for item: Item) -> Failure {
    Failure(
      .importFailed, "no free name is left for \(VisibleText.quoted(item.path)) in the destination",
      name: item.path.bytes)
  }

  /// The staged entries of a directory, sorted by name; of the tree itself without one.
  mutating func entries(of directory: Item?) throws(Failure) -> [Item] {
    let entries = try Failure.wrapping(
      .importFailed, "the staging directory cannot be imported", staged.entries(of: directory?.path))
    var items: [Item] = []
    for (name, kind) in entries {
      guard let path = try? directory?.path.appending(name.span) ?? ArchivePath(name) else { continue }
      let target = try? directory.map { (directory) throws(Violation) in try directory.target.appending(name.span) }
      if let target = target ?? (directory == nil ? home(of: path) : nil) {
        items.append(Item(path: path, target: target, kind: kind))
      } else {
        // Without a place, or below a place with a long path.
        notStored[path] = directory == nil ? (.noPlace, nil) : (.nameTooLong, nil)
      }
    }
    return items.sorted { $0.path < $1.path }
  }

  /// The path of an item at the destination, if no name on the way is taken; nil if its root has no
  /// place.
  func home(of path: ArchivePath) -> ArchivePath? {
    guard let places else { return path }
    guard let place = places[path.root] else { return nil }
    let rest = path.bytes.dropFirst(path.root.count)
    return rest.isEmpty ? place : try? ArchivePath(place.bytes + rest)
  }

  func stagedOccupant(_ path: ArchivePath) throws(Failure) -> ExistingEntry {
    try importing(path) { () throws(SystemError) in
      guard let occupant = try destination.occupant(ofStaged: path) else { throw SystemError(noSuchFile: "find") }
      return occupant
    }
  }

  // MARK: Failures

  func importing<Result>(
    _ path: ArchivePath, _ body: () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    try SystemError.mapped(body()) { failed(path, $0) }
  }

  func failed(_ path: ArchivePath, _ cause: SystemError) -> Failure {
    Failure(.importFailed, "\(VisibleText.quoted(path)) cannot be imported", name: path.bytes, cause: cause)
  }

  private func taken(_ root: ArchivePath) -> Failure {
    Failure(
      .importFailed,
      "\(VisibleText.quoted(root)) was created in the destination in the meantime; it was left unchanged, "
        + "and the received data is kept in \(VisibleText.quoted(staging.disk.name))",
      hint: DataHint.nameTakenMeanwhile.text,
      name: root.bytes)
  }

  /// Leaves an item and its contents in staging.
  mutating func cannotStore(_ item: Item, _ reason: NotStored.Reason, _ cause: SystemError?) throws(Failure) {
    guard staging.shared.withLock({ $0.mayRefuse }) else {
      throw failed(item.path, cause ?? SystemError(reason: reason.words, operation: "import"))
    }
    notStored[item.path] = (reason, cause?.number)
  }

  /// Records an item that is not stored because an existing item keeps its name, with all items
  /// below it.
  mutating func stays(_ item: Item) {
    left.insert(item.path)
    notStored[item.path] = (.existingKept, nil)
  }

  /// Whether a file or link equals the existing entry in every byte: size and time do not prove
  /// that, where the names differ. What cannot be read is no copy.
  func isCopy(_ item: Item) -> Bool { (try? destination.isCopy(of: item.path, at: item.target)) ?? false }

  /// Whether the existing entry with its name equals a file or link.
  func isPresent(_ item: Item) -> Bool {
    destination.isPresent(item.path, at: item.target, timeGranularity: staging.abilities.timeGranularity)
  }

  /// The result of looking up a name, or a refusal of the item with that name.
  enum Look {
    case found(ExistingEntry)
    case free
    case refused(NotStored.Reason, SystemError)
  }

  func look(at target: ArchivePath, for path: ArchivePath) throws(Failure) -> Look {
    do {
      return try destination.occupant(at: target).map { .found($0) } ?? .free
    } catch {
      // The directories above a place are made when its root is moved.
      if places != nil, path.parent == nil, error.isNotFound { return .free }
      // A name that the file system does not allow is refused at the lookup.
      if let reason = error.namingRefusal { return .refused(reason, error) }
      throw failed(path, error)
    }
  }
}

extension SystemError {
  /// Why no entry can have a name, if the file system gave this reason at the lookup.
  fileprivate var namingRefusal: NotStored.Reason? { isInvalid ? .nameNotAllowed : placingRefusal }

  /// Why an item cannot be moved to its destination, if the cause is the item, not the disk or the
  /// user's permissions.
  var placingRefusal: NotStored.Reason? {
    if isTooLong { return .nameTooLong }
    if isEncodingRefused { return .nameNotAllowed }
    if isTooLarge { return .tooLarge }
    return isLinkCountExceeded ? .other : nil
  }
}
