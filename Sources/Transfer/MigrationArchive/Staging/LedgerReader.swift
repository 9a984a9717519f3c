import MigrationSystem
package import MigrationWire

/// Reports the receiver's data to a sender, part by part (Protocol §6.4): the staged items, the
/// existing items at the destination, and the incomplete files.
///
/// Used by a worker. It takes the ledger's lock only once, for the time needed to take a reference.
/// No stream of the session writes before the last part is sent, so the data does not change while
/// it is read. A mark takes 16 bytes until it is sent.
package struct LedgerReader: Sendable {
  private let staging: Staging
  private let length: Int
  /// The number of marks that the sender has room for, including those of incomplete files.
  private let room: UInt64
  /// The marks of each kind that remain to be sent, in order. The marks of staged items are added
  /// first, with the first part.
  private var lists: [(kind: Held.Kind, marks: ArraySlice<Mark>)]
  private var partials: ArraySlice<Partial> = []
  /// The total of the staged data, once it has been looked up.
  private var held: Tally?

  /// Reports on a session that has begun and whose streams do not write yet, to a sender that has
  /// room for so many marks. A part has at most `partLength` bytes on the wire, except for a single
  /// incomplete file in very many pieces.
  package init(_ staging: Staging, present: PresentItems, room: UInt64, partLength: Int = 256 << 10) {
    self.staging = staging
    self.room = room
    length = partLength
    lists = [
      (.present, present.present[...]), (.taken, present.taken[...]), (.removed, present.removed[...]),
      (.arrived, present.arrived[...]), (.state, present.states[...]), (.content, present.contents[...]),
      (.base, present.bases[...]),
    ]
  }

  /// The next part. The first call is slow: there may be millions of marks to sort.
  package mutating func next() -> LedgerPage {
    let held = begun()
    var part = LedgerPage()
    var room = length
    while let list = lists.first {
      guard !list.marks.isEmpty else {
        lists.removeFirst()
        continue
      }
      let count = min(list.marks.count, Held.most(in: room))
      guard count > 0 else { return part }
      let page = Held(kind: list.kind, marks: Array(list.marks.prefix(count)))
      part.pages.append(page)
      room -= page.frameLength
      lists[0].marks.removeFirst(count)
    }
    while let partial = partials.first {
      let isAlone = part.pages.isEmpty && part.partials.isEmpty
      guard isAlone || partial.frameLength <= room else { return part }
      part.partials.append(partial)
      room -= partial.frameLength
      partials.removeFirst()
    }
    part.end = held
    return part
  }

  /// The total of the staged data, looked up with the first part.
  private mutating func begun() -> Tally {
    if let held { return held }
    let ledger = staging.shared.withLock { $0.ledger }
    let marks = ledger.marks
    let held = Tally(items: UInt64(marks.count), bytes: ledger.heldBytes)
    partials = ledger.partials[...]
    // The sender must know all staged items, and as many existing items as it has room for.
    let rest = room.subtractingClamped(partials.reduce(UInt64(marks.count)) { $0 + $1.ledgerRoom })
    let each = Int(clamping: rest / UInt64(max(1, lists.count { !$0.marks.isEmpty })))
    for index in lists.indices { lists[index].marks = lists[index].marks.prefix(each) }
    lists.insert((.staged, marks[...]), at: 0)
    self.held = held
    return held
  }
}

extension Held {
  /// The number of marks in a page of this many bytes, including the header.
  fileprivate static func most(in room: Int) -> Int {
    min(Limits.marksInFrame, (room - Limits.frameHeader - 1) / 16)
  }

  fileprivate var frameLength: Int { Limits.frameHeader + 1 + 16 * marks.count }
}

extension Partial {
  /// The greatest length, including the header: three fields, each with a tag and a length.
  fileprivate var frameLength: Int { Limits.frameHeader + 3 * 9 + path.bytes.count + 16 + 16 * ranges.all.count }
}

/// The positions in the journal of the complete items that earlier sessions brought, by path.
///
/// The ledger knows items only by their marks. This index is built only when a new item is in
/// conflict with an old one.
struct EarlierItems: Sendable {
  private var positions: [UInt64: UInt64] = [:]

  /// Reads the journal up to a position; the last record of a path counts.
  init(_ journal: JournalFile, upTo end: UInt64) throws {
    try journal.forEach(upTo: end) { position, record in
      if let item = record.completedItem { positions[Self.hash(item.path, journal.key)] = position }
    }
  }

  /// The record of an item, if the journal has one that was complete at some time.
  func record(of path: ArchivePath, in journal: JournalFile) throws(SystemError) -> ItemRecord? {
    guard let position = positions[Self.hash(path, journal.key)],
      let item = try journal.record(at: position)?.completedItem, item.path == path
    else { return nil }
    return item
  }

  /// A path in eight bytes. Without the key it is impossible to construct two paths with equal
  /// hashes; an accidental collision is detected.
  static func hash(_ path: ArchivePath, _ key: UInt128) -> UInt64 {
    var hash = SipHash(key: key)
    hash.combine(path.bytes)
    return UInt64(truncatingIfNeeded: hash.finish())
  }
}

extension JournalRecord {
  /// The item that this record completes, possibly together with the claimed ranges.
  var completedItem: ItemRecord? {
    switch self {
    case .item(let record, _), .sealed(let record): record
    case .opened, .range, .discarded, .discardedTree, .void, .synced, .concluded, .moving, .exposed, .imported,
      .existing, .refused, .placing, .aside, .arrived, .rewritten, .following, .importing, .placed, .kept:
      nil
    }
  }
}

extension ArchivePath {
  /// Whether this path is `directory`, or is inside it.
  func isWithin(_ directory: ArchivePath) -> Bool {
    bytes.starts(with: directory.bytes)
      && (bytes.count == directory.bytes.count || bytes[directory.bytes.count] == UInt8(ascii: "/"))
  }

  /// The directories above it, root first, and the path itself.
  var lineage: [ArchivePath] {
    var lineage = [self]
    while let parent = lineage[lineage.count - 1].parent { lineage.append(parent) }
    return lineage.reversed()
  }
}
