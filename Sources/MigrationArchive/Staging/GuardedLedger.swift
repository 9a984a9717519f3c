import MigrationSystem
package import MigrationWire

/// How far an archive is, for those who must not wait for a disk.
struct StagingFigures: Sendable {
  /// How much is there, complete or not, and how many items are complete.
  fileprivate(set) var held = Tally()
  /// The items that the destination cannot hold, and the sum of their sizes.
  fileprivate(set) var refused = Tally()
  /// What of the items' metadata the destination could not hold so far.
  var losses: [Done.Loss.Kind: UInt64] = [:]
}

/// The ledger and what goes with it behind one lock, and its figures behind another that is held for nothing else.
///
/// A worker that has the first may make, remove or journal something meanwhile: a loop never takes it. The figures are those
/// of the last time that it was given back.
struct GuardedLedger: ~Copyable, Sendable {
  // Several streams want it at a time, for each item: threads sleep until it is free. The library's Mutex has them spin, which took
  // a quarter of a receiver's time.
  private let shared: Condition<Staging.Shared>
  private let figures: Condition<StagingFigures>

  init(_ shared: consuming Staging.Shared) {
    figures = Condition(StagingFigures(held: shared.held, refused: shared.ledger.refusedTotal))
    self.shared = Condition(shared)
  }

  func withLock<Result: Sendable, Failure: Error>(
    _ body: (inout Staging.Shared) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    LoopThread.check("wait for the ledger")
    return try shared.withLock { (shared) throws(Failure) -> Result in
      defer { publish(shared.held, shared.ledger.refusedTotal) }
      return try body(&shared)
    }
  }

  private func publish(_ held: Tally, _ refused: Tally) {
    withFigures { figures in
      figures.held = held
      figures.refused = refused
    }
  }

  func withFigures<Result: Sendable>(_ body: (inout StagingFigures) -> Result) -> Result {
    figures.withLock { body(&$0) }
  }
}

extension Staging.Shared {
  fileprivate var held: Tally { Tally(items: ledger.total.items, bytes: ledger.heldBytes) }
}

extension Staging {
  /// How much is there, complete or not, and how many items are complete. Like the other figures it never waits for a disk.
  package var held: Tally { shared.withFigures { $0.held } }

  /// How much of the archive need not come any more: the present and the refused items.
  package var settled: Tally { shared.withFigures { $0.held.adding($0.refused) } }

  /// How much of an offer need not come any more: all of it, once everything has arrived, whatever was estimated.
  package func settled(of offer: Offer) -> Tally {
    let settled = settled
    if case .receiving = stage { return settled }
    return Tally(items: max(settled.items, offer.items), bytes: max(settled.bytes, offer.bytes, offer.allocated))
  }

  /// How many items of the archive are refused.
  package var notStored: UInt64 { shared.withFigures { $0.refused.items } }

  /// What the destination could not hold so far.
  package var losses: [Done.Loss] {
    shared.withFigures { $0.losses }.map { Done.Loss(kind: $0.key, count: $0.value) }
      .sorted { $0.kind.rawValue < $1.kind.rawValue }
  }

  /// Counts something that the destination cannot hold.
  func lost(_ kind: Done.Loss.Kind, _ count: UInt64 = 1) {
    shared.withFigures { $0.losses[kind, default: 0] += count }
  }
}
