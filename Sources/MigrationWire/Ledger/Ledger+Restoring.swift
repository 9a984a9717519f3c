/// Claims of the journal that count, taken back into a ledger one by one, in their order (Protocol
/// §9.7).
extension Ledger {
  /// A range is in its staging file. The record, if nothing is missing of the file any more.
  package mutating func restore(_ place: ChunkPlace) throws(Violation) -> ItemRecord? {
    guard !isSettled(path: place.path, place.generation) else { return nil }
    var file = restored(place.path, place.generation)
    let before = file.ranges.count
    file.ranges.insert(place.range)
    incompleteBytes = incompleteBytes.addingClamped(file.ranges.count - before)
    incomplete[place.path] = file
    return try finishIfComplete(file)
  }

  /// The record of a file whose bytes are claimed as ranges. The same, if nothing is missing of the
  /// file any more.
  package mutating func restore(sealed record: ItemRecord) throws(Violation) -> ItemRecord? {
    guard !knows(mark(record)) else { return nil }
    var file = restored(record.path, record.generation)
    file.record = PackedRecord(record)
    incomplete[record.path] = file
    return try finishIfComplete(file)
  }

  /// Voids every claim about a path, whether the item was complete (then this was its record) or
  /// not.
  package mutating func forget(_ path: ArchivePath, complete record: ItemRecord? = nil) {
    discard(path)
    if let record { drop(record) }
  }

  /// The incomplete files and the numbers of their staging files.
  package var incompleteFiles: [(path: ArchivePath, number: FileNumber)] {
    incomplete.filter { !$0.value.isRefused }.map { ($0.key, $0.value.number) }.sorted { $0.0 < $1.0 }
  }

  /// The entry of an incomplete file; one of another generation gives way.
  private mutating func restored(_ path: ArchivePath, _ generation: Generation) -> Incomplete {
    if let file = incomplete[path], file.generation == generation { return file }
    discard(path)
    return Incomplete(number: takeNumber(), generation: generation)
  }

  private mutating func finishIfComplete(_ file: Incomplete) throws(Violation) -> ItemRecord? {
    guard file.isComplete, let record = file.record?.record else { return nil }
    try finish(record)
    return record
  }
}
