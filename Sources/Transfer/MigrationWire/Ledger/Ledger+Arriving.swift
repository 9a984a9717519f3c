/// Arriving entries: whether each is new, held or contradictory, and whether the offer allows it.
extension Ledger {
  /// Decides about a chunk or hole with a valid tag.
  package mutating func admit(_ place: FilePiece) throws(Violation) -> Admission {
    if let file = incomplete[place.path], file.generation == place.generation {
      if file.isRefused { return .held }
      if let record = file.record, place.range.upperBound > record.size {
        throw Violation(.conflict, "a chunk beyond the end of its file")
      }
      switch file.ranges.cover(of: place.range) {
      case .whole: return .held
      case .part: throw Violation(.conflict, "a chunk that is held in part")
      case .none: break
      }
      // A PARTIAL must have room for all ranges, and each stream may have admitted one more.
      guard file.ranges.all.count < Limits.rangesInPartial - Limits.streams else {
        throw Violation(.limit, "the pieces of an incomplete file")
      }
      try take(place)
      return .write(file.number, isNew: false, discarded: nil)
    }
    if isSettled(path: place.path, place.generation) { return .held }
    try checkPlace(deferred.entry(place.path))
    let discarded = try startAfresh(place.path)
    try take(place)
    return .write(try open(place.path, place.generation), isNew: true, discarded: discarded)
  }

  private mutating func take(_ place: FilePiece) throws(Violation) {
    let count = UInt64(place.range.count)
    try checkBytes(count)
    try budget.take(place)
    admittedBytes = admittedBytes.addingClamped(count)
  }

  /// Notes that the bytes of an admitted place are written. Returns the file's number and record
  /// once, when the file is complete.
  package mutating func stage(_ place: FilePiece) -> (FileNumber, ItemRecord)? {
    admittedBytes = admittedBytes.subtractingClamped(UInt64(place.range.count))
    guard let index = incomplete.index(forKey: place.path),
      incomplete.values[index].generation == place.generation, !incomplete.values[index].isRefused
    else { return nil }
    let before = incomplete.values[index].ranges.count
    incomplete.values[index].ranges.insert(place.range)
    let file = incomplete.values[index]
    incompleteBytes = incompleteBytes.addingClamped(file.ranges.count - before)
    guard file.isComplete, !file.isEnding, let record = file.record else { return nil }
    if !file.hasNewRecord { unvouched.insert(mark(record.record)) }
    incomplete.values[index].isEnding = true
    return (file.number, record.record)
  }

  /// Decides about a record. `hasContent`: the whole content of the file came with it.
  package mutating func receive(
    _ record: ItemRecord, _ names: LedgerNames? = nil, hasContent: Bool
  ) throws(Violation) -> Reception {
    let names = names ?? LedgerNames(record, keys)
    if !unvouched.isEmpty { unvouched.remove(names.mark) }
    if isComplete(names.mark) {
      try checkHeld(record)
      return .held
    }
    if refused.holds(names.mark) { return .held }
    try checkStaged(record)
    if !hasContent, let file = incomplete[record.path], file.generation == record.generation,
      file.hasNewRecord || file.isEnding
    {
      return .held
    }
    try checkPlace(deferred.entry(names.path))
    try checkItems(besides: record.path)
    try budget.take(record)
    if let file = incomplete[record.path], file.generation == record.generation, file.isRefused { return .refused }
    guard record.size > 0, !hasContent else {
      try checkBytes(record.size)
      return .create(discarded: try startAfresh(record.path))
    }
    guard let file = incomplete[record.path], file.generation == record.generation else {
      // The record arrived before its chunks, which come on another stream: the first chunk creates
      // the file.
      return .create(discarded: try startAfresh(record.path))
    }
    note(record)
    guard incomplete[record.path]?.isComplete == true else { return .waiting }
    incomplete[record.path]?.isEnding = true
    return .complete(file.number)
  }

  private mutating func note(_ record: ItemRecord) {
    incomplete[record.path]?.record = PackedRecord(record)
    incomplete[record.path]?.hasNewRecord = true
  }

  /// Throws if this session has brought a directory or hard link of a path in another state, which
  /// must not be replaced. Files and symbolic links are found on the disk.
  private func checkPlace(_ entry: DeferredItems.Entry?) throws(Violation) {
    guard entry?.isNew != true else { throw Violation(.conflict, "a second state of an item") }
  }

  /// Throws if the held parts of the same generation contradict the record.
  private func checkStaged(_ record: ItemRecord) throws(Violation) {
    guard let file = incomplete[record.path], file.generation == record.generation else { return }
    if let known = file.record, PackedRecord(known.record.unnamed) != PackedRecord(record.unnamed) {
      throw Violation(.conflict, "a second record of an item")
    }
    if let last = file.ranges.all.last, last.upperBound > record.size {
      throw Violation(.conflict, "a file smaller than its chunks")
    }
  }

  /// Opens an incomplete file for a record that came before its chunks. Returns the number of its
  /// staging file.
  package mutating func await(_ record: ItemRecord) throws(Violation) -> FileNumber {
    let number = try open(record.path, record.generation)
    note(record)
    return number
  }

  /// Forgets an incomplete file because another state of it comes, or the whole file again.
  private mutating func startAfresh(_ path: ArchivePath) throws(Violation) -> FileNumber? {
    guard let file = incomplete[path] else { return nil }
    try budget.restart(path, file.ranges.count)
    return discard(path)
  }

  private mutating func open(_ path: ArchivePath, _ generation: Generation) throws(Violation) -> FileNumber {
    // Counting the refused files pays only in a long list. As many of them may wait for their
    // records.
    if incomplete.count >= Limits.incompleteFiles {
      let refused = incomplete.values.count { $0.isRefused }
      guard incomplete.count - refused < Limits.incompleteFiles, refused < Limits.incompleteFiles else {
        throw Violation(.limit, "the list of incomplete files")
      }
    }
    let file = Incomplete(number: takeNumber(), generation: generation)
    incomplete[path] = file
    return file.number
  }

  private func checkItems(besides path: ArchivePath) throws(Violation) {
    let held = total.items.addingClamped(refused.total.items)
    let others = held.addingClamped(UInt64(incomplete.count)) - (incomplete[path] == nil ? 0 : 1)
    guard others < bound.items else {
      throw Violation(.announcement, "the number of items")
    }
  }

  private func checkBytes(_ more: UInt64) throws(Violation) {
    guard more <= bound.bytes, heldBytes.addingClamped(admittedBytes) <= bound.bytes - more else {
      throw Violation(.announcement, "the number of bytes")
    }
  }

  /// Restores a range that is in its staging file. Returns the record if the file is now complete.
  package mutating func restore(_ place: FilePiece) throws(Violation) -> ItemRecord? {
    guard !isSettled(path: place.path, place.generation) else { return nil }
    var file = restored(place.path, place.generation)
    let before = file.ranges.count
    file.ranges.insert(place.range)
    incompleteBytes = incompleteBytes.addingClamped(file.ranges.count - before)
    incomplete[place.path] = file
    return try finishIfComplete(file)
  }

  /// Restores the record of a file whose bytes are in ranges. Returns it if the file is now
  /// complete.
  package mutating func restore(sealed record: ItemRecord) throws(Violation) -> ItemRecord? {
    guard !knows(mark(record)) else { return nil }
    var file = restored(record.path, record.generation)
    file.record = PackedRecord(record)
    incomplete[record.path] = file
    return try finishIfComplete(file)
  }

  /// Forgets the item at a path; `record` is its record if it was complete.
  package mutating func forget(_ path: ArchivePath, complete record: ItemRecord? = nil) {
    discard(path)
    if let record { drop(record) }
  }

  /// The incomplete files and the numbers of their staging files.
  package var incompleteFiles: [(path: ArchivePath, number: FileNumber)] {
    incomplete.filter { !$0.value.isRefused }.map { ($0.key, $0.value.number) }.sorted { $0.0 < $1.0 }
  }

  /// The entry of an incomplete file; replaces an entry of another generation.
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
