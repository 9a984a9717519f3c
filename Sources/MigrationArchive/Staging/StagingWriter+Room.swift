import MigrationWire

/// Whether the disk has room for what comes.
extension StagingWriter {
  /// Fails where there is no room for a record, and for the whole content if that came with it.
  func checkRoom(
    for record: ItemRecord, hasContent: Bool, _ shared: inout Staging.Shared
  ) throws(ArchiveError) {
    // What the journal keeps of it takes room, too.
    let bytes = UInt64(record.length).addingClamped(hasContent ? record.size : 0)
    try checkRoom(for: Tally(items: 1, bytes: bytes), &shared) { $0.holds(record) }
  }

  /// Fails where there is no room for a piece of a file.
  func checkRoom(for place: ChunkPlace, _ shared: inout Staging.Shared) throws(ArchiveError) {
    let bytes = place.isHole ? 0 : UInt64(place.range.count)
    try checkRoom(for: Tally(bytes: bytes), &shared) { $0.holds(place) }
  }

  /// Fails when the session's metadata has taken its share of the disk, and where a transfer that may become more than was
  /// announced outgrows it. What is held already takes no room.
  private func checkRoom(
    for more: Tally, _ shared: inout Staging.Shared, unless isHeld: (Ledger) -> Bool
  ) throws(ArchiveError) {
    guard shared.ledger.metadata <= shared.metadataRoom else {
      throw ArchiveError(.noSpace, "not enough space: what belongs to the items besides their content fills the disk")
    }
    guard let watch = shared.watch else { return }
    if watch.isDue(before: more) {
      guard !isHeld(shared.ledger) else { return }
      try shared.watch?.look(before: more, in: staging)
    }
    shared.watch?.take(more)
  }
}
