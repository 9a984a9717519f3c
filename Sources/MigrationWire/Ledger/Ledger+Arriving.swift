/// Arriving entries: whether each is new, held or contradictory, and whether the offer allows it.
extension Ledger {
  /// A chunk or hole came, and its tag fits.
  package mutating func admit(_ place: ChunkPlace) throws(Violation) -> Admission {
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
      // So that a PARTIAL can tell them, with what every stream has admitted and not yet staged.
      guard file.ranges.all.count < Limits.rangesInPartial - Limits.streams else {
        throw Violation(.limit, "the pieces of an incomplete file")
      }
      try take(place)
      return .write(file.number, isNew: false, discarded: nil)
    }
    if isSettled(path: place.path, place.generation) { return .held }
    try checkPlace(of: place.path)
    let discarded = try startAfresh(place.path)
    try take(place)
    return .write(try open(place.path, place.generation), isNew: true, discarded: discarded)
  }

  private mutating func take(_ place: ChunkPlace) throws(Violation) {
    let count = UInt64(place.range.count)
    try checkBytes(count)
    try budget.take(place)
    admittedBytes = admittedBytes.addingClamped(count)
  }

  /// The bytes of an admitted place are written. The file's number and record, once, if that was
  /// the last thing missing.
  package mutating func stage(_ place: ChunkPlace) -> (FileNumber, ItemRecord)? {
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

  /// A record came; for a file `hasContent` says that the whole content came with it.
  package mutating func receive(_ record: ItemRecord, hasContent: Bool) throws(Violation) -> Reception {
    if !unvouched.isEmpty { unvouched.remove(mark(record)) }
    if complete.contains(mark(record)) {
      try checkHeld(record)
      return .held
    }
    if refused.holds(mark(record)) { return .held }
    try checkStaged(record)
    if !hasContent, let file = incomplete[record.path], file.generation == record.generation,
      file.hasNewRecord || file.isEnding
    {
      return .held
    }
    try checkPlace(of: record.path)
    try checkItems(besides: record.path)
    try budget.take(record)
    if let file = incomplete[record.path], file.generation == record.generation, file.isRefused { return .refused }
    guard record.size > 0, !hasContent else {
      try checkBytes(record.size)
      return .create(discarded: try startAfresh(record.path))
    }
    guard let file = incomplete[record.path], file.generation == record.generation else {
      // The record overtook its chunks on another stream: the file is made when the first of them
      // comes.
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

  /// Fails if this session has brought a directory or hard link with this path in another state: an
  /// item of this session never gives way. Files and symbolic links are found on the disk.
  private func checkPlace(of path: ArchivePath) throws(Violation) {
    guard deferred.entry(path)?.isNew != true else { throw Violation(.conflict, "a second state of an item") }
  }

  /// Fails if the held parts of the same generation contradict the record.
  private func checkStaged(_ record: ItemRecord) throws(Violation) {
    guard let file = incomplete[record.path], file.generation == record.generation else { return }
    if let known = file.record, known != PackedRecord(record) {
      throw Violation(.conflict, "a second record of an item")
    }
    if let last = file.ranges.all.last, last.upperBound > record.size {
      throw Violation(.conflict, "a file smaller than its chunks")
    }
  }

  /// A file's record came before any of its chunks: the staging file to create for it.
  package mutating func await(_ record: ItemRecord) throws(Violation) -> FileNumber {
    let number = try open(record.path, record.generation)
    note(record)
    return number
  }

  /// Forgets an incomplete file since another state of it comes, or all of it anew.
  private mutating func startAfresh(_ path: ArchivePath) throws(Violation) -> FileNumber? {
    guard let file = incomplete[path] else { return nil }
    try budget.restart(path, file.ranges.count)
    return discard(path)
  }

  private mutating func open(_ path: ArchivePath, _ generation: Generation) throws(Violation) -> FileNumber {
    // Only where there are many is it worth counting those that are refused, of which as many may
    // wait for their records.
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
}
