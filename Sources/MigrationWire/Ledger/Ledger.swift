/// What a receiver holds of an archive: complete items by their marks, incomplete files by their ranges.
///
/// Pure bookkeeping: it decides whether bytes are new, held or contradictory; writing them is the caller's business. Bytes of one
/// place must be written between `admit` and `stage`.
package struct Ledger: Sendable {
  /// Names the staging file of one generation of one incomplete file.
  package typealias FileNumber = UInt64

  struct Incomplete {
    let number: FileNumber
    let generation: Generation
    var ranges = ByteRanges()
    var record: ItemRecord?
    /// Somebody was told that nothing is missing, and makes an end of it.
    var isEnding = false

    var isComplete: Bool {
      guard let record else { return false }
      return ranges.all.elementsEqual(CollectionOfOne(0..<record.size))
    }
  }

  /// What to do with a chunk that came.
  package enum Admission: Equatable, Sendable {
    /// Write it. `isNew`: the file must be created first, after what was held under `discarded` is removed.
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
    /// Nothing of the item is there: make it. What was held of another generation must be removed first.
    case create(discarded: FileNumber?)
    /// It was the last thing missing of this staged file. Told once.
    case complete(FileNumber)
  }

  private let keys: TransferKeys
  /// The most that is taken in this session, what it begins with included.
  private var bound: Tally
  var incomplete: [ArchivePath: Incomplete] = [:]
  private var complete: Set<Mark> = []
  private var nextNumber: FileNumber = 0

  /// The complete items.
  package private(set) var total = Tally()
  /// The sum of the marks of the complete items.
  package private(set) var digest: UInt128 = 0
  /// Bytes held of incomplete files.
  package internal(set) var incompleteBytes: UInt64 = 0
  /// Records whose metadata can only be set when everything else is there.
  package private(set) var directories: [ArchivePath: ItemRecord] = [:]
  package private(set) var hardLinks: [ArchivePath: ItemRecord] = [:]

  /// An empty ledger that takes at most what `bound` says.
  package init(keys: TransferKeys, bound: Tally) {
    self.keys = keys
    self.bound = bound
  }

  /// Another session begins. Its offer bounds what comes in it; what is held may all be stale, and so is not counted.
  package mutating func begin(_ offered: Tally) {
    let held = Tally(items: total.items + UInt64(incomplete.count), bytes: heldBytes)
    let (items, isEndless) = offered.items.addingReportingOverflow(held.items)
    bound = Tally(items: isEndless ? .max : items, bytes: min(Limits.fileSize, offered.bytes + held.bytes))
  }

  /// Whether a file is held complete in this generation.
  func holds(path: ArchivePath, _ generation: Generation) -> Bool {
    complete.contains(keys.mark(path: path, generation: generation))
  }

  /// Whether an item is held complete.
  package func holds(_ record: ItemRecord) -> Bool { complete.contains(mark(record)) }

  /// Whether an item of this mark is held complete.
  package func holds(_ mark: Mark) -> Bool { complete.contains(mark) }

  /// How much is held, complete or not.
  package var heldBytes: UInt64 { total.bytes + incompleteBytes }

  /// The marks of the complete items, ascending.
  package var marks: [Mark] { complete.sorted() }

  /// The incomplete files, as they are told to the sender.
  package var partials: [Partial] {
    incomplete.filter { !$0.value.ranges.all.isEmpty }
      .map { Partial(path: $0.key, generation: $0.value.generation, ranges: $0.value.ranges) }
      .sorted { $0.path < $1.path }
  }

  /// A chunk or hole came, and its tag fits.
  package mutating func admit(_ place: ChunkPlace) throws(Violation) -> Admission {
    if let file = incomplete[place.path], file.generation == place.generation {
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
      try checkBytes(UInt64(place.range.count))
      return .write(file.number, isNew: false, discarded: nil)
    }
    if holds(path: place.path, place.generation) { return .held }
    try checkBytes(UInt64(place.range.count))
    let discarded = discard(place.path)
    return .write(try open(place.path, place.generation), isNew: true, discarded: discarded)
  }

  /// The bytes of an admitted place are written. The file's number and record, once, if that was the last thing missing.
  package mutating func stage(_ place: ChunkPlace) -> (FileNumber, ItemRecord)? {
    guard let index = incomplete.index(forKey: place.path),
      incomplete.values[index].generation == place.generation
    else { return nil }
    let before = incomplete.values[index].ranges.count
    incomplete.values[index].ranges.insert(place.range)
    let file = incomplete.values[index]
    incompleteBytes += file.ranges.count - before
    guard file.isComplete, !file.isEnding, let record = file.record else { return nil }
    incomplete.values[index].isEnding = true
    return (file.number, record)
  }

  /// A record came; for a file `hasContent` says that the whole content came with it.
  package mutating func receive(_ record: ItemRecord, hasContent: Bool) throws(Violation) -> Reception {
    if complete.contains(mark(record)) {
      try checkHeld(record)
      return .held
    }
    try checkItems(besides: record.path)
    try checkStaged(record)
    guard record.size > 0, !hasContent else {
      try checkBytes(record.size)
      return .create(discarded: discard(record.path))
    }
    if let file = incomplete[record.path], file.generation == record.generation {
      guard !file.isEnding else { return .held }
      incomplete[record.path]?.record = record
      guard incomplete[record.path]?.isComplete == true else { return .waiting }
      incomplete[record.path]?.isEnding = true
      return .complete(file.number)
    }
    // The record overtook its chunks on another stream: the file is made when the first of them comes.
    return .create(discarded: discard(record.path))
  }

  /// Fails when another record of a complete item is held; of files and symbolic links only the mark is.
  private func checkHeld(_ record: ItemRecord) throws(Violation) {
    let held = directories[record.path] ?? hardLinks[record.path]
    guard let held, held.generation == record.generation, held != record else { return }
    throw Violation(.conflict, "a second record of an item")
  }

  /// Fails when what is held of the same generation contradicts the record.
  private func checkStaged(_ record: ItemRecord) throws(Violation) {
    guard let file = incomplete[record.path], file.generation == record.generation else { return }
    if let known = file.record, known != record { throw Violation(.conflict, "a second record of an item") }
    if let last = file.ranges.all.last, last.upperBound > record.size {
      throw Violation(.conflict, "a file smaller than its chunks")
    }
  }

  /// A file's record came before any of its chunks: the staging file to create for it.
  package mutating func await(_ record: ItemRecord) throws(Violation) -> FileNumber {
    let number = try open(record.path, record.generation)
    incomplete[record.path]?.record = record
    return number
  }

  /// An item is made, with everything but what waits for the end. A directory or hard link of another generation that had its
  /// path is dropped.
  package mutating func finish(_ record: ItemRecord) throws(Violation) {
    let mark = mark(record)
    guard complete.insert(mark).inserted else { return try checkHeld(record) }
    if let old = directories[record.path] ?? hardLinks[record.path] { drop(old) }
    if let file = incomplete.removeValue(forKey: record.path) { incompleteBytes -= file.ranges.count }
    total.items += 1
    total.bytes += record.size
    digest &+= mark
    switch record.body {
    case .directory: directories[record.path] = record
    case .hardLink: hardLinks[record.path] = record
    case .file, .symbolicLink: break
    }
  }

  /// A complete item is no longer at the source in this generation: it is as if it had never come.
  package mutating func drop(_ record: ItemRecord) {
    let mark = mark(record)
    guard complete.remove(mark) != nil else { return }
    total.items -= 1
    total.bytes -= record.size
    digest &-= mark
    if directories[record.path]?.generation == record.generation { directories[record.path] = nil }
    if hardLinks[record.path]?.generation == record.generation { hardLinks[record.path] = nil }
  }

  /// Forgets every incomplete file; the paths whose staged parts are to be removed.
  package mutating func dropIncomplete() -> [ArchivePath] {
    defer {
      incomplete = [:]
      incompleteBytes = 0
    }
    return incomplete.keys.sorted()
  }

  /// Whether this is exactly what the sender says the archive consists of.
  package func agrees(with finish: Finish) -> Bool {
    total == finish.total && digest == finish.digest
  }

  /// What names an item in one state to both ends.
  package func mark(_ record: ItemRecord) -> Mark {
    keys.mark(path: record.path, generation: record.generation)
  }

  /// Forgets an incomplete file; the number of what was staged of it.
  @discardableResult
  package mutating func discard(_ path: ArchivePath) -> FileNumber? {
    guard let file = incomplete.removeValue(forKey: path) else { return nil }
    incompleteBytes -= file.ranges.count
    return file.number
  }

  private mutating func open(_ path: ArchivePath, _ generation: Generation) throws(Violation) -> FileNumber {
    guard incomplete.count < Limits.incompleteFiles else { throw Violation(.limit, "the incomplete files") }
    let file = Incomplete(number: takeNumber(), generation: generation)
    incomplete[path] = file
    return file.number
  }

  mutating func takeNumber() -> FileNumber {
    defer { nextNumber += 1 }
    return nextNumber
  }

  private func checkItems(besides path: ArchivePath) throws(Violation) {
    let others = total.items + UInt64(incomplete.count) - (incomplete[path] == nil ? 0 : 1)
    guard others < bound.items else {
      throw Violation(.announcement, "the number of items")
    }
  }

  private func checkBytes(_ more: UInt64) throws(Violation) {
    guard more <= bound.bytes, heldBytes <= bound.bytes - more else {
      throw Violation(.announcement, "the number of bytes")
    }
  }
}

extension Offer {
  /// The most that the receiver takes upon this offer (Protocol §11): sources live, so a quarter and a fixed margin may come on
  /// top; of an estimate more, since nobody but an app's exporter knows what it will make.
  package var bound: Tally {
    if flags.contains(.estimated) {
      return Tally(
        items: items + items / 2 + 1_048_576, bytes: min(Limits.fileSize, bytes + bytes / 2 + 1_073_741_824))
    }
    return Tally(
      items: items + items / 4 + 1_024, bytes: min(Limits.fileSize, bytes + bytes / 4 + 67_108_864))
  }
}
