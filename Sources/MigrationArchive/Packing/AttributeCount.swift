import MigrationWire

/// Counts, for each attribute that is never carried, the items that have it.
struct AttributeCount: Sendable {
  /// The most names that are counted, so that a source cannot use memory without limit.
  private static let names = 1_024

  private var counts: [[UInt8]: UInt64] = [:]

  /// Counts one more item with an attribute of that name.
  mutating func note(_ name: [UInt8]) {
    guard counts[name] != nil || counts.count < Self.names, (1...255).contains(name.count) else { return }
    counts[name, default: 0] += 1
  }

  /// Adds the counts of another value.
  mutating func add(_ other: AttributeCount) {
    for (name, count) in other.counts where counts[name] != nil || counts.count < Self.names {
      counts[name, default: 0] += count
    }
  }

  /// The most frequent ones, by ascending names.
  var list: [LeftBehind] {
    let all = counts.map { LeftBehind(name: $0.key, count: $0.value) }.sorted {
      $0.count == $1.count ? $0.name.lexicographicallyPrecedes($1.name) : $0.count > $1.count
    }
    return all.prefix(Limits.leftBehind).sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }
}
