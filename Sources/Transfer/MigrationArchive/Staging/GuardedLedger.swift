import MigrationSystem
import MigrationWire

/// The ledger and its related state behind one lock, and its figures behind a second lock that
/// protects only them.
///
/// A worker that holds the first lock may create, remove or journal items meanwhile, so a loop
/// never takes it. The figures are those of the last time that the lock was released.
struct GuardedLedger: ~Copyable, Sendable {
  // Several streams need it at a time, for each item: threads sleep until it is free. With the
  // library's Mutex they spin, which took a quarter of a receiver's time.
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

  /// The progress of an archive, for threads that must not wait for a disk.
  struct StagingFigures: Sendable {
    /// The total of the staged data, complete or not, and the number of complete items.
    fileprivate(set) var held = Tally()
    /// The bytes that an earlier process staged, and the bytes of the holes that came since.
    var uncounted: UInt64 = 0
    var holes: UInt64 = 0
    /// The items that the destination cannot hold, and the sum of their sizes.
    fileprivate(set) var refused = Tally()
    /// The metadata that the destination could not hold so far, counted by kind.
    var losses: [Done.Loss.Kind: UInt64] = [:]
    /// Whether an item came with an owner that the user wants.
    var hasOwners = false
  }
}

extension Staging.Shared {
  fileprivate var held: Tally { Tally(items: ledger.total.items, bytes: ledger.heldBytes) }
}
