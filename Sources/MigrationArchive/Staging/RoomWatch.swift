import MigrationSystem
import MigrationWire

/// Looks now and then whether there is room for what arrives of a transfer that may become more than was announced.
///
/// What other programs write is noticed at the next look. A reserve stays free. Some file systems (btrfs) count what was written
/// only once it is on the disk: where that may decide, it is made durable first.
struct RoomWatch: Sendable {
  /// How much arrives between two looks: half of the reserve, so that the disk is not full by the next one whatever others write,
  /// and no less than these, for the sake of speed.
  private static let longest: UInt64 = 268_435_456
  private static let shortest = Tally(items: 1_024, bytes: 4_194_304)
  /// The unit in which space is given out, until a look has told it.
  private static let usualBlock: UInt64 = 4_096

  /// What of the announcement is still to come.
  private var expected: Tally
  /// How much may arrive before the next look.
  private var allowance = Tally()
  /// How much was written that the file system need not have counted yet.
  private var uncounted: UInt64
  private var block = Self.usualBlock

  /// Watches one session of an offer, of which so much was there when it began.
  init(_ offer: Offer, held: Tally) {
    expected = Tally(
      items: offer.items.subtractingClamped(held.items), bytes: offer.allocated.subtractingClamped(held.bytes))
    uncounted = held.bytes
  }

  /// Whether the next look is due before so much is taken.
  func isDue(before more: Tally) -> Bool { more.items > allowance.items || occupied(more) > allowance.bytes }

  /// Fails unless there is room for so much, for what was announced besides, and for the reserve.
  mutating func look(before more: Tally, in staging: Staging) throws(ArchiveError) {
    guard var space = staging.disk.space() else {
      allowance = Tally(items: .max, bytes: .max)
      return
    }
    if shortage(before: more, at: space) != nil {
      try staging.synchronize()
      uncounted = 0
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

  private func shortage(before more: Tally, at space: FileSystemSpace) -> SpaceShortage? {
    let wanted = Tally(items: max(more.items, expected.items), bytes: max(occupied(more), expected.bytes))
    return SpaceShortage(of: wanted, in: space, uncounted: uncounted, leaving: Reserve(of: space))
  }

  /// So much is about to be written.
  mutating func take(_ more: Tally) {
    let occupied = occupied(more)
    allowance = allowance.subtracting(Tally(items: more.items, bytes: occupied))
    uncounted = uncounted.addingClamped(occupied)
    expected = expected.subtracting(more)
  }

  /// What it takes on the disk, where each piece has blocks of its own.
  private func occupied(_ more: Tally) -> UInt64 {
    let rest = more.bytes % block
    return rest == 0 ? more.bytes : more.bytes.addingClamped(block - rest)
  }
}

extension Tally {
  fileprivate func subtracting(_ other: Tally) -> Tally {
    Tally(items: items.subtractingClamped(other.items), bytes: bytes.subtractingClamped(other.bytes))
  }
}
