extension Ledger {
  /// Compares the total of one session, replaced items included, with the limits of its offer
  /// (Protocol §11).
  ///
  /// The ledger counts the held items; this type also counts the records in the journal whose items
  /// were replaced.
  struct SessionBudget: Sendable {
    private let bound: Bound
    /// The bytes and the number of the accepted records.
    private var records: UInt64 = 0
    private var recordCount: UInt64 = 0
    /// The journal's space for pieces and for files that started afresh, and the bytes of content
    /// that came in these pieces.
    private var pieces: UInt64 = 0
    private var content: UInt64 = 0
    /// The number of files that were started afresh, and the bytes of them that had come.
    private var restarts: UInt64 = 0
    private var restartedBytes: UInt64 = 0

    init(_ bound: Bound) { self.bound = bound }

    /// The bytes of metadata: the bytes of records, and the journal's bytes for pieces beyond their
    /// content.
    var metadata: UInt64 { records.addingClamped(pieces.subtractingClamped(content)) }

    /// Counts a record.
    mutating func take(_ record: ItemRecord) throws(Violation) {
      records = records.addingClamped(UInt64(record.length))
      recordCount += 1
      try checkMetadata()
    }

    /// Counts a piece of a file.
    mutating func take(_ place: FilePiece) throws(Violation) {
      note(place.path)
      if !place.isHole { content = content.addingClamped(UInt64(place.range.count)) }
      try checkMetadata()
    }

    /// Counts a file that starts afresh after `bytes` bytes of it had come.
    mutating func restart(_ path: ArchivePath, _ bytes: UInt64) throws(Violation) {
      restarts += 1
      restartedBytes = restartedBytes.addingClamped(bytes)
      guard restarts <= bound.items.multipliedClamped(by: Limits.restarts),
        restartedBytes <= bound.bytes.multipliedClamped(by: Limits.restarts)
      else { throw Violation(.announcement, "the number of files that were started afresh") }
      note(path)
      try checkMetadata()
    }

    private mutating func note(_ path: ArchivePath) {
      pieces = pieces.addingClamped(Limits.pieceOverhead + UInt64(path.bytes.count))
    }

    private func checkMetadata() throws(Violation) {
      let most = bound.metadata.addingClamped(bound.metadataPerItem.multipliedClamped(by: recordCount))
      guard metadata <= most else { throw Violation(.announcement, "the items' metadata") }
    }
  }
}

/// The limits of one session at the receiver (Protocol §11).
package struct Bound: Equatable, Sendable {
  package var items: UInt64
  /// The sum of the files' sizes.
  package var bytes: UInt64
  /// Bytes of records.
  package var metadata: UInt64
  /// The further bytes of records that each record allows.
  package var metadataPerItem: UInt64 = 0
}

extension Offer {
  /// The limits that the receiver derives from this offer. A source can change while it is sent, so
  /// they are a quarter and a fixed margin above the announced totals, and higher above an
  /// estimate. Only the free space limits the bytes of an app's exporter.
  package var bound: Bound {
    if flags.contains(.estimated) {
      return Bound(
        items: items + items / 2 + 1_048_576, bytes: mostBytes(bytes + bytes / 2 + 1_073_741_824),
        metadata: Limits.metadataMargin, metadataPerItem: UInt64(Limits.record))
    }
    let metadata = min(Limits.fileSize, items.multipliedClamped(by: UInt64(Limits.record)))
    return Bound(
      items: items + items / 4 + 1_024, bytes: mostBytes(bytes + bytes / 4 + 67_108_864),
      metadata: metadata + metadata / 4 + Limits.metadataMargin)
  }

  /// Whether only the free space limits the bytes: an app's exporter does not know its size in
  /// advance.
  package var isOpenEnded: Bool { if case .app = contents { true } else { false } }

  private func mostBytes(_ ofFolders: UInt64) -> UInt64 {
    isOpenEnded ? Limits.fileSize : min(Limits.fileSize, ofFolders)
  }
}

extension UInt64 {
  /// The sum, or the greatest number.
  package func addingClamped(_ other: UInt64) -> UInt64 {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }

  /// The difference, or 0.
  package func subtractingClamped(_ other: UInt64) -> UInt64 { self - Swift.min(self, other) }

  /// The product, or the greatest number.
  package func multipliedClamped(by other: UInt64) -> UInt64 {
    let (product, isTooMuch) = multipliedReportingOverflow(by: other)
    return isTooMuch ? .max : product
  }
}
