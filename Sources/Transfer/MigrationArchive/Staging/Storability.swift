import MigrationSystem
import MigrationWire

extension Staging {
  /// Finds out whether an error was caused by the item or by the disk, by trying at the same place an
  /// operation that every disk supports.
  struct Storability {
    let staging: Staging
    let places: any StagingTree

    /// Why the destination cannot hold the item that caused an error; nil if the error is the disk's
    /// or the sender's.
    func reason(
      for path: ArchivePath, _ body: ItemRecord.Body, _ error: Failure
    ) throws(SystemError) -> (reason: NotStored.Reason, error: UInt16?)? {
      if error.code == .collision {
        guard let place = try foldedPlace(path) else { return nil }
        return (place == path ? .nameTaken : .directoryNotStored, nil)
      }
      guard error.code == .storage, let cause = error.cause, !cause.isOfDisk else { return nil }
      if cause.isTooLarge { return (.tooLarge, nil) }
      guard let nearest = try nearestDirectory(above: path), acceptsFile(in: nearest.path) else { return nil }
      guard nearest.isParent else { return (.directoryNotStored, nil) }
      return (reason(for: path, body, cause, in: nearest.path), cause.number)
    }

    private func reason(
      for path: ArchivePath, _ body: ItemRecord.Body, _ cause: SystemError, in parent: ArchivePath?
    ) -> NotStored.Reason {
      if case .symbolicLink(let target) = body {
        guard acceptsLink(to: Array("x".utf8), in: parent) else { return .kindNotSupported }
        guard acceptsLink(to: target, in: parent) else { return cause.isTooLong ? .targetTooLong : .other }
      }
      return cause.isTooLong ? .nameTooLong : .nameNotAllowed
    }

    /// The first component on the way to a path, including the path itself, whose name the disk
    /// treats as equal to another item's name; nil if there is none.
    func foldedPlace(_ path: ArchivePath) throws(SystemError) -> ArchivePath? {
      for place in path.lineage {
        guard try kind(of: place) != nil else { return nil }
        let name = Array(place.name)
        if try !places.entries(of: place.parent).contains(where: { $0.name == name }) { return place }
      }
      return nil
    }

    /// The nearest existing directory above a path (nil for the tree itself), and whether it is the
    /// parent of the path.
    private func nearestDirectory(above path: ArchivePath) throws(SystemError) -> (path: ArchivePath?, isParent: Bool)?
    {
      var parent = path.parent
      while let place = parent {
        if try kind(of: place) == .directory { break }
        parent = place.parent
      }
      return (parent, parent == path.parent)
    }

    /// The type of the entry with a name; nil if there is none, or if the disk refuses the lookup.
    private func kind(of path: ArchivePath) throws(SystemError) -> FileKind? {
      do {
        return try places.kind(of: path)
      } catch {
        guard error.isOfDisk else { return nil }
        throw error
      }
    }

    private func acceptsFile(in directory: ArchivePath?) -> Bool {
      tries(in: directory) { (path) throws(SystemError) in
        let file = try places.createFile(path, mode: 0o600)
        try file.write(at: 0, [0x78].span)
      }
    }

    private func acceptsLink(to target: [UInt8], in directory: ArchivePath?) -> Bool {
      tries(in: directory) { (path) throws(SystemError) in try places.makeSymbolicLink(path, target: target) }
    }

    /// Whether an operation succeeds under an ordinary name.
    private func tries(in directory: ArchivePath?, _ body: (ArchivePath) throws(SystemError) -> Void) -> Bool {
      let number = staging.shared.withLock { shared in
        shared.refusals.trials += 1
        return shared.refusals.trials
      }
      let name = Array(".peer-trial-\(number)".utf8)
      guard let path = try? directory?.appending(name.span) ?? ArchivePath(name) else { return false }
      defer { try? places.remove(path) }
      do throws(SystemError) {
        try body(path)
        return true
      } catch {
        return false
      }
    }
  }
}
