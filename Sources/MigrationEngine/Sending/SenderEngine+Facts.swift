import MigrationWire

extension SenderEngine {
  /// What a run knows, whatever its phase is.
  struct RunFacts: Sendable {
    let settings: Settings
    /// What there is to send, once the walk has ended.
    var summary: SourceSummary?
    var transfer = Transfer()
    private var isPlainTold = false
    private var isWithholdingTold = false
    private var isEstimateTold = false

    init(_ settings: Settings) { self.settings = settings }

    /// Says why nothing is compressed to a user who has asked for it.
    mutating func tellPlain(_ obstacle: String?, _ actions: inout [Action]) {
      guard settings.wantsCompression, let obstacle, !isPlainTold else { return }
      isPlainTold = true
      actions.append(.tell(.notice(obstacle)))
    }

    /// Says how far off the exporter's estimate was, if that is worth a word.
    mutating func tellEstimate(_ expected: ExpectedTotal, _ actual: UInt64, _ actions: inout [Action]) {
      guard !isEstimateTold, let contents = summary?.contents,
        let correction = expected.correction(actual, of: contents)
      else { return }
      isEstimateTold = true
      actions.append(.tell(.notice(correction)))
    }

    /// Says what of the source the destination cannot hold.
    mutating func tellWithholding(_ clause: String, _ actions: inout [Action]) {
      guard !isWithholdingTold else { return }
      isWithholdingTold = true
      actions.append(.tell(.notice(clause)))
    }
  }

  /// One transfer, over all its sessions and over restarts of the program.
  struct Transfer: Sendable {
    /// What an earlier run began; nil for a transfer that begins with a pairing.
    let unfinished: UnfinishedTransfer?
    /// Nil until the receiver has accepted an offer and told what it holds.
    var identifier: TransferID?
    /// What the newest FINISH of this run said.
    var finish: Finish?
    /// What the receiver had when the newest session began, once one has told.
    var heldBefore: UInt64?
    /// What is named as not stored.
    var named: NamedItems
    /// How many data streams were found best, for the next session.
    var streams = StreamCount.first

    init(_ unfinished: UnfinishedTransfer? = nil) {
      self.unfinished = unfinished
      identifier = unfinished?.identifier
      named = NamedItems(unfinished?.refusals ?? [])
    }

    /// A receiver has accepted an offer, and told what it holds.
    mutating func begin(_ accept: Accept, held: Tally) {
      identifier = accept.transfer
      heldBefore = held.bytes
      // It is all named again.
      named = NamedItems()
    }

    /// What the sessions until now have said of the end of the export.
    var earlier: SenderSession.Earlier {
      if let finish { return .finished(finish.total) }
      return unfinished == nil ? .notFinished : .unknown
    }

    /// What a transfer has come to that is done. A run that only hears the answer has nothing to send, and does not know what
    /// was left out.
    func result(_ done: Done, _ traffic: Traffic) -> TransferResult {
      TransferResult(
        total: done.total, sentBytes: traffic.sent, savedBytes: traffic.saved,
        heldBytes: min(heldBefore ?? done.total.bytes, done.total.bytes), seconds: traffic.seconds,
        unsent: finish?.unsent ?? unfinished?.unsent ?? 0, losses: done.losses,
        leftOut: finish?.leftOut ?? LeftOut(), notStored: done.notStored, leftBehind: finish?.leftBehind ?? [])
    }
  }
}
