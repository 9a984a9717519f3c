/// The receiver's holdings of an archive: complete items by their marks, incomplete files by their
/// ranges.
///
/// Pure bookkeeping: it decides whether bytes are new, held or contradictory; writing them is the
/// caller's business. Bytes of one place must be written between `admit` and `stage`.
package struct Ledger: Sendable {
  /// Names the staging file of one generation of one incomplete file.
  package typealias FileNumber = UInt64

  struct Incomplete {
    let number: FileNumber
    let generation: Generation
    var ranges = ByteRanges()
    var record: PackedRecord?
    /// Whether this session brought the record.
    var hasNewRecord = false
    /// A stream knows that the file is complete, and finishes it.
    var isEnding = false
    /// The destination cannot hold it: no part of it is written, and its record has yet to come.
    var isRefused = false

    var isComplete: Bool {
      guard !isRefused, let record else { return false }
      return ranges.all.elementsEqual(CollectionOfOne(0..<record.size))
    }
  }

  /// What to do with a chunk that came.
  package enum Admission: Equatable, Sendable {
    /// Write it. `isNew`: remove the holdings under `discarded` first, then create the file.
    case write(FileNumber, isNew: Bool, discarded: FileNumber?)
    /// Every byte of it is held already.
    case held
  }

  /// What to do with a record that came.
  package enum Reception: Equatable, Sendable {
    /// It is held already.
    case held
    /// Chunks are still missing.
    case waiting
    /// The receiver holds nothing of the item: make it. Remove the parts of another generation
    /// first.
    case create(discarded: FileNumber?)
    /// It was the last thing missing of this staged file. Told once.
    case complete(FileNumber)
    /// The destination cannot hold the file, as its chunks have shown: refuse the record.
    case refused
  }

  let keys: TransferKeys
  /// The most that is taken in this session, what it begins with included.
  var bound: Tally
  var budget: SessionBudget
  /// Bytes that were admitted and are not staged yet.
  var admittedBytes: UInt64 = 0
  var incomplete: [ArchivePath: Incomplete] = [:]
  var complete: Set<Mark> = []
  private var nextNumber: FileNumber = 0

  /// The complete items.
  package private(set) var total = Tally()
  /// The sum of the marks of the complete items.
  package private(set) var digest: UInt128 = 0
  /// Bytes held of incomplete files.
  package internal(set) var incompleteBytes: UInt64 = 0
  /// The files that are whole or refused by a record of an earlier session, which says nothing of
  /// bytes that came in this one: it must come again.
  package internal(set) var unvouched: Set<Mark> = []
  /// Items whose metadata can only be set when everything else is there.
  var deferred: DeferredItems
  var refused: RefusedItems

  /// An empty ledger that takes at most what `bound` says.
  package init(keys: TransferKeys, bound: Bound) {
    self.keys = keys
    self.bound = Tally(items: bound.items, bytes: bound.bytes)
    budget = SessionBudget(bound)
    deferred = DeferredItems(keys)
    refused = RefusedItems(keys)
  }

  /// Begins another session. Its offer bounds the items that it brings. The holdings may all be
  /// stale, so they are not counted.
  ///
  /// No stream writes meanwhile. A directory or hard link that the journal was not told of, since
  /// it could not be written, is as if it had never come.
  package mutating func begin(_ offered: Bound) {
    for mark in deferred.begin() { forget(mark, size: 0) }
    for index in incomplete.values.indices {
      incomplete.values[index].hasNewRecord = false
      // An end that was not made is made when the record comes again.
      incomplete.values[index].isEnding = false
    }
    admittedBytes = 0
    unvouched = []
    budget = SessionBudget(offered)
    bound = Tally(items: offered.items, bytes: offered.bytes)
      .adding(Tally(items: total.items.addingClamped(UInt64(incomplete.count)), bytes: heldBytes))
      .adding(refused.total)
  }

  /// Bytes of metadata that this session has brought so far.
  package var metadata: UInt64 { budget.metadata }

  /// Whether a file is held complete in this generation.
  func holds(path: ArchivePath, _ generation: Generation) -> Bool {
    complete.contains(keys.mark(path: path, generation: generation))
  }

  /// Whether nothing more is to be done about a generation of a file: it is held, or refused.
  func isSettled(path: ArchivePath, _ generation: Generation) -> Bool {
    knows(keys.mark(path: path, generation: generation))
  }

  /// Whether an item is held complete.
  package func holds(_ record: ItemRecord) -> Bool { complete.contains(mark(record)) }

  /// Whether every byte of a piece is held.
  package func holds(_ place: ChunkPlace) -> Bool {
    guard let file = incomplete[place.path], file.generation == place.generation else {
      return isSettled(path: place.path, place.generation)
    }
    return file.ranges.cover(of: place.range) == .whole
  }

  /// Whether a file of this generation is there in part.
  package func isIncomplete(_ path: ArchivePath, _ generation: Generation) -> Bool {
    incomplete[path]?.generation == generation
  }

  /// How much is held, and how much of incomplete files is being written.
  package var comingBytes: UInt64 { heldBytes.addingClamped(admittedBytes) }

  /// Whether an item of this mark is held complete, or refused.
  package func knows(_ mark: Mark) -> Bool { complete.contains(mark) || refused.holds(mark) }

  /// How much is held, complete or not.
  package var heldBytes: UInt64 { total.bytes.addingClamped(incompleteBytes) }

  /// The marks of the complete items and of the refused ones, ascending.
  package var marks: [Mark] { refused.total.items == 0 ? complete.sorted() : (refused.marks + complete).sorted() }

  /// The incomplete files, as they are told to the sender.
  package var partials: [Partial] {
    incomplete.filter { !$0.value.ranges.all.isEmpty }
      .map { Partial(path: $0.key, generation: $0.value.generation, ranges: $0.value.ranges) }
      .sorted { $0.path < $1.path }
  }

  /// An item is made, except for the parts that wait for the end. A directory or hard link of
  /// another generation with the same path is dropped.
  package mutating func finish(_ record: ItemRecord) throws(Violation) {
    let mark = mark(record)
    guard complete.insert(mark).inserted else { return try checkHeld(record) }
    if let old = deferred.entry(record.path) {
      deferred.remove(record.path, old.mark)
      forget(old.mark, size: 0)
    }
    discard(record.path)
    total = total.adding(Tally(items: 1, bytes: record.size))
    digest &+= mark
    switch record.body {
    case .directory, .hardLink: deferred.add(record, mark)
    case .file, .symbolicLink: break
    }
  }

  /// Fails when another record of a complete item is held; of files and symbolic links only the
  /// mark is.
  func checkHeld(_ record: ItemRecord) throws(Violation) {
    guard deferred.contradicts(record, mark(record)) else { return }
    throw Violation(.conflict, "a second record of an item")
  }

  /// The journal tells of a complete item at a position.
  package mutating func place(_ record: ItemRecord, at position: UInt64) {
    deferred.place(record.path, mark(record), at: position)
  }

  /// A complete item is no longer at the source in this generation: it is as if it had never come.
  package mutating func drop(_ record: ItemRecord) {
    let mark = mark(record)
    deferred.remove(record.path, mark)
    forget(mark, size: record.size)
  }

  mutating func forget(_ mark: Mark, size: UInt64) {
    guard complete.remove(mark) != nil else { return }
    total.items -= 1
    // Another device could have told of one state with two sizes.
    total.bytes = total.bytes.subtractingClamped(size)
    digest &-= mark
  }

  /// Forgets every incomplete file; the paths whose staged parts are to be removed.
  package mutating func dropIncomplete() -> [ArchivePath] {
    defer {
      incomplete = [:]
      incompleteBytes = 0
    }
    return incomplete.filter { !$0.value.isRefused }.keys.sorted()
  }

  /// Whether this is exactly the archive of the sender's FINISH.
  package func agrees(with finish: Finish) -> Bool { difference(from: finish) == nil }

  /// The differences from the sender's FINISH; nil if there are none. Refused items are counted.
  package func difference(from finish: Finish) -> String? {
    let (here, sum) = (total.adding(refused.total), digest &+ refused.digest)
    let said = finish.total
    var parts: [String] = []
    if here.items != said.items {
      parts.append("the sender counts \(said.items) items, and this device counts \(here.items)")
    }
    if here.bytes != said.bytes {
      parts.append("the sender counts \(said.bytes) bytes, and this device counts \(here.bytes)")
    }
    if sum != finish.digest {
      parts.append("the digest is \(finish.digest.hexadecimal), and \(sum.hexadecimal) is computed here")
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  /// The name that both ends have for an item in one state.
  package func mark(_ record: ItemRecord) -> Mark {
    keys.mark(path: record.path, generation: record.generation)
  }

  /// Forgets an incomplete file. Returns the number of its staging file, or nil if the file is
  /// refused.
  @discardableResult
  package mutating func discard(_ path: ArchivePath) -> FileNumber? {
    guard let file = incomplete.removeValue(forKey: path) else { return nil }
    incompleteBytes = incompleteBytes.subtractingClamped(file.ranges.count)
    return file.isRefused ? nil : file.number
  }

  mutating func takeNumber() -> FileNumber {
    defer { nextNumber += 1 }
    return nextNumber
  }
}
