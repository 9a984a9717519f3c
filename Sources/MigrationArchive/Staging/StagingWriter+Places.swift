import MigrationSystem
import MigrationWire

/// Where entries are stored: which paths are permitted, and which earlier items are removed for
/// them.
extension StagingWriter {
  func verify(_ place: ChunkPlace, _ seal: ChunkSeal, _ data: Span<UInt8>) throws(Violation) {
    tagged.removeAll()
    place.writeTagged(to: &tagged)
    let isAuthentic = sealer.verify(seal, place: tagged.bytes, data: data)
    guard !isAuthentic else { return }
    let expected = sealer.expected(seal, place: tagged.bytes, data: data)
    throw Violation(
      .tag, "a chunk",
      "\(seal.tag.hexadecimal) came, and \(expected.tag.hexadecimal) is computed here, at offset "
        + "\(place.range.lowerBound) of \(VisibleText.quoted(place.path))")
  }

  /// Refuses a path inside a root that was not announced.
  func check(_ path: ArchivePath) throws(Violation) {
    guard let roots = staging.roots else { return }
    // The next item is usually in the same root.
    guard !path.root.elementsEqual(lastRoot) else { return }
    let root = Array(path.root)
    guard roots.contains(root) else { throw Violation(.announcement, "a root") }
    lastRoot = root
  }

  func makeFile(
    _ path: ArchivePath, mode: UInt32, _ shared: inout Staging.Shared
  ) throws -> any StagedFile {
    do throws(SystemError) {
      return try places.createFile(path, mode: mode)
    } catch {
      guard try error.isInTheWay && makeWay(for: path, &shared) else {
        try staging.checkContradiction(of: path, error, in: places, shared)
        throw ArchiveError(placing: path, "creating", error)
      }
    }
    do throws(SystemError) {
      return try places.createFile(path, mode: mode)
    } catch {
      throw ArchiveError(placing: path, "creating", error)
    }
  }

  /// Places an item; an item of another generation that an earlier session put there is removed.
  func placing<Result>(
    _ path: ArchivePath, _ action: String, _ body: () throws(SystemError) -> Result
  ) throws -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      let hasMadeWay = try staging.shared.withLock { (shared) throws -> Bool in
        if error.isInTheWay, try makeWay(for: path, &shared) { return true }
        try staging.checkContradiction(of: path, error, in: places, shared)
        return false
      }
      guard hasMadeWay else { throw ArchiveError(placing: path, action, error) }
    }
    do throws(SystemError) {
      return try body()
    } catch {
      throw ArchiveError(placing: path, action, error)
    }
  }

  /// Removes earlier items for a new item. First the journal records the data of this frame, which
  /// is never removed.
  private func makeWay(for path: ArchivePath, _ shared: inout Staging.Shared) throws -> Bool {
    for (record, position) in try appendClaims() { shared.ledger.place(record, at: position) }
    return try staging.makeWay(for: path, in: places, &shared)
  }

  /// Removes the staged data of a file in another generation. The journal records the removal
  /// before it happens on the disk, durably: otherwise a crash could leave new bytes under an old
  /// claim.
  func removeStaged(
    _ path: ArchivePath, _ number: Ledger.FileNumber, _ shared: inout Staging.Shared
  ) throws(ArchiveError) {
    shared.open[number] = nil
    do {
      try staging.journal.appendDurably([.discarded(path)])
      try places.remove(path)
    } catch {
      throw ArchiveError("removing", path, error)
    }
  }
}

extension SystemError {
  /// The name, or the name of a parent directory, is taken by another entry.
  var isInTheWay: Bool { isAlreadyExisting || isNotDirectory || isSymbolicLink }
}
