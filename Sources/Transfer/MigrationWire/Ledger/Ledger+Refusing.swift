/// The items that the destination cannot hold. A refused state of an item stays refused for the
/// whole transfer, unless its class was refused by the user, who takes it now.
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

  /// Refuses an item whose record has come. Returns the number of its staging file if parts of it
  /// had come.
  @discardableResult
  package mutating func refuse(_ record: ItemRecord) -> FileNumber? {
    let mark = mark(record)
    if isComplete(mark) { drop(record) }
    let number = incomplete[record.path].flatMap { $0.generation == record.generation ? discard(record.path) : nil }
    refused.add(record.path, mark, size: record.size)
    return number
  }

  /// The record (nil if it has not come) and the staging file's number of an incomplete file that
  /// is not refused.
  package func refusable(
    _ path: ArchivePath, _ generation: Generation
  ) -> (record: ItemRecord?, number: FileNumber)? {
    guard let file = incomplete[path], file.generation == generation, !file.isRefused else { return nil }
    return (file.record?.record, file.number)
  }

  /// Refuses a file whose chunks have come. Returns its record (nil if it has not come) and the
  /// number of its staging file.
  ///
  /// Without a record the file waits for its record, which has the size. A record of an earlier
  /// session counts only when it has come again, since the source may not have the file any more.
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

  /// Restores a refusal from the journal; without a size the record had not come.
  package mutating func restore(refused path: ArchivePath, _ generation: Generation, size: UInt64?) {
    if let size {
      if let file = incomplete[path], file.generation == generation { discard(path) }
      let mark = keys.mark(path: path, generation: generation)
      // An earlier claim that the item is complete no longer counts.
      deferred.remove(path, mark)
      forget(mark, size: size)
      refused.add(path, mark, size: size)
    } else {
      // This generation replaces an earlier one.
      discard(path)
      incomplete[path] = Incomplete(number: takeNumber(), generation: generation, isRefused: true)
    }
  }

  /// Forgets that a state of an item is refused. Returns whether it is a file whose record has not come.
  package mutating func allow(_ path: ArchivePath, _ generation: Generation) -> Bool {
    refused.remove(keys.mark(path: path, generation: generation))
    guard let file = incomplete[path], file.generation == generation, file.isRefused else { return false }
    discard(path)
    return true
  }

  /// Removes a refused item that the source no longer has in this state.
  package mutating func dropRefused(_ mark: Mark) { refused.remove(mark) }

  /// The items that the destination cannot hold (Protocol §9.8). Each counts like a held item,
  /// although none of it is stored.
  struct RefusedItems: Sendable {
    private struct Entry: Sendable {
      let path: UInt128
      let size: UInt64
    }

    private let keys: TransferKeys
    private var entries: [Mark: Entry] = [:]
    /// The number of refused states of each path, by the path's hash.
    private var paths: [UInt128: Int] = [:]

    private(set) var total = Tally()
    /// The sum of their marks.
    private(set) var digest: UInt128 = 0

    init(_ keys: TransferKeys) { self.keys = keys }

    var marks: [Mark] { Array(entries.keys) }

    func holds(_ mark: Mark) -> Bool { !entries.isEmpty && entries[mark] != nil }

    /// Whether an item of this path is refused, in any state.
    func holds(path: ArchivePath) -> Bool { !paths.isEmpty && paths[keys.digest(of: path)] != nil }

    mutating func add(_ path: ArchivePath, _ mark: Mark, size: UInt64) {
      let digest = keys.digest(of: path)
      guard entries.updateValue(Entry(path: digest, size: size), forKey: mark) == nil else { return }
      paths[digest, default: 0] += 1
      total = total.adding(Tally(items: 1, bytes: size))
      self.digest &+= mark
    }

    mutating func remove(_ mark: Mark) {
      guard let entry = entries.removeValue(forKey: mark) else { return }
      let others = (paths[entry.path] ?? 1) - 1
      paths[entry.path] = others > 0 ? others : nil
      total.items -= 1
      // Sums are clamped, since another device tells of sizes.
      total.bytes = total.bytes.subtractingClamped(entry.size)
      digest &-= mark
    }
  }
}
