/// The parts of an archive that the receiver has: complete items by their marks, incomplete files
/// by their ranges.
///
/// It decides whether bytes are new, held or contradictory. The caller writes them, between `admit`
/// and `stage`.
package struct Ledger: Sendable {
  /// Names the staging file of one generation of one incomplete file.
  package typealias FileNumber = UInt64

  struct Incomplete {
    let number: FileNumber
    let generation: Generation
    var ranges = ByteRanges()
    var record: PackedRecord?
    /// Whether the record arrived in this session.
    var hasNewRecord = false
    /// Whether a stream is finishing the complete file.
    var isEnding = false
    /// Whether the destination cannot hold it. No part of it is written, and its record has not
    /// come.
    var isRefused = false

    var isComplete: Bool {
      guard !isRefused, let record else { return false }
      return ranges.all.elementsEqual(CollectionOfOne(0..<record.size))
    }
  }

  /// The decision about a chunk.
  package enum Admission: Equatable, Sendable {
    /// Write it. `isNew`: first remove the staging file `discarded`, then create the file.
    case write(FileNumber, isNew: Bool, discarded: FileNumber?)
    /// Every byte of it is held.
    case held
  }

  /// The decision about a record.
  package enum Reception: Equatable, Sendable {
    /// It is held.
    case held
    /// Chunks are still missing.
    case waiting
    /// Make the item: no part of it is held. First remove the staging file `discarded` of another
    /// generation.
    case create(discarded: FileNumber?)
    /// This staging file is complete now. Returned once.
    case complete(FileNumber)
    /// The destination cannot hold the file, as its chunks have shown: refuse the record.
    case refused
  }

  let keys: TransferKeys
  /// The limits of this session, including the items that it begins with.
  var bound: Tally
  var budget: SessionBudget
  /// The bytes that were admitted and are not staged yet.
  var admittedBytes: UInt64 = 0
  var incomplete: [ArchivePath: Incomplete] = [:]
  var complete: Set<SipHash.KeyedHash> = []
  private var nextNumber: FileNumber = 0

  /// The complete items.
  package private(set) var total = Tally()
  /// The sum of the marks of the complete items.
  package private(set) var digest: UInt128 = 0
  /// The bytes of incomplete files.
  package internal(set) var incompleteBytes: UInt64 = 0
  /// The files that are complete or refused by a record of an earlier session. The record must come
  /// again, since it does not cover the bytes of this session.
  package internal(set) var unvouched: Set<Mark> = []
  /// The items whose metadata is set when everything else exists.
  var deferred: DeferredItems
  var refused: RefusedItems

  /// An empty ledger with the limits `bound`.
  package init(keys: TransferKeys, bound: Bound) {
    self.keys = keys
    self.bound = Tally(items: bound.items, bytes: bound.bytes)
    budget = SessionBudget(bound)
    deferred = DeferredItems(keys)
    refused = RefusedItems(keys)
  }

  /// Begins another session with the limits of its offer. The held items come on top, since they
  /// may all be stale.
  ///
  /// No stream writes meanwhile. Directories and hard links without a record in the journal are
  /// forgotten.
  package mutating func begin(_ offered: Bound) {
    for mark in deferred.begin() { forget(mark, size: 0) }
    for index in incomplete.values.indices {
      incomplete.values[index].hasNewRecord = false
      // The file is finished when the record comes again.
      incomplete.values[index].isEnding = false
    }
    admittedBytes = 0
    unvouched = []
    budget = SessionBudget(offered)
    bound = Tally(items: offered.items, bytes: offered.bytes)
      .adding(Tally(items: total.items.addingClamped(UInt64(incomplete.count)), bytes: heldBytes))
      .adding(refused.total)
  }

  /// The bytes of metadata that this session has brought.
  package var metadata: UInt64 { budget.metadata }

  /// Whether a file is held complete in this generation.
  func holds(path: ArchivePath, _ generation: Generation) -> Bool {
    isComplete(keys.mark(path: path, generation: generation))
  }

  /// Whether a generation of an item is held complete.
  package func holdsComplete(_ path: ArchivePath, _ generation: Generation) -> Bool { holds(path: path, generation) }

  /// Whether a generation of a file is held complete or refused.
  func isSettled(path: ArchivePath, _ generation: Generation) -> Bool {
    knows(keys.mark(path: path, generation: generation))
  }

  /// Whether an item is held complete.
  package func holds(_ record: ItemRecord) -> Bool { isComplete(mark(record)) }

  /// Whether an item is held complete.
  package func holds(_ names: LedgerNames) -> Bool { isComplete(names.mark) }

  func isComplete(_ mark: Mark) -> Bool { complete.contains(SipHash.KeyedHash(value: mark)) }

  /// Whether every byte of a piece is held.
  package func holds(_ place: FilePiece) -> Bool {
    guard let file = incomplete[place.path], file.generation == place.generation else {
      return isSettled(path: place.path, place.generation)
    }
    return file.ranges.cover(of: place.range) == .whole
  }

  /// Whether a file of this generation is there in part.
  package func isIncomplete(_ path: ArchivePath, _ generation: Generation) -> Bool {
    incomplete[path]?.generation == generation
  }

  /// The number of bytes that are held or are being written.
  package var comingBytes: UInt64 { heldBytes.addingClamped(admittedBytes) }

  /// Whether an item of this mark is held complete, or refused.
  package func knows(_ mark: Mark) -> Bool { isComplete(mark) || refused.holds(mark) }

  /// The number of bytes that are held of complete and incomplete files.
  package var heldBytes: UInt64 { total.bytes.addingClamped(incompleteBytes) }

  /// The marks of the complete items and of the refused ones, ascending.
  package var marks: [Mark] {
    var marks = complete.map(\.value)
    marks += refused.marks
    marks.sort()
    return marks
  }

  /// The incomplete files for the sender.
  package var partials: [Partial] {
    incomplete.filter { !$0.value.ranges.all.isEmpty }
      .map { Partial(path: $0.key, generation: $0.value.generation, ranges: $0.value.ranges) }
      .sorted { $0.path < $1.path }
  }

  /// Notes that an item is made, except for its deferred parts. Drops a directory or hard link of
  /// another generation with the same path.
  package mutating func finish(_ record: ItemRecord, _ names: LedgerNames? = nil) throws(Violation) {
    let names = names ?? LedgerNames(record, keys)
    let mark = names.mark
    guard complete.insert(SipHash.KeyedHash(value: mark)).inserted else { return try checkHeld(record) }
    if let old = deferred.entry(names.path) {
      deferred.remove(record.path, old.mark)
      forget(old.mark, size: 0)
    }
    discard(record.path)
    total = total.adding(Tally(items: 1, bytes: record.size))
    digest &+= mark
    switch record.body {
    case .directory, .hardLink: deferred.add(record, mark)
    case .file, .symbolicLink, .metadata: break
    }
  }

  /// Throws if a different record of the same complete item is held; of files and symbolic links,
  /// only the mark is known.
  func checkHeld(_ record: ItemRecord) throws(Violation) {
    guard deferred.contradicts(record, mark(record)) else { return }
    throw Violation(.conflict, "a second record of an item")
  }

  /// Stores the position of a complete item's record in the journal.
  package mutating func place(_ record: ItemRecord, at position: UInt64) {
    deferred.place(record.path, mark(record), at: position)
  }

  /// Forgets a complete item that the source no longer has in this generation.
  package mutating func drop(_ record: ItemRecord) {
    let mark = mark(record)
    deferred.remove(record.path, mark)
    forget(mark, size: record.size)
  }

  mutating func forget(_ mark: Mark, size: UInt64) {
    guard complete.remove(SipHash.KeyedHash(value: mark)) != nil else { return }
    total.items -= 1
    // Another device could have sent one state with two sizes.
    total.bytes = total.bytes.subtractingClamped(size)
    digest &-= mark
  }

  /// Forgets every incomplete file. Returns the paths whose staged parts are to be removed.
  package mutating func dropIncomplete() -> [ArchivePath] {
    defer {
      incomplete = [:]
      incompleteBytes = 0
    }
    return incomplete.filter { !$0.value.isRefused }.keys.sorted()
  }

  /// The differences from the sender's FINISH; nil if there are none. Refused items are counted. What
  /// `besides` sums up is held, and the sender does not count it.
  package func difference(from finish: Finish, besides: (total: Tally, digest: UInt128) = (Tally(), 0)) -> String? {
    let (here, sum) = (total.adding(refused.total), digest &+ refused.digest)
    let said = finish.total.adding(besides.total)
    var parts: [String] = []
    if here.items != said.items {
      parts.append("the sender counts \(said.items) items, and this device counts \(here.items)")
    }
    if here.bytes != said.bytes {
      parts.append("the sender counts \(said.bytes) bytes, and this device counts \(here.bytes)")
    }
    if sum != finish.digest &+ besides.digest {
      parts.append(
        "the digest is \((finish.digest &+ besides.digest).hexadecimal), and \(sum.hexadecimal) is computed here")
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  /// The mark of an item's state.
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

  /// A record in its encoded form: with many small attributes, the decoded form takes ten times as
  /// much memory.
  struct PackedRecord: Equatable, Sendable {
    /// The file's size.
    let size: UInt64
    private let bytes: [UInt8]

    init(_ record: ItemRecord) {
      size = record.size
      var writer = ByteWriter()
      record.write(to: &writer)
      // A copy has no room to spare.
      bytes = [UInt8](copying: writer.bytes.span)
    }

    var record: ItemRecord {
      guard let record = try? ItemRecord(bytes.span, 0..<bytes.count) else {
        preconditionFailure("an encoded record decodes")
      }
      return record
    }
  }
}

/// The hashes under which a ledger knows an item: a caller computes them once, before it takes the
/// ledger's lock.
package struct LedgerNames: Sendable {
  let mark: Mark
  let path: SipHash.KeyedHash

  package init(_ record: ItemRecord, _ keys: TransferKeys) {
    mark = keys.mark(path: record.path, generation: record.generation)
    path = SipHash.KeyedHash(value: keys.digest(of: record.path))
  }
}
