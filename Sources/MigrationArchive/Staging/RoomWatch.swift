import MigrationSystem
import MigrationWire

/// What something takes on the disk that is about to be written.
struct RoomCharge: Sendable {
  /// How many entries of the file system, without the directories on the way.
  var items: UInt64 = 0
  var content: UInt64 = 0
  /// What the journal keeps of it.
  var journal: UInt64 = 0
  /// How many directories may be made on the way.
  var directories: UInt64 = 0

  var entries: UInt64 { items.addingClamped(directories) }

  /// How many bytes that is: an item, a piece of a file and each directory have blocks of their own, one at least.
  func occupied(block: UInt64) -> UInt64 {
    let blocks = (content / block).addingClamped(content % block == 0 ? 0 : 1)
    return max(blocks, items).addingClamped(directories).multipliedClamped(by: block).addingClamped(journal)
  }
}

/// Looks now and then whether there is room for what arrives of a transfer that may become more than was announced.
///
/// What other programs write is noticed at the next look. A reserve stays free. Some file systems (btrfs) count what was written
/// only once it is on the disk: where that may decide, it is made durable first.
struct RoomWatch: Sendable {
  /// How much arrives between two looks: half of the reserve, so that the disk is not full by the next one whatever others write,
  /// or `shortest` where that is more, for the sake of speed; and no more than this.
  private static let longest: UInt64 = 268_435_456
  private static let shortest = Tally(items: 1_024, bytes: 4_194_304)
  /// For how much it is worth to wait until it is on the disk, again and again.
  private static let worthSyncing: UInt64 = 4_194_304
  /// The unit in which space is given out, until a look has told it.
  private static let usualBlock: UInt64 = 4_096

  /// What of the announcement is still to come.
  private var expected: Tally
  /// How much may arrive before the next look.
  private var allowance = Tally()
  /// How much was written that the file system need not have counted yet.
  private var unsynced: UInt64
  /// What the frames in hand were charged: nothing of it need be written yet, so that a sync does not make it count.
  private var inHand: UInt64 = 0
  /// Whether little may be synced as well: once after each sync that was worth it, and not for every piece near the end, while all
  /// streams wait.
  private var maySyncLittle = true
  private var block = Self.usualBlock

  /// Watches one session of an offer, of which so much was there when it began.
  init(_ offer: Offer, held: Tally) {
    expected = Tally(
      items: offer.items.subtractingClamped(held.items), bytes: offer.allocated.subtractingClamped(held.bytes))
    unsynced = held.bytes
  }

  private var uncounted: UInt64 { unsynced.addingClamped(inHand) }

  /// Whether the next look is due before so much is taken.
  func isDue(before more: RoomCharge) -> Bool {
    more.entries > allowance.items || more.occupied(block: block) > allowance.bytes
  }

  /// Fails unless there is room for so much, for what was announced besides, and for the reserve.
  mutating func look(before more: RoomCharge, in staging: Staging) throws(ArchiveError) {
    guard var space = staging.disk.space() else {
      allowance = Tally(items: .max, bytes: .max)
      return
    }
    let isWorthIt = unsynced >= Self.worthSyncing
    if shortage(before: more, at: space) != nil, isWorthIt || maySyncLittle {
      try staging.synchronize()
      unsynced = 0
      maySyncLittle = isWorthIt
      space = staging.disk.space() ?? space
    }
    if let shortage = shortage(before: more, at: space) { throw ArchiveError(shortage) }
    block = max(1, space.blockSize)
    let reserve = Reserve(of: space)
    let bytes = space.availableBytes.subtractingClamped(uncounted).subtractingClamped(reserve.bytes)
    allowance.bytes = min(bytes, Self.longest, max(Self.shortest.bytes, reserve.bytes / 2))
    allowance.items =
      space.availableItems.map {
        min($0.subtractingClamped(reserve.items), max(Self.shortest.items, reserve.items / 2))
      } ?? .max
  }

  private func shortage(before more: RoomCharge, at space: FileSystemSpace) -> SpaceShortage? {
    let wanted = Tally(
      items: max(more.entries, expected.items), bytes: max(more.occupied(block: block), expected.bytes))
    return SpaceShortage(of: wanted, in: space, uncounted: uncounted, leaving: Reserve(of: space))
  }

  /// So much is about to be written; how many bytes that is, for `settle`.
  mutating func take(_ more: RoomCharge) -> UInt64 {
    let occupied = more.occupied(block: block)
    allowance = allowance.subtracting(Tally(items: more.entries, bytes: occupied))
    inHand = inHand.addingClamped(occupied)
    expected = expected.subtracting(Tally(items: more.items, bytes: more.content))
    return occupied
  }

  /// So much of what was taken is written, or never will be.
  mutating func settle(_ bytes: UInt64) {
    inHand = inHand.subtractingClamped(bytes)
    unsynced = unsynced.addingClamped(bytes)
  }
}

extension Tally {
  fileprivate func subtracting(_ other: Tally) -> Tally {
    Tally(items: items.subtractingClamped(other.items), bytes: bytes.subtractingClamped(other.bytes))
  }
}
