package import MigrationWire

/// The items whose names were taken when an import needed them.
package struct NameConflicts: Equatable, Sendable {
  /// How many are kept by name; the rest are only counted.
  private static let named = 10_000

  /// An item that was imported next to an existing item with its name.
  package struct Renaming: Equatable, Sendable {
    package let path: ArchivePath
    package let target: ArchivePath
  }

  package private(set) var renamed: [Renaming] = []

  mutating func noteRenamed(_ path: ArchivePath, _ target: ArchivePath) {
    if renamed.count < Self.named { renamed.append(Renaming(path: path, target: target)) }
  }
}

extension Staging {
  /// The name conflicts of the import so far.
  package var nameConflicts: NameConflicts { shared.withLock { $0.nameConflicts } }

  /// The terms of the transfer.
  package var terms: TransferTerms { TransferTerms(transfer: transfer, keys: keys, existing: existing) }
}
