import MigrationSystem
import MigrationWire

/// Staged items that cannot be put in their places: they are named, and keep nothing else from arriving.
extension FolderImport {
  /// Leaves an item, and everything beneath it, in staging.
  mutating func cannotStore(_ item: Item, _ reason: RefusalReason, _ cause: SystemError?) throws(ArchiveError) {
    guard staging.shared.withLock({ $0.mayRefuse }) else {
      throw failed(item.path, cause ?? SystemError(reason: reason.words, operation: "import"))
    }
    notStored[item.path] = Staging.WhyRefused(reason: reason, message: cause?.words)
  }

  /// What came of looking for a name, or a refusal of the item whose name it is.
  enum Look {
    case found(Occupant)
    case free
    case refused(RefusalReason, SystemError)
  }

  func look(at target: ArchivePath, for path: ArchivePath) throws(ArchiveError) -> Look {
    do {
      return try destination.occupant(at: target).map { .found($0) } ?? .free
    } catch {
      // A name that may be nowhere is refused already when it is looked for.
      if let reason = error.namingRefusal { return .refused(reason, error) }
      throw failed(path, error)
    }
  }
}

extension SystemError {
  /// Why no entry can have a name, if that is what the file system said when it was looked for.
  fileprivate var namingRefusal: RefusalReason? { isInvalid ? .nameNotAllowed : placingRefusal }

  /// Why an item cannot have its place, if the item is at fault and not the disk, or its user.
  var placingRefusal: RefusalReason? {
    if isTooLong { return .nameTooLong }
    if isEncodingRefused { return .nameNotAllowed }
    if isTooLarge { return .tooLarge }
    return isLinkCountExceeded ? .other : nil
  }
}
