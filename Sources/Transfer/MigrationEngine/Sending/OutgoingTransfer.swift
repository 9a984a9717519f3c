import MigrationWire

extension SenderEngine {
  /// The facts that a run knows in every phase.
  struct Facts: Sendable {
    let settings: Settings
    /// The totals of the parts, once the walk has ended.
    var summaries: [SourceSummary]?
    var transfer = OutgoingTransfer()
    /// The receivers that need no code, newest first; those that were tried are left out.
    var devices: [KnownDevice] = []
    /// How many addresses of the receiver's choosing may still be dialled.
    var addressBudget = AddressBudget()
    /// The relay that the user was told about last.
    private var toldRelay: String?
    private var isPlainTold = false
    private var isEstimateTold = false
    /// The time of the event that is being handled, and the actions for it.
    var (now, actions) = (0.0, [Action]())

    init(_ settings: Settings) { self.settings = settings }

    mutating func act(_ action: Action) { actions.append(action) }

    func contents(of part: UInt16) -> Offer.Contents? { summaries?[Int(part)].contents }

    /// The result of the run, once every part has one.
    var outcome: TransferOutcome? {
      summaries.flatMap { transfer.outcome(of: $0.count) }
    }

    /// Tells the user through which relay a plan goes.
    mutating func tellRelay(_ relay: String?, _ plan: Plan) {
      if let relay, relay != toldRelay {
        act(.tell(.relayed(through: relay, bytes: plan.estimate.bytes)))
      }
      toldRelay = relay
    }

    /// Tells a user who has asked for compression why nothing is compressed.
    mutating func tellPlain(_ obstacle: String?) {
      guard settings.compression == .always, let obstacle, !isPlainTold else { return }
      isPlainTold = true
      act(.tell(.notice(obstacle)))
    }

    /// Tells the user how wrong the exporter's estimate was, if the difference matters.
    mutating func tellEstimate(_ expected: ExpectedTotal, _ actual: UInt64, of contents: Offer.Contents) {
      guard !isEstimateTold, let correction = expected.correction(actual, of: contents) else { return }
      isEstimateTold = true
      act(.tell(.notice(correction)))
    }
  }

  /// One part, over all sessions of its transfer and over restarts of the program.
  struct OutgoingPart: Sendable {
    /// The earlier run's knowledge of the part, and when it noted something last.
    private let unfinished: PartRecord?
    private let lastSeen: Int64?
    /// The newest FINISH of this run.
    var finish: Finish?
    /// How much the receiver held when the newest session began, once a ledger was read.
    private var heldBefore: UInt64?
    /// The items named as not stored.
    var named: NamedItems
    /// The names of the roots that the receiver leaves out.
    var refusedRoots: [[UInt8]] = []
    /// How it has ended: finished for good, or failed for this session.
    private(set) var outcome: TransferOutcome?
    /// The reason where it has failed, as a session may continue it or not.
    private(set) var fault: Failure?

    /// Whether the user was told about the items that an earlier run has named.
    private var isEarlierTold = false

    init(_ unfinished: PartRecord? = nil, seen lastSeen: Int64? = nil) {
      (self.unfinished, self.lastSeen) = (unfinished, lastSeen)
      named = NamedItems(unfinished?.notStored ?? [])
      if let done = unfinished?.finished?.done { finish(done) }
    }

    /// The items that an earlier run has named, if that run has finished the part. Returned once.
    mutating func takeEarlierNames() -> [TransferEvent] {
      guard finish == nil, let done = unfinished?.finished?.done, !isEarlierTold else { return [] }
      isEarlierTold = true
      return named.refusals.map { .notStored($0) } + done.renamedItems.map(\.event)
    }

    var isFinished: Bool { if case .success? = outcome { fault == nil } else { false } }

    /// A session judges it again.
    mutating func begin() {
      if !isFinished { (outcome, fault) = (nil, nil) }
    }

    /// The receiver has sent its ledger.
    mutating func begin(held: Tally) {
      heldBefore = held.bytes
      // The receiver names all of them again.
      named = NamedItems()
    }

    /// The information of earlier sessions about the end of the export.
    var earlier: Conversation.Earlier {
      if let finish { return .finished(finish.total) }
      return unfinished == nil ? .notFinished : .unknown
    }

    mutating func fail(by fault: Failure) { (outcome, self.fault) = (fault.outcome, fault) }

    /// A run that only reads DONE has nothing to send, and does not know which items were left out.
    mutating func finish(_ done: Done, sentBytes: UInt64 = 0) {
      outcome = .success(
        TransferResult(
          total: done.total, sentBytes: sentBytes, heldBytes: min(heldBefore ?? done.total.bytes, done.total.bytes),
          seconds: 0, unsent: finish?.unsent ?? unfinished?.unsent ?? 0, losses: done.losses,
          leftOut: finish?.leftOut ?? LeftOut(), notStored: done.notStored, renamed: done.renamed,
          removed: done.removed,
          lostAttributes: finish?.lostAttributes ?? [], concludedAt: finish == nil ? lastSeen : nil,
          failedParts: max(refusedRoots.count, finish == nil ? Int(unfinished?.refusedRoots ?? 0) : 0)))
    }
  }

  /// One transfer, over all its sessions and over restarts of the program.
  struct OutgoingTransfer: Sendable {
    /// Nil until the receiver has judged the plan, and that is recorded.
    var identifier: TransferID?
    /// By their numbers.
    private var parts: [UInt16: OutgoingPart] = [:]
    /// The best number of data streams so far, for the next session.
    var streams = StreamCount.first
    /// The traffic of this run.
    var traffic = Traffic()

    init(_ unfinished: EarlierTransfer? = nil) {
      identifier = unfinished?.identifier
      for (number, part) in (unfinished?.parts ?? []).enumerated() {
        parts[UInt16(number)] = OutgoingPart(part, seen: unfinished?.lastSeen)
      }
    }

    subscript(part: UInt16) -> OutgoingPart {
      get { parts[part] ?? OutgoingPart() }
      set { parts[part] = newValue }
    }

    /// The result of a plan of so many parts; nil while a part has none.
    func outcome(of count: Int) -> TransferOutcome? {
      let outcomes = (0..<UInt16(count)).compactMap { self[$0].outcome }
      return outcomes.count == count ? TransferOutcome.combined(outcomes, traffic) : nil
    }

    /// Whether a later session may still bring something (Protocol §6.6).
    var isResumable: Bool { parts.values.contains { $0.fault?.isResumable == true } }

    /// The items of the finished parts.
    var finished: Tally {
      parts.values.reduce(Tally()) { sum, part in
        if case .success(let result)? = part.outcome { sum.adding(result.total) } else { sum }
      }
    }
  }
}
