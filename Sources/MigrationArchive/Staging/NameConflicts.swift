package import MigrationWire

/// What an import met at the destination that had a name which was to be given.
package struct NameConflicts: Equatable, Sendable {
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
  /// What the import met so far.
  package var nameConflicts: NameConflicts { shared.withLock { $0.nameConflicts } }

  /// What is settled of the transfer.
  package var terms: TransferTerms { TransferTerms(transfer: transfer, keys: keys, existing: existing) }
}
