/// Items that the destination cannot hold. A state of an item that was refused once stays so for
/// the whole transfer.
extension Ledger {
  /// Whether this state of an item is refused.
  package func refuses(_ mark: Mark) -> Bool { refused.holds(mark) }

  /// Whether an item of this path is refused, in any state.
  package func refuses(path: ArchivePath) -> Bool { refused.holds(path: path) }

  /// The refused files whose records have not come.
  package var refusedWithoutRecord: [ArchivePath] { incomplete.filter { $0.value.isRefused }.keys.sorted() }

  /// Whether a state of an item is refused, or a file whose record has not come.
  package func isRefused(_ path: ArchivePath, _ generation: Generation) -> Bool {
    if let file = incomplete[path], file.generation == generation { return file.isRefused }
    return refuses(keys.mark(path: path, generation: generation))
  }

  /// How many items are refused, and the sum of their sizes.
  package var refusedTotal: Tally { refused.total }

  /// An item with a record cannot be held; the number of its staged file, if it came in parts.
  @discardableResult
  package mutating func refuse(_ record: ItemRecord) -> FileNumber? {
    let mark = mark(record)
    if complete.contains(mark) { drop(record) }
    let number = incomplete[record.path].flatMap { $0.generation == record.generation ? discard(record.path) : nil }
    refused.add(record.path, mark, size: record.size)
    return number
  }

  /// An incomplete file that is not refused: its record, if that has come, and the number of its
  /// staging file.
  package func refusable(
    _ path: ArchivePath, _ generation: Generation
  ) -> (record: ItemRecord?, number: FileNumber)? {
    guard let file = incomplete[path], file.generation == generation, !file.isRefused else { return nil }
    return (file.record?.record, file.number)
  }

  /// A file of which chunks have come cannot be held; its record, if that has come as well, and the
  /// number of its staged file.
  ///
  /// Without a record it waits for one: only that tells its size. A record of an earlier session
  /// counts only once it has come again: the source may have the file no longer.
  @discardableResult
  package mutating func refuse(
    _ path: ArchivePath, _ generation: Generation
  ) -> (record: ItemRecord?, number: FileNumber)? {
    guard let file = refusable(path, generation) else { return nil }
    if let record = file.record {
      if incomplete[path]?.hasNewRecord == false { unvouched.insert(mark(record)) }
      refuse(record)
    } else {
      incompleteBytes = incompleteBytes.subtractingClamped(incomplete[path]?.ranges.count ?? 0)
      incomplete[path] = Incomplete(number: file.number, generation: generation, isRefused: true)
    }
    return file
  }

  /// The journal tells of a refusal; without a size the record had not come.
  package mutating func restore(refused path: ArchivePath, _ generation: Generation, size: UInt64?) {
    if let size {
      if let file = incomplete[path], file.generation == generation { discard(path) }
      let mark = keys.mark(path: path, generation: generation)
      // An earlier claim that the item is complete no longer counts.
      deferred.remove(path, mark)
      forget(mark, size: size)
      refused.add(path, mark, size: size)
    } else {
      // Another generation came before this one, and gave way.
      discard(path)
      incomplete[path] = Incomplete(number: takeNumber(), generation: generation, isRefused: true)
    }
  }

  /// The source no longer has a refused item in this state.
  package mutating func dropRefused(_ mark: Mark) { refused.remove(mark) }
}
