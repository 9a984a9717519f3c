package import MigrationEngine
import MigrationWire

/// The items that could not be sent, stored, or saved under their names: the first few in full, and
/// their number.
package struct NotStoredList: Equatable, Sendable {
  /// The number of items kept for display.
  package static let shown = 20

  /// The first items that could not be sent.
  package private(set) var first: [Named] = []
  /// The number of items named.
  package private(set) var count: UInt64 = 0
  /// Whether an item is missing that should have been sent; sockets, devices and similar items of
  /// folders do not count.
  package private(set) var hasFailures = false

  /// The first items that were left out because something else has their names.
  package private(set) var differing: [Named] = []
  /// The first items that were saved under another name, with that name.
  package private(set) var renamed: [Renaming] = []
  package private(set) var renamedCount: UInt64 = 0

  /// The first items that the destination could not store.
  package private(set) var notStored: [Named] = []

  /// An item that is not at the destination, and why: a clause.
  package struct Named: Equatable, Sendable {
    package let path: [UInt8]
    package let clause: String
  }

  /// An item that was saved under another name.
  package struct Renaming: Equatable, Sendable {
    package let path: [UInt8]
    package let target: [UInt8]

    package init(path: [UInt8], target: [UInt8]) {
      self.path = path
      self.target = target
    }
  }

  /// Whether the transfer is an app's, all of whose items its exporter wants to be sent.
  private var isApp = false
  /// One: the items of the parts that have arrived, which are not named again.
  private var settled: [NotStoredList] = []

  package init() {}

  /// Whether every item arrived that should have been sent. Sockets, devices and similar items of
  /// folders are never sent, so they alone do not count. If there are too many unsent items to name all, the
  /// unnamed ones count.
  package func isComplete(_ result: TransferResult) -> Bool {
    result.failedParts == 0 && result.notStored == 0 && result.removed.unsettled == 0 && !hasFailures
      && result.unsent <= count
  }

  /// Records an event about items.
  package mutating func note(_ event: TransferEvent) {
    switch event {
    case .offer(let offer, _, _): if case .app = offer.contents { isApp = true } else { isApp = false }
    case .notStored(let item, let text): note(item, text)
    case .renamed(let path, let target):
      renamedCount += 1
      if renamed.count < Self.shown { renamed.append(Renaming(path: path, target: target)) }
    case .partEnded(let end):
      guard end.root == nil, case .success = end.result else { return }
      settled = []
      settled = [self]
    // Items of a part that has not arrived are named again.
    case .resumed:
      let former = self
      self = former.settled.first ?? NotStoredList()
      (isApp, settled) = (former.isApp, former.settled)
    default: break
    }
  }

  private mutating func note(_ item: NotStored, _ note: String?) {
    func add(to list: inout [Named]) {
      if list.count < Self.shown { list.append(Named(path: item.path, clause: item.clause(note))) }
    }
    if item.reason == .existsAndDiffers { return add(to: &differing) }
    guard item.reason.party == .sender else { return add(to: &notStored) }
    count += 1
    add(to: &first)
    if isApp || item.reason != .notSendable { hasFailures = true }
  }
}
