import MigrationWire

/// The totals of an archive, or of a part of it.
struct ArchiveSum: Sendable {
  /// The total of all items, held items included.
  var total = Tally()
  var digest: UInt128 = 0
  var unsent: UInt64 = 0
  var leftOut = LeftOut()
  var lostAttributes = AttributeCount()

  mutating func add(_ other: ArchiveSum) {
    total = total.adding(other.total)
    digest &+= other.digest
    unsent += other.unsent
    leftOut.present += other.leftOut.present
    leftOut.differing += other.leftOut.differing
    leftOut.removed += other.leftOut.removed
    lostAttributes.add(other.lostAttributes)
  }

  /// The contents of FINISH.
  var finish: Finish {
    Finish(
      total: total, unsent: unsent, digest: digest, leftOut: leftOut, lostAttributes: lostAttributes.list)
  }
}

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
  var list: [LostAttribute] {
    let all = counts.map { LostAttribute(name: $0.key, count: $0.value) }.sorted {
      $0.count == $1.count ? $0.name.lexicographicallyPrecedes($1.name) : $0.count > $1.count
    }
    return all.prefix(Limits.lostAttributes).sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }
}
