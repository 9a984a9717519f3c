/// The total that one session has brought, also of items that were replaced since, against the
/// limits of its offer (Protocol §11).
///
/// The ledger counts the held items. This counts the records that stay in the journal although
/// another item has replaced theirs.
struct SessionBudget: Sendable {
  private let bound: Bound
  /// Bytes of the records that were taken, and how many those were.
  private var records: UInt64 = 0
  private var recordCount: UInt64 = 0
  /// The journal's space for pieces and for files that started afresh, and the bytes of content
  /// that came in these pieces.
  private var pieces: UInt64 = 0
  private var content: UInt64 = 0
  /// How many files were started afresh, and how much of them had come.
  private var restarts: UInt64 = 0
  private var restartedBytes: UInt64 = 0

  init(_ bound: Bound) { self.bound = bound }

  /// The bytes that count as metadata: records, and the excess of pieces over their content.
  var metadata: UInt64 { records.addingClamped(pieces.subtractingClamped(content)) }

  /// A record is about to be kept.
  mutating func take(_ record: ItemRecord) throws(Violation) {
    records = records.addingClamped(UInt64(record.length))
    recordCount += 1
    try checkMetadata()
  }

  /// A piece of a file is about to be kept.
  mutating func take(_ place: ChunkPlace) throws(Violation) {
    note(place.path)
    if !place.isHole { content = content.addingClamped(UInt64(place.range.count)) }
    try checkMetadata()
  }

  /// A file of which so many bytes had come is about to be started afresh.
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
