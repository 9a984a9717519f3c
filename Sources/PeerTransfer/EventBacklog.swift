package import MigrationEngine
import MigrationWire

/// The unread events of a transfer, in a bounded number of bytes.
///
/// A value: it does not depend on the writer or its speed. Events that do not fit are counted, and
/// the number is reported when there is room again. Only the latest progress is kept; older
/// progress does not count as missed.
package struct EventBacklog: Sendable {
  /// The next output.
  package enum Entry: Sendable {
    /// An event, and whether the transfer is complete if the event is its end.
    case event(TransferEvent, isComplete: Bool)
    /// This many events did not fit.
    case missed(UInt64)
  }

  /// The most bytes that wait. All items that another device may name in a session as not stored
  /// fit (Protocol §11), so a program that reads misses none of them.
  package static let capacity = 16 << 20

  /// Events of one priority, in their order.
  private struct Lane: Sendable {
    struct Waiting: Sendable {
      let number: UInt64
      let event: TransferEvent
      let isComplete: Bool
      let size: Int
    }

    /// Taken events leave empty places.
    private var places: [Waiting?] = []
    private var start = 0

    var first: Waiting? { start < places.count ? places[start] : nil }
    var last: Waiting? { places.last ?? nil }

    mutating func append(_ waiting: Waiting) { places.append(waiting) }

    mutating func removeFirst() -> Waiting? {
      guard let first else { return nil }
      places[start] = nil
      start += 1
      if 2 * start >= places.count {
        places.removeFirst(start)
        start = 0
      }
      return first
    }

    mutating func removeLast() -> Waiting? { last == nil ? nil : places.removeLast() }
  }

  private let capacity: Int
  private var next: UInt64 = 0
  /// Events that give way to all others: their number is unlimited, and the end of a transfer has
  /// their totals.
  private var light = Lane()
  private var weighty = Lane()
  private var size = 0
  private var missed: UInt64 = 0

  package init(capacity: Int = EventBacklog.capacity) { self.capacity = capacity }

  /// Adds an event; it replaces others if there is no room.
  package mutating func add(_ event: TransferEvent, isComplete: Bool = true) {
    if let last = light.last, last.number + 1 == next, event.isProgress(after: last.event) {
      _ = remove { $0.light.removeLast() }
    }
    let waiting = Lane.Waiting(number: next, event: event, isComplete: isComplete, size: event.size)
    next += 1
    guard waiting.size <= capacity - (event.isLight ? size : 0) else { return leaveOut(waiting) }
    while size + waiting.size > capacity, let other = remove({ $0.light.removeLast() }) { leaveOut(other) }
    while size + waiting.size > capacity, let other = remove({ $0.weighty.removeFirst() }) { leaveOut(other) }
    size += waiting.size
    if event.isLight { light.append(waiting) } else { weighty.append(waiting) }
  }

  /// The number of all added events, which is also the number of the next one.
  package var count: UInt64 { next }

  /// Whether an event that was added before this number is still waiting.
  package func hasEvents(before number: UInt64) -> Bool {
    [light, weighty].contains { $0.first.map { $0.number < number } ?? false }
  }

  /// Takes the next output; nil if there is none.
  package mutating func take() -> Entry? {
    if missed > 0, 2 * size <= capacity {
      defer { missed = 0 }
      return .missed(missed)
    }
    let isLight = light.first?.number ?? .max < weighty.first?.number ?? .max
    return remove { isLight ? $0.light.removeFirst() : $0.weighty.removeFirst() }.map {
      .event($0.event, isComplete: $0.isComplete)
    }
  }

  /// Drops the events that give way to all others, because the time is too short for them.
  package mutating func shed() {
    while let other = remove({ $0.light.removeLast() }) { leaveOut(other) }
  }

  private mutating func remove(_ body: (inout EventBacklog) -> Lane.Waiting?) -> Lane.Waiting? {
    let waiting = body(&self)
    size -= waiting?.size ?? 0
    return waiting
  }

  private mutating func leaveOut(_ waiting: Lane.Waiting) {
    if case .progress = waiting.event.plain { return }
    missed += 1
  }
}

extension TransferEvent {
  /// Whether it replaces the event before it: progress of the same transfer and phase.
  fileprivate func isProgress(after before: TransferEvent) -> Bool {
    switch (before, self) {
    case (.progress(let old), .progress(let new)): new.phase == old.phase
    case (.of(let other, let old), .of(let transfer, let new)): transfer == other && new.isProgress(after: old)
    default: false
    }
  }

  /// Whether it gives way to other events if there is not enough room.
  fileprivate var isLight: Bool {
    switch plain {
    case .progress, .notStored, .renamed, .extensionOutput: true
    default: false
    }
  }

  /// Its approximate size in memory, in bytes.
  fileprivate var size: Int {
    let texts =
      switch plain {
      case .notStored(let item, let note): item.size + (note?.utf8.count ?? 0)
      case .renamed(let path, let target): path.count + target.count
      case .extensionOutput(_, let line): line.count
      case .notice(let text): text.utf8.count
      case .failed(let failure): failure.size
      case .partEnded(let end):
        if case .failure(let failure) = end.result { failure.size } else { end.name.utf8.count }
      case .plan(let parts, _):
        parts.reduce(0) { $0 + 256 + $1.name.utf8.count + $1.roots.reduce(0) { $0 + 64 + $1.name.count } }
      case .interrupted(let reason), .unannounced(let reason): reason.utf8.count
      case .offer(let offer, _, _): offer.namesSize
      case .confined(let directories), .unconfined(_, let directories): directories.reduce(0) { $0 + $1.count }
      default: 0
      }
    return 256 + texts
  }
}

extension Failure {
  fileprivate var size: Int { message.utf8.count + (hint?.utf8.count ?? 0) + (name?.count ?? 0) }
}

extension Offer {
  fileprivate var namesSize: Int {
    guard case .folders(let roots) = contents else { return 4 * Limits.identifier }
    return roots.reduce(0) { $0 + 64 + $1.name.count }
  }
}
