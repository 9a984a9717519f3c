/// The items that wait for the end, with the positions of their records in the journal.
extension Ledger {
  /// Whether a directory at this path has a record.
  package func hasDirectory(_ path: ArchivePath) -> Bool { deferred.entry(path)?.isLink == false }

  /// Whether a hard link is to be made at this path.
  package func hasHardLink(_ path: ArchivePath) -> Bool { deferred.entry(path)?.isLink == true }

  /// Where the record of a directory is.
  package func position(ofDirectory path: ArchivePath) -> UInt64? {
    guard let entry = deferred.entry(path), !entry.isLink else { return nil }
    return entry.position
  }

  /// Where the records of the hard links are, ascending; nil for one of which the journal does not
  /// tell.
  package var linkPositions: [UInt64?] { deferred.linkPositions }

  /// The same of the directories, the deepest first.
  package var directoryPositions: [UInt64?] { deferred.directoryPositions(extendedOnly: false) }

  /// The same of the directories that have more than a creating call can give.
  package var extendedDirectoryPositions: [UInt64?] { deferred.directoryPositions(extendedOnly: true) }
}
