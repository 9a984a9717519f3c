package import MigrationWire
import Synchronization

/// What an import met at the destination that had a name which was to be given.
package struct Clashes: Equatable, Sendable {
  /// How many are kept by name; the rest is only counted.
  private static let named = 10_000

  /// Something that arrived beside what had its name.
  package struct Renaming: Equatable, Sendable {
    package let path: ArchivePath
    package let target: ArchivePath
  }

  package private(set) var renamed: [Renaming] = []
  /// Items that did not arrive, since something else has their name.
  package private(set) var left: [ArchivePath] = []
  package private(set) var leftCount: UInt64 = 0

  mutating func noteRenamed(_ path: ArchivePath, _ target: ArchivePath) {
    if renamed.count < Self.named { renamed.append(Renaming(path: path, target: target)) }
  }

  mutating func noteLeft(_ path: ArchivePath) {
    leftCount += 1
    if left.count < Self.named { left.append(path) }
  }
}

extension Staging {
  /// What becomes of items whose names are taken at the destination.
  package var existing: Existing { shared.withLock { $0.existing } }

  /// What was wanted before, if this process was told something else.
  package var formerExisting: Existing? { shared.withLock { $0.formerExisting } }

  /// What the import met so far.
  package var clashes: Clashes { shared.withLock { $0.clashes } }

  /// Another way is wanted from now on, also by whoever takes this back later.
  package func treat(existing: Existing) throws(ArchiveError) {
    do {
      try journal.appendDurably([.existing(existing)])
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
    shared.withLock { shared in
      shared.formerExisting = shared.existing
      shared.existing = existing
    }
  }
}
