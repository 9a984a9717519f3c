import MigrationSystem
import MigrationWire

/// Staged items that cannot be moved to the destination: the import reports them and continues with
/// the other items.
extension FolderImport {
  /// Leaves an item and its contents in staging.
  mutating func cannotStore(_ item: Item, _ reason: RefusalReason, _ cause: SystemError?) throws(ArchiveError) {
    guard staging.shared.withLock({ $0.mayRefuse }) else {
      throw failed(item.path, cause ?? SystemError(reason: reason.words, operation: "import"))
    }
    notStored[item.path] = Staging.WhyRefused(reason: reason, message: cause?.words)
  }

  /// Records an item that is not stored because an existing item keeps its name, with all items
  /// below it. A file or link that is present, and need not have come, counts as stored.
  mutating func stays(_ item: Item) {
    let granularity = staging.abilities.timeGranularity
    guard !destination.isPresent(item.path, at: item.path, timeGranularity: granularity) else { return }
    notStored[item.path] = Staging.WhyRefused(
      reason: .other, message: "an existing item has this name and is kept")
  }

  /// The result of looking up a name, or a refusal of the item with that name.
  enum Look {
    case found(Occupant)
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
