package import MigrationEngine
package import MigrationWire

/// The items that could not be sent, stored, or saved under their names: the first few in full, and
/// their number.
package struct UnsentList: Equatable, Sendable {
  /// The number of items kept for display.
  package static let shown = 20

  /// The first items that could not be sent.
  package private(set) var first: [Unsent] = []
  /// The number of items named.
  package private(set) var count: UInt64 = 0
  /// Whether an item is missing that should have been sent; sockets, devices and similar items of
  /// folders do not count.
  package private(set) var hasFailures = false

  /// The first items that were omitted because something else has their names.
  package private(set) var differing: [Unsent] = []
  /// The first items that were saved under another name, with that name.
  package private(set) var renamed: [Renaming] = []
  package private(set) var renamedCount: UInt64 = 0

  /// The first items that the destination could not store.
  package private(set) var notStored: [NotStored] = []

  /// An item that the destination could not store.
  package struct NotStored: Equatable, Sendable {
    package let path: [UInt8]
    package let reason: RefusalReason
    package let message: String?

    package init(path: [UInt8], reason: RefusalReason, message: String?) {
      self.path = path
      self.reason = reason
      self.message = message
    }
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
  private var settled: [UnsentList] = []

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
    case .unsent(let item): note(item)
    case .notStored(let path, let reason, let message):
      if notStored.count < Self.shown { notStored.append(NotStored(path: path, reason: reason, message: message)) }
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
      self = former.settled.first ?? UnsentList()
      (isApp, settled) = (former.isApp, former.settled)
    default: break
    }
  }

  /// Records an item that could not be sent.
  package mutating func note(_ item: Unsent) {
    if item.reason == .differing {
      if differing.count < Self.shown { differing.append(item) }
      return
    }
    count += 1
    if first.count < Self.shown { first.append(item) }
    if isApp || item.reason != .notSendable { hasFailures = true }
  }
}

extension Unsent {
  /// The reason, as a clause about the item.
  package var clause: String {
    let cause =
      switch reason {
      case .vanished: "vanished before it was sent"
      case .unreadable: "cannot be read"
      case .keepsChanging: "kept changing while it was read"
      case .notSendable: "is not a file, folder or link"
      case .beyondLimits: "is too long or too deep to be sent"
      case .differing: "exists at the destination and differs"
      case .notStorable: refusal?.words ?? "cannot be held by the destination"
      default: "could not be sent"
      }
    return message.map { "\(cause) (\(VisibleText.of($0)))" } ?? cause
  }
}

extension Unsent.Reason {
  /// The reason's name in JSON.
  package var name: String {
    switch self {
    case .vanished: "vanished"
    case .unreadable: "unreadable"
    case .keepsChanging: "keepsChanging"
    case .notSendable: "notSendable"
    case .beyondLimits: "beyondLimits"
    case .differing: "existsAndDiffers"
    case .notStorable: "notStorable"
    default: "other"
    }
  }
}

extension UnsentList.NotStored {
  /// The reason, as a clause about the item.
  package var clause: String {
    message.map { "\(reason.words) (\(VisibleText.of($0)))" } ?? reason.words
  }
}
