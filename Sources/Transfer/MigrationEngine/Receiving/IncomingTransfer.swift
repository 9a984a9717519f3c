import MigrationWire

/// The receiver's record of one part, over all sessions of its transfer.
struct IncomingPart: Sendable {
  enum Stage: Sendable {
    /// Leads to importing.
    case receiving
    /// Everything has arrived, and an import that had begun is to continue. Leads to importing.
    case concluded
    /// The receiver verifies and imports what one session, or an earlier run, concluded. Leads to
    /// done, to receiving before the import begins, or to concluded where the import failed.
    case importing
    case done
  }

  let number: UInt16
  var stage = Stage.receiving
  /// When the import last made progress.
  var movedAt = 0.0
  var held = Tally()
  /// How much was staged when the newest session began, as reported to its sender.
  var heldBefore = Tally()
  /// The total that the newest offer announces, or the data that has arrived.
  var total = ExpectedTotal()
  /// How many items the sender could not send.
  var unsent: UInt64 = 0
  /// How many roots an earlier run has left out.
  var refusedRootsBefore = 0
  /// The items that the sender left out, and those left out at the import.
  var leftOut = LeftOut()
  var lostAttributes: [LostAttribute] = []
  /// The named items that the destination cannot hold, and how many of them the user of this device
  /// has been told.
  var refusals: [NotStored] = []
  var toldRefusals = 0
  /// The items that the sender has named in the newest session and left out.
  var leftOutItems = LeftOutItems()

  /// The result of the part for the user.
  func result(
    _ done: Done, sentBytes: UInt64 = 0, without refusedRoots: Int = 0, concludedAt: Int64? = nil
  ) -> TransferResult {
    TransferResult(
      total: done.total, sentBytes: sentBytes, heldBytes: min(heldBefore.bytes, done.total.bytes), seconds: 0,
      unsent: unsent,
      losses: done.losses, leftOut: leftOut, notStored: done.notStored, renamed: done.renamed,
      removed: done.removed,
      lostAttributes: lostAttributes, concludedAt: concludedAt, failedParts: max(refusedRoots, refusedRootsBefore))
  }

  /// The refusals that the user of this device has not been told; from now on they count as told.
  mutating func newRefusals() -> ArraySlice<NotStored> {
    defer { toldRefusals = refusals.count }
    return refusals[toldRefusals...]
  }

  /// From now on, the part exists only on the disk.
  mutating func letGo() { (refusals, toldRefusals, leftOutItems) = ([], 0, LeftOutItems()) }
}

/// The receiver's record of one transfer, over all its sessions.
struct IncomingTransfer: Sendable {
  /// Whether this process holds the transfer's lock, its staged data and its keys.
  enum Holding: Sendable {
    case held
    /// This process has released it; it exists only on the disk. Leads to retaking.
    case released
    /// Leads to held, or to released.
    case retaking
  }

  /// How one part has ended.
  enum Result: Sendable {
    /// With the items named as not stored, and whether this run has told the user of this device.
    case finished(Done, TransferResult, notStored: [NotStored], isTold: Bool)
    /// Refused, or failed; a later session may try it again.
    case failed(Failure)
  }

  let identifier: TransferID
  /// The sender's key: the pin.
  let client: KeyFingerprint
  var holding = Holding.held
  /// Whether more may be staged than this run knows, because it could not take the transfer back so
  /// far, or because another part has data.
  private var isUnseen = false
  /// Whether its sender has come in this run.
  var isMet = false
  /// The reason why no session of this run may continue it.
  var fault: Failure?
  /// The newest plan that was judged.
  private(set) var plan: Plan?
  /// Whether the user of this device has agreed to it, and it is recorded.
  var isRecorded = false
  /// Whether a person has answered its plan in this run.
  var isAnswered = false
  /// The results of parts, by their numbers.
  private(set) var results: [UInt16: Result] = [:]
  /// The classes that the newest session takes of each part that is not taken whole.
  private(set) var taken: [UInt16: ArrivalClasses] = [:]
  /// The roots that are left out of parts, by the parts' numbers.
  private(set) var refusedRoots: [UInt16: [ReceiverEngine.RefusedRoot]] = [:]
  /// The running part, or the newest one.
  var part = IncomingPart(number: 0)
  /// The data that crossed the wire in this run.
  var traffic = Traffic()
  /// The amount staged in this run, over all parts, as reservations count it.
  var brought: UInt64 = 0

  /// Begins with a pairing.
  init(_ identifier: TransferID, pairedWith client: KeyFingerprint) {
    self.identifier = identifier
    self.client = client
  }

  /// Continues a transfer of an earlier run.
  init(_ known: ReceiverEngine.EarlierTransfer) {
    identifier = known.identifier
    client = known.client
    plan = known.plan
    isRecorded = true
    holding = known.isHeld ? .held : .released
    isUnseen = !known.isHeld || known.hasMore
    part = IncomingPart(number: known.part)
    part.held = known.held
    part.heldBefore = known.held
    part.unsent = known.parts[Int(known.part)].unsent
    part.refusedRootsBefore = Int(known.parts[Int(known.part)].refusedRoots)
    part.refusals = known.refusals
    for (number, record) in known.parts.enumerated() {
      guard let finished = record.finished else {
        isUnseen = isUnseen || number != known.part && record.begun != nil
        continue
      }
      var part = IncomingPart(number: UInt16(number))
      part.heldBefore = finished.done.total
      part.unsent = record.unsent
      let result = part.result(finished.done, without: Int(record.refusedRoots), concludedAt: finished.at)
      results[UInt16(number)] = .finished(finished.done, result, notStored: record.notStored, isTold: false)
    }
    if let total = known.concluded {
      part.stage = .concluded
      part.total = ExpectedTotal(total)
    } else if case .finished? = results[known.part] {
      part.stage = .done
    }
  }

  var isImporting: Bool { if case .importing = part.stage { true } else { false } }
  var isReceiving: Bool { if case .receiving = part.stage { true } else { false } }
  /// Whether every part is finished.
  var isDone: Bool {
    guard let plan, results.count == plan.parts.count else { return false }
    return results.values.allSatisfy { if case .finished = $0 { true } else { false } }
  }
  /// Whether a part is neither done nor being imported.
  var awaitsData: Bool { !isImporting && outcome == nil }
  /// Whether both ends forget it: a part that a later session may continue keeps it.
  var isOver: Bool {
    outcome != nil
      && results.values.allSatisfy { if case .failed(let fault) = $0 { !fault.isResumable } else { true } }
  }

  /// Whether discarding it would lose nothing.
  var isEmpty: Bool {
    guard isReceiving, part.held == Tally(), !isUnseen else { return false }
    return results.values.allSatisfy { if case .failed = $0 { true } else { false } }
  }

  /// The result of the whole; nil while a part has none.
  var outcome: TransferOutcome? {
    guard let plan, results.count == plan.parts.count else { return nil }
    return TransferOutcome.combined(
      results.sorted { $0.key < $1.key }.map { number, result in
        switch result {
        case .finished(_, let result, _, _): .success(result)
        case .failed(let fault): fault.outcome
        }
      }, traffic)
  }

  /// The name of a part, where the plan has several: a plan of one part needs none.
  func name(ofPart number: UInt16) -> String? {
    guard let plan, plan.parts.count > 1 else { return nil }
    return plan.parts[Int(number)].name
  }

  /// The reason why a plan does not continue this transfer; nil if it does, or begins it.
  func objection(to next: Plan) -> Failure? {
    // The sender may have missed the verdict of a plan of which nothing has arrived.
    guard let continued = next.transfer else { return isEmpty ? nil : .unknownTransfer }
    guard continued == identifier, let plan else { return .unknownTransfer }
    return next.continues(plan) ? nil : Failure(Violation(.conflict, "a plan that is not the first one"))
  }

  /// The parts that a session judges: all that are neither finished nor about to be.
  func open(of plan: Plan) -> [UInt16] {
    (0..<UInt16(plan.parts.count)).filter { number in
      if case .finished? = results[number] { return false }
      return !isImporting || part.number != number
    }
  }

  /// The total that is expected of the whole plan, with the running part among the others.
  var expected: ExpectedTotal {
    var (before, behind) = (Tally(), Tally())
    for (index, other) in (plan?.parts ?? []).enumerated() where index != Int(part.number) {
      switch results[UInt16(index)] {
      case .finished(let done, _, _, _)?: before = before.adding(done.total)
      case .failed?: break
      case nil: behind = behind.adding(Tally(items: other.items ?? 0, bytes: other.bytes ?? 0))
      }
    }
    return part.total.between(before, behind)
  }

  /// Whether the user of this device has agreed to it.
  func isAgreed(_ next: Plan) -> Bool { isRecorded && plan.map { next.continues($0) } == true }

  /// Another session begins: parts that have failed are judged again.
  mutating func reopen() {
    for (number, result) in results { if case .failed = result { results[number] = nil } }
  }

  /// A plan is judged.
  mutating func judge(
    _ plan: Plan, _ judgement: ReceiverEngine.PlanJudgement, taking taken: [UInt16: ArrivalClasses] = [:]
  ) {
    self.taken = taken
    // The plan may differ from the earlier plan if nothing has arrived.
    if plan.transfer == nil { results = [:] }
    self.plan = plan
    for number in open(of: plan) {
      results[number] = nil
      switch judgement[number] {
      case .success(let room): refusedRoots[number] = room.without.isEmpty ? nil : room.without
      case .failure(let fault): results[number] = .failed(fault)
      case nil: break
      }
    }
  }

  /// The contents of a part without the roots that are left out.
  func contents(ofPart number: UInt16) -> Offer.Contents? {
    let contents = plan?.parts[Int(number)].offered
    guard let refusedRoots = refusedRoots[number] else { return contents }
    return contents?.without(Set(refusedRoots.map(\.root)))
  }

  /// Another part begins, or the same one again.
  mutating func begin(_ number: UInt16) {
    results[number] = nil
    guard part.number != number else { return }
    if part.held != Tally() { isUnseen = true }
    part = IncomingPart(number: number)
  }

  /// The running part has failed.
  mutating func fail(by fault: Failure) { results[part.number] = .failed(fault) }

  /// A stream or a session has ended, or the loop has looked: at least this much is staged.
  mutating func note(held: Tally) {
    let before = part.held.weight
    // The ends of parallel streams may be reported in another order than their counts.
    part.held = Tally(items: max(part.held.items, held.items), bytes: max(part.held.bytes, held.bytes))
    brought = brought.addingClamped(part.held.weight.subtractingClamped(before))
  }

  /// The import is complete: nothing more is refused, and the user knows every named item. Items
  /// that the source no longer has are not among the refused ones.
  mutating func imported(_ done: Done, _ refused: [NotStored]) {
    part.stage = .done
    results[part.number] = .finished(
      done, part.result(done, sentBytes: traffic.ofPart, without: refusedRoots[part.number]?.count ?? 0),
      notStored: refused.nameable, isTold: true)
  }

  /// The answer to an offer of a finished part, with every item named as not stored. `isNews` tells
  /// whether this run still has to name these items to the user. Nil for a part that is not finished.
  mutating func answer(_ number: UInt16) -> (done: Done, named: [NotStored], isNews: Bool)? {
    guard case .finished(let done, let result, let named, let isTold)? = results[number] else { return nil }
    results[number] = .finished(done, result, notStored: named, isTold: true)
    return (done, named, !isTold)
  }
}

extension Offer.Contents {
  /// The same without the roots at these positions.
  fileprivate func without(_ positions: Set<UInt32>) -> Offer.Contents {
    let rest = roots.enumerated().filter { !positions.contains(UInt32($0.offset)) }.map(\.element)
    switch self {
    case .folders: return .folders(rest)
    case .role(let role, _): return .role(role, rest)
    case .files(let app, _): return .files(of: app, rest)
    case .app, .unknown: return self
    }
  }
}

extension IncomingPart {
  /// A session's offer is accepted.
  mutating func stage(_ totals: PartTotals, _ admitted: ReceiverEngine.Admitted) {
    stage = .receiving
    held = admitted.held
    if let known = admitted.refusals { (refusals, toldRefusals) = (known, min(toldRefusals, known.count)) }
    // The sender repeats these.
    leftOutItems = LeftOutItems()
    total = ExpectedTotal(
      Tally(items: totals.items, bytes: totals.bytes), allocated: totals.allocated,
      isEstimate: totals.flags.contains(.estimated))
  }

  /// The sender has sent the totals of the archive. The announced total may have been an estimate.
  mutating func conclude(_ finish: Finish) {
    stage = .importing
    unsent = finish.unsent
    leftOut = finish.leftOut
    lostAttributes = finish.lostAttributes
    total = total.with(finish.total)
  }
}
