import MigrationWire

extension SenderEngine {
  /// The facts that a run knows in every phase.
  struct RunFacts: Sendable {
    let settings: Settings
    /// The totals of the source, once the walk has ended.
    var summary: SourceSummary?
    var transfer = Transfer()
    private var isPlainTold = false
    private var isWithholdingTold = false
    private var isEstimateTold = false

    init(_ settings: Settings) { self.settings = settings }

    /// Tells a user who has asked for compression why nothing is compressed.
    mutating func tellPlain(_ obstacle: String?, _ actions: inout [Action]) {
      guard settings.compression == .always, let obstacle, !isPlainTold else { return }
      isPlainTold = true
      actions.append(.tell(.notice(obstacle)))
    }

    /// Tells the user how wrong the exporter's estimate was, if the difference matters.
    mutating func tellEstimate(_ expected: ExpectedTotal, _ actual: UInt64, _ actions: inout [Action]) {
      guard !isEstimateTold, let contents = summary?.contents,
        let correction = expected.correction(actual, of: contents)
      else { return }
      isEstimateTold = true
      actions.append(.tell(.notice(correction)))
    }

    /// Tells the user which items of the source the destination cannot hold.
    mutating func tellWithholding(_ clause: String, _ actions: inout [Action]) {
      guard !isWithholdingTold else { return }
      isWithholdingTold = true
      actions.append(.tell(.notice(clause)))
    }
  }

  /// One transfer, over all its sessions and over restarts of the program.
  struct Transfer: Sendable {
    /// The transfer of an earlier run; nil for a transfer that begins with a pairing.
    let unfinished: UnfinishedTransfer?
    /// Nil until the receiver has accepted an offer and sent its ledger.
    var identifier: TransferID?
    /// The newest FINISH of this run.
    var finish: Finish?
    /// How much the receiver held when the newest session began, once a ledger was read.
    var heldBefore: UInt64?
    /// The items named as not stored.
    var named: NamedItems
    /// The best number of data streams so far, for the next session.
    var streams = StreamCount.first

    init(_ unfinished: UnfinishedTransfer? = nil) {
      self.unfinished = unfinished
      identifier = unfinished?.identifier
      named = NamedItems(unfinished?.refusals ?? [])
    }

    /// A receiver has accepted an offer and sent its ledger.
    mutating func begin(_ accept: Accept, held: Tally) {
      identifier = accept.transfer
      heldBefore = held.bytes
      // The receiver names all of them again.
      named = NamedItems()
    }

    /// The information of earlier sessions about the end of the export.
    var earlier: SenderSession.Earlier {
      if let finish { return .finished(finish.total) }
      return unfinished == nil ? .notFinished : .unknown
    }

    /// The result of a finished transfer. A run that only reads DONE has nothing to send, and does
    /// not know which items were left out.
    func result(_ done: Done, _ traffic: Traffic) -> TransferResult {
      TransferResult(
        total: done.total, sentBytes: traffic.sent, savedBytes: traffic.saved,
        heldBytes: min(heldBefore ?? done.total.bytes, done.total.bytes), seconds: traffic.seconds,
        unsent: finish?.unsent ?? unfinished?.unsent ?? 0, losses: done.losses,
        leftOut: finish?.leftOut ?? LeftOut(), notStored: done.notStored, leftBehind: finish?.leftBehind ?? [],
        concludedAt: finish == nil ? unfinished?.lastSeen : nil)
    }
  }
}
