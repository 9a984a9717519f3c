import MigrationSystem
import MigrationWire

/// The names in one directory of the destination, as it lists them. It may find an entry by other
/// names, too: in another case, in another normalisation, by a short form.
struct ListedNames {
  let directory: ArchivePath?
  private let key: UInt128
  private var hashes: Set<UInt64> = []
  /// The names by their forms without case and normalisation; nil if not requested.
  private var folded: [String: [UInt8]]?

  init(_ names: [[UInt8]], in directory: ArchivePath?, key: UInt128, folding: Bool = false) {
    self.directory = directory
    self.key = key
    folded = folding ? [:] : nil
    for name in names { add(name[...]) }
  }

  mutating func add(_ name: ArraySlice<UInt8>) {
    hashes.insert(hash(name))
    folded?[Self.fold(name)] = Array(name)
  }

  /// Whether the directory lists exactly this name.
  func contains(_ name: ArraySlice<UInt8>) -> Bool { hashes.contains(hash(name)) }

  /// A listed name that differs only in case or normalisation.
  func alike(_ name: ArraySlice<UInt8>) -> [UInt8]? { folded?[Self.fold(name)] }

  private func hash(_ name: ArraySlice<UInt8>) -> UInt64 {
    var hash = SipHash(key: key)
    hash.combine(name.span)
    return UInt64(truncatingIfNeeded: hash.finish())
  }

  private static func fold(_ name: ArraySlice<UInt8>) -> String {
    // Equal strings are equal in every normalisation.
    String(decoding: name, as: UTF8.self).uppercased().lowercased()
  }
}

/// The paths of an archive, including directories without a record, as hashes.
struct ArchivePaths {
  private let key: UInt128
  private var hashes: Set<UInt64> = []

  init(of staging: Staging) throws {
    key = staging.journal.key
    var hashes: Set<UInt64> = []
    try staging.journal.forEach(upTo: staging.journal.position) { [key] _, claim in
      let path: ArchivePath
      if case .refused(let refused, _, _, _) = claim {
        path = refused
      } else {
        guard let item = claim.completedItem, staging.shared.withLock({ $0.ledger.holds(item) }) else { return }
        path = item.path
      }
      for place in path.lineage { hashes.insert(EarlierItems.hash(place, key)) }
    }
    self.hashes = hashes
  }

  func contains(_ path: ArchivePath) -> Bool { hashes.contains(EarlierItems.hash(path, key)) }
}
