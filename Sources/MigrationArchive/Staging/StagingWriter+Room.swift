import MigrationWire

/// Whether the disk has room for what comes, and the user wants so much.
extension StagingWriter {
  /// Fails where there is no room for a record, and for the whole content if that came with it.
  func checkRoom(
    for record: ItemRecord, hasContent: Bool, _ shared: inout Staging.Shared
  ) throws(ArchiveError) {
    try checkMetadata(shared)
    guard shared.looksAtSize, !shared.ledger.holds(record) else { return }
    let content = hasContent ? record.size : 0
    try shared.checkSize(before: content)
    let isNew = !shared.ledger.isIncomplete(record.path, record.generation)
    try charge(
      RoomCharge(
        items: isNew ? 1 : 0, content: content, journal: UInt64(record.length),
        directories: directories(above: record.path)),
      at: record.path, &shared)
  }

  /// Fails where there is no room for a piece of a file. What the journal tells of it takes room, too, also of a hole.
  func checkRoom(for place: ChunkPlace, _ shared: inout Staging.Shared) throws(ArchiveError) {
    try checkMetadata(shared)
    guard shared.looksAtSize, !shared.ledger.holds(place) else { return }
    let size = UInt64(place.range.count)
    try shared.checkSize(before: size)
    let isNew = !shared.ledger.isIncomplete(place.path, place.generation)
    try charge(
      RoomCharge(
        items: isNew ? 1 : 0, content: place.isHole ? 0 : size,
        journal: Limits.pieceOverhead + UInt64(place.path.bytes.count), directories: directories(above: place.path)),
      at: place.path, &shared)
  }

  /// Fails when the session's metadata has taken its share of the disk.
  private func checkMetadata(_ shared: borrowing Staging.Shared) throws(ArchiveError) {
    guard shared.ledger.metadata > shared.metadataRoom else { return }
    throw ArchiveError(.noSpace, "not enough space: what belongs to the items besides their content fills the disk")
  }

  /// Fails where a transfer that may become more than was announced outgrows the room.
  private func charge(
    _ more: RoomCharge, at path: ArchivePath, _ shared: inout Staging.Shared
  ) throws(ArchiveError) {
    guard let watch = shared.watch else { return }
    if watch.isDue(before: more) { try shared.watch?.look(before: more, in: staging) }
    if let bytes = shared.watch?.take(more) { charged = charged.addingClamped(bytes) }
    lastCharged = path
  }

  /// How many directories may be made on the way to a path: those that the last one was not in.
  private func directories(above path: ArchivePath) -> UInt64 {
    guard let last = lastCharged?.bytes else { return UInt64(path.depth - 1) }
    var above: UInt64 = 0
    var isShared = true
    for (index, byte) in path.bytes.enumerated() {
      let isSlash = byte == UInt8(ascii: "/")
      // What the last path names may be a directory, and the next item in it.
      isShared = isShared && (index < last.count ? last[index] == byte : index == last.count && isSlash)
      if isSlash, !isShared { above += 1 }
    }
    return above
  }

  /// The frame is written, or failed.
  func settleCharge() {
    guard charged > 0 else { return }
    staging.shared.withLock { $0.watch?.settle(charged) }
    charged = 0
  }
}

extension Staging.Shared {
  /// Whether it matters how much comes.
  fileprivate var looksAtSize: Bool { watch != nil || most != nil }

  /// Fails where the session is about to bring more than is wanted of the transfer.
  fileprivate func checkSize(before more: UInt64) throws(ArchiveError) {
    try most?.check(coming: ledger.comingBytes.subtractingClamped(heldAtStart).addingClamped(more))
  }
}
