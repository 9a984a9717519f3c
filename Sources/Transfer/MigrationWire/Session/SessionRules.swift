/// The number of items that a session may still name one by one, and their bytes (Protocol §11).
package struct NamingBudget: Equatable, Sendable {
  private var count = 0
  private var bytes = 0

  package init() {}

  /// Counts an item of `size` bytes. Returns false, and does not count it, if it does not fit.
  package mutating func take(_ size: Int) -> Bool {
    guard count < Limits.notStored, size <= Limits.notStoredBytes - bytes else { return false }
    count += 1
    bytes += size
    return true
  }
}

/// How many ADDRESSES a session may still bring (Protocol §6.9).
struct AddressesCount: Equatable, Sendable {
  private static let most = 16
  private var count = 0

  mutating func take() throws(Violation) {
    guard count < Self.most else { throw Violation(.limit, "the addresses") }
    count += 1
  }
}

extension Offer.Contents {
  /// Whether the receiver may refuse items: an app's importer gets everything that its exporter
  /// made, or nothing (Protocol §9.8).
  package var mayBeRefused: Bool { if case .app = self { false } else { true } }
}

extension Part {
  /// Whether the receiver may refuse items: parts of kind 1 and 3 (Protocol §9.8).
  var mayBeRefused: Bool { offered?.mayBeRefused == true }
}

extension Conversation {
  /// The order of a ledger's messages (Protocol §6.4), and their limits (Protocol §11).
  struct LedgerOrder: Equatable, Sendable {
    private var room: UInt64
    private var last: Held?
    private(set) var staged: UInt64 = 0
    private var partials = 0

    init(room: UInt64) { self.room = room }

    mutating func check(_ held: Held) throws(Violation) {
      if let last {
        let ascends = last.kind == held.kind ? last.marks[0] < held.marks[0] : last.kind.rawValue < held.kind.rawValue
        guard ascends else { throw Violation(.value, "a page of the ledger") }
      }
      try take(UInt64(held.marks.count))
      if held.kind == .staged { staged += UInt64(held.marks.count) }
      // The next page is compared with the greatest mark only.
      last = Held(kind: held.kind, marks: [held.marks[held.marks.count - 1]])
    }

    mutating func count(_ partial: Partial) throws(Violation) {
      partials += 1
      guard partials <= Limits.incompleteFiles else { throw Violation(.limit, "the list of incomplete files") }
      try take(partial.ledgerRoom)
    }

    private mutating func take(_ marks: UInt64) throws(Violation) {
      guard marks <= room else { throw Violation(.limit, "the ledger") }
      room -= marks
    }
  }
}
