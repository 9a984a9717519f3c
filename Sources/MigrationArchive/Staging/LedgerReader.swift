package import MigrationWire

/// Tells a sender what there is, part by part (Protocol §6.4): what is staged, what the destination has already, and the
/// incomplete files.
///
/// A worker's. It takes the ledger's lock once, for as long as a reference takes: no stream of the session writes before the
/// last part is told, so that what it reads stays as it is. One mark takes 16 bytes until it is told.
package struct LedgerReader: Sendable {
  /// What is told at a time.
  package struct Part: Equatable, Sendable {
    package fileprivate(set) var pages: [Held] = []
    package fileprivate(set) var partials: [Partial] = []
    /// What all of it comes to, with the last part.
    package fileprivate(set) var end: Tally?
  }

  /// Marks of one kind that are not told yet.
  private struct List {
    let kind: Held.Kind
    var marks: ArraySlice<Mark>
  }

  private let staging: Staging
  private let length: Int
  /// What is left to tell, in its order; the marks of what is staged come first, with the first part.
  private var lists: [List]
  private var partials: ArraySlice<Partial> = []
  /// What is staged, once that was looked up.
  private var held: Tally?

  /// Tells of a session that has begun and whose streams do not write yet. A part has at most so many bytes on the wire, but
  /// for one incomplete file in very many pieces.
  package init(_ staging: Staging, present: PresentItems, tellsTaken: Bool, partLength: Int = 256 << 10) {
    self.staging = staging
    length = partLength
    lists = [List(kind: .present, marks: present.present[...])]
    if tellsTaken { lists.append(List(kind: .taken, marks: present.taken[...])) }
  }

  /// The next part. Slow at first: there may be millions of marks to sort.
  package mutating func next() -> Part {
    let held = begun()
    var part = Part()
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

  /// What is staged; looked up with the first part.
  private mutating func begun() -> Tally {
    if let held { return held }
    let ledger = staging.shared.withLock { $0.ledger }
    let marks = ledger.marks
    let held = Tally(items: UInt64(marks.count), bytes: ledger.heldBytes)
    lists.insert(List(kind: .staged, marks: marks[...]), at: 0)
    partials = ledger.partials[...]
    self.held = held
    return held
  }
}

extension Held {
  /// How many marks a page of so many bytes has, its header included.
  fileprivate static func most(in room: Int) -> Int {
    min(Limits.marksInFrame, (room - Limits.frameHeader - 1) / 16)
  }

  fileprivate var frameLength: Int { Limits.frameHeader + 1 + 16 * marks.count }
}

extension Partial {
  /// At most so long, its header included: three fields, each with a tag and a length.
  fileprivate var frameLength: Int { Limits.frameHeader + 3 * 9 + path.bytes.count + 16 + 16 * ranges.all.count }
}
