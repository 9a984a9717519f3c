package import MigrationEngine
package import MigrationWire

/// What could not be sent, and what did not arrive as it was called: the first few in full, and how many there were.
package struct UnsentList: Equatable, Sendable {
  /// How many are kept to be shown.
  package static let shown = 20

  /// The first of them.
  package private(set) var first: [Unsent] = []
  /// How many were named.
  package private(set) var count: UInt64 = 0
  /// Whether one of them should have been sent, and is no socket, device or the like.
  package private(set) var hasFailures = false

  /// The first of those that were left out, since something else has their names.
  package private(set) var differing: [Unsent] = []
  /// The first of those that have another name now, with that.
  package private(set) var renamed: [Renaming] = []
  package private(set) var renamedCount: UInt64 = 0

  /// The first of those that the destination cannot hold.
  package private(set) var notStored: [NotStored] = []

  /// Something that the destination cannot hold.
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

  /// Something that arrived under another name.
  package struct Renaming: Equatable, Sendable {
    package let path: [UInt8]
    package let target: [UInt8]

    package init(path: [UInt8], target: [UInt8]) {
      self.path = path
      self.target = target
    }
  }

  package init() {}

  /// Whether nothing that should have been sent is missing. Sockets, devices and the like are never sent, so they alone do not
  /// count. Of very many unsent items not all are named; those count.
  package func isComplete(_ result: TransferResult) -> Bool {
    result.notStored == 0 && !hasFailures && result.unsent <= count
  }

  /// Takes note of what an event says about it.
  package mutating func note(_ event: TransferEvent) {
    switch event {
    case .unsent(let item): note(item)
    case .notStored(let path, let reason, let message):
      if notStored.count < Self.shown { notStored.append(NotStored(path: path, reason: reason, message: message)) }
    // What could not be sent, or not be stored, is named again.
    case .resumed: self = UnsentList()
    default: break
    }
  }

  /// Takes note of one that has another name now.
  package mutating func note(_ renaming: Renaming) {
    renamedCount += 1
    if renamed.count < Self.shown { renamed.append(renaming) }
  }

  /// Takes note of one.
  package mutating func note(_ item: Unsent) {
    if item.reason == .differing {
      if differing.count < Self.shown { differing.append(item) }
      return
    }
    count += 1
    if first.count < Self.shown { first.append(item) }
    if item.reason != .notSendable { hasFailures = true }
  }
}

extension Unsent {
  /// Why, as a clause about the item.
  package var clause: String {
    let cause =
      switch reason {
      case .vanished: "vanished before it was sent"
      case .unreadable: "cannot be read"
      case .keepsChanging: "kept changing while it was read"
      case .notSendable: "is no file, folder or link"
      case .beyondLimits: "is too long or too deep to be sent"
      case .differing: "exists there and differs"
      case .notStorable: refusal?.words ?? "cannot be held by the destination"
      }
    return message.map { "\(cause) (\(VisibleText.of($0)))" } ?? cause
  }
}

extension Unsent.Reason {
  /// What the reason is called in JSON.
  package var name: String {
    switch self {
    case .vanished: "vanished"
    case .unreadable: "unreadable"
    case .keepsChanging: "keepsChanging"
    case .notSendable: "notSendable"
    case .beyondLimits: "beyondLimits"
    case .differing: "existsAndDiffers"
    case .notStorable: "notStorable"
    }
  }
}

extension UnsentList.NotStored {
  /// Why, as a clause about the item.
  package var clause: String {
    message.map { "\(reason.words) (\(VisibleText.of($0)))" } ?? reason.words
  }
}

extension RefusalReason {
  /// What the reason is called in JSON.
  package var name: String {
    switch self {
    case .nameNotAllowed: "nameNotAllowed"
    case .nameTooLong: "nameTooLong"
    case .nameTaken: "nameTaken"
    case .kindNotSupported: "kindNotSupported"
    case .tooLarge: "tooLarge"
    case .targetTooLong: "targetTooLong"
    case .directoryNotStored: "directoryNotStored"
    case .targetNotStored: "targetNotStored"
    case .other: "other"
    }
  }
}
