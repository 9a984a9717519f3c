import MigrationArchive
import MigrationEngine
import MigrationSystem
package import MigrationWire

/// How long, and how much, a receiver keeps of unfinished transfers.
package struct Keeping: Equatable, Sendable {
  /// The seconds without a connection after which one is forgotten; nil for never.
  package var longest: Double?
  /// The bytes of all of them together; nil for as many as fit on the disk.
  package var most: UInt64?

  package init(longest: Double? = nil, most: UInt64? = nil) {
    self.longest = longest
    self.most = most
  }

  package var isLimited: Bool { longest != nil || most != nil }
}

extension TransferStore {
  /// A transfer that a receiver has forgotten by itself.
  package struct Expired: Equatable, Sendable {
    package let transfer: TransferID
    /// The other device's label, or its address.
    package let device: String
    package let held: UInt64
    /// Whether it was too old; otherwise there was too much.
    package let isOld: Bool
  }

  /// Forgets the unfinished transfers of a destination that are too old or, from the one with the
  /// oldest connection on, too much; those that a process works on stay.
  package func expire(_ keeping: Keeping, at destination: [UInt8], at time: StoreTime) throws(Failure) -> [Expired] {
    guard keeping.isLimited else { return [] }
    var (kept, expired): (UInt64, [Expired]) = (0, [])
    let unfinished = try remembered(at: destination).filter { !$0.remembered.isDone }
    // Transfers in use count first, since they stay.
    for listed in unfinished.filter(\.isInUse) + unfinished.filter({ !$0.isInUse }) {
      let remembered = listed.remembered
      let isOld = keeping.longest.map { time.isOver(Int64($0), since: remembered.lastSeen) } ?? false
      kept = kept.addingClamped(remembered.held.bytes)
      guard !listed.isInUse, isOld || kept > keeping.most ?? .max,
        // A transfer that cannot be removed stays, and counts.
        (try? forget(remembered.transfer.hexadecimal)) != nil
      else { continue }
      kept -= remembered.held.bytes
      let device = remembered.label.isEmpty ? remembered.address : remembered.label
      expired.append(
        Expired(transfer: remembered.transfer, device: device, held: remembered.held.bytes, isOld: isOld))
    }
    return expired
  }
}
