import MigrationWire

/// Checks the space for the data that comes, and the limit that the user has set.
extension StagingWriter {
  /// Fails if there is no space for a record, and for the whole content if it came with the record.
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

  /// Fails if there is no space for a piece of a file. The journal's record of the piece takes
  /// space too, even for a hole.
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

  /// Fails if the session's metadata has used up its share of the disk.
  private func checkMetadata(_ shared: borrowing Staging.Shared) throws(ArchiveError) {
    guard shared.ledger.metadata > shared.metadataRoom else { return }
    throw ArchiveError(.noSpace, "not enough space: the metadata of the items fills the disk")
  }

  /// Fails if a transfer exceeds the space.
  private func charge(
    _ more: RoomCharge, at path: ArchivePath, _ shared: inout Staging.Shared
  ) throws(ArchiveError) {
    guard let watch = shared.watch else { return }
    if watch.isDue(before: more) {
      let growing = shared.open.values.lazy.map(\.file)
      try shared.watch?.look(before: more, in: staging, growing: growing)
    }
    if let bytes = shared.watch?.take(more) { charged = charged.addingClamped(bytes) }
    lastCharged = path
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

extension Staging.Shared {
  /// Whether the amount of data matters.
  fileprivate var looksAtSize: Bool { watch != nil || most != nil }

  /// Fails if the session is about to bring more than the user accepts of the transfer.
  fileprivate func checkSize(before more: UInt64) throws(ArchiveError) {
    try most?.check(coming: ledger.comingBytes.subtractingClamped(heldAtStart).addingClamped(more))
  }
}
