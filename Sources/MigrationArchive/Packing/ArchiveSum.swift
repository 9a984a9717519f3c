import MigrationWire

/// The totals of an archive, or of a part of it.
struct ArchiveSum: Sendable {
  /// The total of all items, held items included.
  var total = Tally()
  var digest: UInt128 = 0
  var unsent: UInt64 = 0
  var leftOut = LeftOut()
  /// How many items the destination cannot hold.
  var withheld: UInt64 = 0
  var leftBehind = AttributeCount()

  mutating func add(_ other: ArchiveSum) {
    total = total.adding(other.total)
    digest &+= other.digest
    unsent += other.unsent
    leftOut.present += other.leftOut.present
    leftOut.differing += other.leftOut.differing
    withheld += other.withheld
    leftBehind.add(other.leftBehind)
  }

  /// The contents of FINISH.
  var finish: Finish {
    Finish(
      total: total, unsent: unsent, digest: digest, leftOut: leftOut, withheld: withheld, leftBehind: leftBehind.list)
  }
}
