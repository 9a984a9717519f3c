import MigrationSystem
import MigrationWire

/// Checks periodically whether there is space for the data that comes: an app's data may exceed its
/// offer, and folders the space that their offer names.
///
/// Space used by other programs is noticed at the next check. A reserve stays free. Some file
/// systems (btrfs) count data only once it is on the disk: where that may decide, the data is first
/// made durable.
struct RoomWatch: Sendable {
  /// The most data between two checks. The amount is half of the reserve, so that the disk is not
  /// full by the next check even if other programs write, or `shortest` if that is more, for speed.
  private static let longest: UInt64 = 268_435_456
  private static let shortest = Tally(items: 1_024, bytes: 4_194_304)
  /// The amount of data for which waiting until it is on the disk is worthwhile every time.
  private static let worthSyncing: UInt64 = 4_194_304
  /// The unit in which space is allocated, until a check has read the actual unit.
  private static let usualBlock: UInt64 = 4_096

  /// The part of an app's offer that is still to come; nothing of folders, since the destination
  /// may have their items.
  private var expected: Tally
  /// Whether more may come than is expected.
  private let isOpenEnded: Bool
  /// The bytes that may arrive before the next check.
  private var allowance = Tally()
  /// How many bytes were written, and up to where a sync has made the file system count them.
  private var written: UInt64
  private var counted: UInt64 = 0
  /// The charge of the frames that are being written: their data may not be written yet, so a sync
  /// does not make the file system count it.
  private var inHand: UInt64 = 0
  /// Whether a small amount may be synced as well: once after each worthwhile sync, and not for
  /// every piece near the end, while all streams wait.
  private var maySyncLittle = true
  private var block = Self.usualBlock

  /// Watches one session of an offer; `held` was there when the session began.
  init(_ offer: Offer, held: Tally) {
    isOpenEnded = offer.isOpenEnded
    expected =
      offer.isOpenEnded
      ? Tally(
        items: offer.items.subtractingClamped(held.items), bytes: offer.allocated.subtractingClamped(held.bytes))
      : Tally()
    written = held.bytes
  }

  private var unsynced: UInt64 { written.subtractingClamped(counted) }
  private var uncounted: UInt64 { unsynced.addingClamped(inHand) }

  /// Whether the next check is due before this charge is taken.
  func isDue(before more: Charge) -> Bool {
    more.entries > allowance.items || more.occupied(block: block) > allowance.bytes
  }

  /// Fails unless there is space for this charge, for the rest of the offer, and for the reserve.
  /// The space that the file system has set aside for growing files counts as free. Returns how much must be synced before
  /// that can be told; nil where there is space.
  mutating func look(
    before more: Charge, in staging: Staging, growing: some Sequence<any StagedFile> = [], isSynced: Bool
  ) throws(Failure) -> UInt64? {
    guard var space = staging.disk.space() else {
      allowance = Tally(items: .max, bytes: .max)
      return nil
    }
    let isWorthIt = unsynced >= Self.worthSyncing
    // What other streams have written since a sync may count twice as well.
    if shortage(before: more, at: space) != nil, isSynced ? unsynced > 0 : isWorthIt || maySyncLittle {
      maySyncLittle = isWorthIt
      return written
    }
    // The files are asked before the disk: what one of them sets aside meanwhile must not count
    // twice. Asked again, it counts once.
    for _ in 0..<2 where shortage(before: more, at: space) != nil {
      let setAside = growing.reduce(UInt64(0)) { $0.addingClamped($1.reserved()) }
      space = staging.disk.space() ?? space
      space.availableBytes = space.availableBytes.addingClamped(setAside)
    }
    if let shortage = shortage(before: more, at: space) { throw Failure(shortage) }
    block = max(1, space.blockSize)
    let reserve = Reserve(of: space)
    let bytes = space.availableBytes.subtractingClamped(uncounted).subtractingClamped(reserve.bytes)
    allowance.bytes = min(bytes, Self.longest, max(Self.shortest.bytes, reserve.bytes / 2))
    allowance.items =
      space.availableItems.map {
        min($0.subtractingClamped(reserve.items), max(Self.shortest.items, reserve.items / 2))
      } ?? .max
    return nil
  }

  /// The file system counts the bytes that were written up to here.
  mutating func synced(upTo position: UInt64) { counted = max(counted, position) }

  private func shortage(before more: Charge, at space: FileSystemSpace) -> SpaceShortage? {
    let wanted = Tally(
      items: max(more.entries, expected.items), bytes: max(more.occupied(block: block), expected.bytes))
    return SpaceShortage(
      of: wanted, in: space, uncounted: uncounted, leaving: Reserve(of: space),
      isOpen: isOpenEnded && expected.bytes == 0)
  }

  /// Charges data that is about to be written. Returns the number of bytes, for `settle`.
  mutating func take(_ more: Charge) -> UInt64 {
    let occupied = more.occupied(block: block)
    allowance = allowance.subtracting(Tally(items: more.entries, bytes: occupied))
    inHand = inHand.addingClamped(occupied)
    expected = expected.subtracting(Tally(items: more.items, bytes: more.content))
    return occupied
  }

  /// Records that charged bytes have been written, or never will be.
  mutating func settle(_ bytes: UInt64) {
    inHand = inHand.subtractingClamped(bytes)
    written = written.addingClamped(bytes)
  }

  /// The disk space that a write will take.
  struct Charge: Sendable {
    /// The number of file system entries, without new parent directories.
    var items: UInt64 = 0
    var content: UInt64 = 0
    /// The bytes that the journal keeps about it.
    var journal: UInt64 = 0
    /// The most parent directories that may be created.
    var directories: UInt64 = 0

    var entries: UInt64 { items.addingClamped(directories) }

    /// The number of bytes: an item, a piece of a file and each directory occupy blocks of their own,
    /// at least one.
    func occupied(block: UInt64) -> UInt64 {
      let blocks = (content / block).addingClamped(content % block == 0 ? 0 : 1)
      return max(blocks, items).addingClamped(directories).multipliedClamped(by: block).addingClamped(journal)
    }
  }
}

extension Tally {
  fileprivate func subtracting(_ other: Tally) -> Tally {
    Tally(items: items.subtractingClamped(other.items), bytes: bytes.subtractingClamped(other.bytes))
  }
}

/// What is to be done with the ledger's lock, or without it.
private enum Step<Result: Sendable>: Sendable {
  case done(Result)
  case sync(upTo: UInt64)
}

/// Checks the space for the data that comes, and the limit that the user has set.
extension StagingWriter {
  /// Works on the ledger, if there is space for a record, and for the whole content if it came with the
  /// record.
  func withRoom<Result: Sendable>(
    for record: ItemRecord, _ names: LedgerNames, hasContent: Bool, _ body: (inout Staging.Shared) throws -> Result
  ) throws -> Result {
    try withRoom(
      at: record.path, { $0.ledger.holds(names) },
      { shared in
        let isNew = !shared.ledger.isIncomplete(record.path, record.generation)
        let content = hasContent ? record.size : 0
        return (content, RoomWatch.Charge(items: isNew ? 1 : 0, content: content, journal: UInt64(record.length)))
      }, body)
  }

  /// The same for a piece of a file. The journal's record of the piece takes space too, even for a hole.
  func withRoom<Result: Sendable>(
    for place: FilePiece, _ body: (inout Staging.Shared) throws -> Result
  ) throws -> Result {
    try withRoom(
      at: place.path, { $0.ledger.holds(place) },
      { shared in
        let isNew = !shared.ledger.isIncomplete(place.path, place.generation)
        let size = UInt64(place.range.count)
        return (
          size,
          RoomWatch.Charge(
            items: isNew ? 1 : 0, content: place.isHole ? 0 : size,
            journal: Limits.pieceOverhead + UInt64(place.path.bytes.count))
        )
      }, body)
  }

  /// Works on the ledger, once the space for something new is known to suffice. A sync that this takes
  /// lasts, and other streams need the ledger meanwhile.
  private func withRoom<Result: Sendable>(
    at path: ArchivePath, _ isHeld: (borrowing Staging.Shared) -> Bool,
    _ charge: (borrowing Staging.Shared) -> (size: UInt64, RoomWatch.Charge),
    _ body: (inout Staging.Shared) throws -> Result
  ) throws -> Result {
    var synced: UInt64?
    while true {
      let step = try staging.shared.withLock { shared throws -> Step<Result> in
        if let synced { shared.watch?.synced(upTo: synced) }
        try checkMetadata(shared)
        if shared.looksAtSize, !isHeld(shared) {
          var (size, more) = charge(shared)
          try shared.checkSize(before: size)
          more.directories = directories(above: path)
          if let position = try take(more, at: path, isSynced: synced != nil, &shared) { return .sync(upTo: position) }
        }
        return .done(try body(&shared))
      }
      switch step {
      case .done(let result): return result
      case .sync(let position):
        try staging.synchronize()
        synced = position
      }
    }
  }

  /// Fails if the session's metadata has used up its share of the disk.
  private func checkMetadata(_ shared: borrowing Staging.Shared) throws(Failure) {
    guard shared.ledger.metadata > shared.metadataRoom else { return }
    throw Failure(.noSpace, "not enough space: the metadata of the items fills the disk")
  }

  /// Charges something new; fails if a transfer exceeds the space. Returns how much must be synced first.
  private func take(
    _ more: RoomWatch.Charge, at path: ArchivePath, isSynced: Bool, _ shared: inout Staging.Shared
  ) throws(Failure) -> UInt64? {
    guard let watch = shared.watch else { return nil }
    if watch.isDue(before: more) {
      let growing = shared.open.values.lazy.map(\.file)
      let position = try shared.watch?.look(before: more, in: staging, growing: growing, isSynced: isSynced)
      if let position = position ?? nil { return position }
    }
    if let bytes = shared.watch?.take(more) { charged = charged.addingClamped(bytes) }
    lastCharged = path
    return nil
  }

  /// The most parent directories that may be created for a path: those that do not contain the last
  /// path.
  private func directories(above path: ArchivePath) -> UInt64 {
    guard let last = lastCharged?.bytes else { return UInt64(path.depth - 1) }
    var above: UInt64 = 0
    var isShared = true
    for (index, byte) in path.bytes.enumerated() {
      let isSlash = byte == UInt8(ascii: "/")
      // The last path may be a directory that contains the next item.
      isShared = isShared && (index < last.count ? last[index] == byte : index == last.count && isSlash)
      if isSlash, !isShared { above += 1 }
    }
    return above
  }

  /// Releases the charge of a frame that has been written, or has failed.
  func settleCharge() {
    guard charged > 0 else { return }
    staging.shared.withLock { $0.watch?.settle(charged) }
    charged = 0
  }
}

extension Staging {
  /// How much of a disk the metadata of a session may take.
  static func metadataRoom(on disk: any StagingDisk) -> UInt64 { (disk.space()?.availableBytes ?? .max) / 2 }
}

extension Staging.Shared {
  /// Whether the amount of data matters.
  fileprivate var looksAtSize: Bool { watch != nil || most != nil }

  /// Fails if the session is about to bring more than the user accepts of the transfer.
  fileprivate func checkSize(before more: UInt64) throws(Failure) {
    try most?.check(coming: ledger.comingBytes.subtractingClamped(heldAtStart).addingClamped(more))
  }
}
