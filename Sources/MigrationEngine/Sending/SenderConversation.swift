import MigrationWire

/// One session of a sender, from READY to its last message.
struct SenderConversation: Sendable {
  /// The pause in seconds between two reports of progress to the user.
  static let progressPause = 0.2

  private struct Rest {
    var stale: ArraySlice<Mark>
    let finish: Finish
    /// Whether the items that FINISH leaves out are recorded on the disk.
    var isNoted = false
  }

  let number: SessionNumber
  private let meeting: SenderEngine.Meeting
  /// Whether this device came back, instead of pairing.
  private let isReturn: Bool
  private var session: SenderSession
  /// The receiver's greeting.
  private var peer: Greeting?
  private var accept: Accept?
  /// Nil until the receiver has sent its ledger.
  private(set) var streams: StreamPlan?
  /// The remaining messages of an export that has ended. The connection takes them a page at a
  /// time.
  private var rest: Rest?
  /// The expected total, as far as it is known.
  private var total = ExpectedTotal()
  private var nextProgress: Double
  /// The receiver's DONE, while it is being recorded.
  private(set) var done: Done?
  /// The items that the receiver has named as not stored before a DONE that answers the offer.
  private var repeated = NamedItems()

  /// Begins at READY.
  init(_ number: SessionNumber, _ meeting: SenderEngine.Meeting, isReturn: Bool, now: Double) {
    self.number = number
    session = SenderSession()
    self.meeting = meeting
    self.isReturn = isReturn
    nextProgress = now + Self.progressPause
  }

  /// Whether everything has arrived, and the receiver needs this end no more.
  var isFinishing: Bool { session.isFinishing }
  var connection: ConnectionID { meeting.connection }
  var address: String { meeting.address }

  // MARK: The control connection

  /// A message has arrived.
  mutating func received(
    _ message: ControlMessage, _ facts: inout SenderEngine.RunFacts, _ now: Double,
    _ actions: inout [SenderEngine.Action]
  ) throws(Fault) {
    let action: SenderSession.Action
    do throws(Violation) {
      action = try session.received(message)
    } catch {
      throw Fault(error)
    }
    switch action {
    case .nothing: break
    case .say(let message): actions.append(.say(connection, message))
    case .meet(let greeting):
      peer = greeting
      if !isReturn { actions.append(.tell(.paired(label: greeting.label, address: meeting.host))) }
      offerIfReady(facts, &actions)
    case .begin(let accept): self.accept = accept
    case .keepHeld(let page): actions.append(.keepHeld(number, page))
    case .keepPartial(let partial): actions.append(.keepPartial(number, partial))
    case .stream(let held): beginStreaming(held, &facts, now, &actions)
    case .show(let progress):
      let phase: TransferPhase = progress.phase == .importing ? .importing : .verifying
      actions.append(.tellProgress(number, phase, total: total, fraction: progress.fraction))
    case .noteRefused(let refusal): note(refusal, &facts.transfer, &actions)
    case .finish(let done):
      guard let transfer = facts.transfer.identifier else {
        preconditionFailure("a receiver is done with a transfer that has a name")
      }
      self.done = done
      // The receiver forgets the transfer when it reads RECEIPT; a sender that is then killed must
      // know that the transfer is done.
      let named = accept == nil ? repeated : facts.transfer.named
      actions.append(.recordDone(transfer, done, refusals: named.refusals))
    case .stop(let close): throw Fault(told: close)
    }
  }

  /// Sends the offer once the receiver is known and the walk has ended.
  mutating func offerIfReady(_ facts: SenderEngine.RunFacts, _ actions: inout [SenderEngine.Action]) {
    guard peer != nil, let summary = facts.summary else { return }
    let tally = summary.total
    total = ExpectedTotal(tally, isEstimate: summary.flags.contains(.estimated))
    let offer = Offer(
      transfer: facts.transfer.identifier, contents: summary.contents, items: tally.items, bytes: tally.bytes,
      allocated: summary.allocated, flags: summary.flags)
    actions += [
      .tell(.offer(offer, availableBytes: nil)),
      .say(connection, session.offer(offer, earlier: facts.transfer.earlier)),
    ]
  }

  private mutating func note(
    _ refusal: Refusal, _ transfer: inout SenderEngine.Transfer, _ actions: inout [SenderEngine.Action]
  ) {
    guard let accept else {
      // Without a ledger, the refusal comes before a DONE that answers the offer.
      _ = repeated.add(refusal)
      if transfer.named.add(refusal, isAgain: true) { actions.append(.tell(refusal.event)) }
      return
    }
    let mark = accept.keys.mark(path: refusal.path, generation: refusal.generation)
    // The refusal has crossed the DROP that contains the item's mark.
    guard !transfer.named.isGone(mark) else { return }
    _ = transfer.named.add(refusal)
    actions += [.refuse(number, mark), .tell(refusal.event)]
  }

  // MARK: The export and its streams

  private mutating func beginStreaming(
    _ held: Tally, _ facts: inout SenderEngine.RunFacts, _ now: Double, _ actions: inout [SenderEngine.Action]
  ) {
    guard let peer, let accept, let summary = facts.summary else {
      preconditionFailure("an acceptance answers an offer")
    }
    facts.transfer.begin(accept, held: held)
    if isReturn { actions.append(.tell(.resumed(heldBytes: held.bytes))) }
    let obstacle = Self.obstacle(summary, accept, facts.settings)
    actions.append(
      .export(
        number,
        SenderEngine.ExportOrder(
          accept: accept, summary: summary, label: peer.label, address: address, request: peer.request,
          isCompressible: obstacle == nil)))
    facts.tellPlain(obstacle, &actions)
    var streams = StreamPlan(
      number, accept, fixed: facts.settings.streams, count: facts.transfer.streams, now: now)
    streams.open(now, &actions)
    self.streams = streams
  }

  /// The reason why data is not compressed, as a clause; nil where it may be compressed.
  private static func obstacle(
    _ summary: SourceSummary, _ accept: Accept, _ settings: SenderEngine.Settings
  ) -> String? {
    if !summary.flags.contains(.compressible) { return "its exporter does not want the data to be compressed" }
    if !settings.canCompress { return "nothing is compressed: libzstd.so.1 is not on this device" }
    if !accept.features.contains(.zstd) { return "nothing is compressed: the other device cannot decompress" }
    return nil
  }

  /// An item could not be sent. The receiver is told as many of these as may be named.
  mutating func unsent(
    _ unsent: Unsent, _ transfer: inout SenderEngine.Transfer, _ actions: inout [SenderEngine.Action]
  ) {
    actions.append(.tell(unsent.event))
    guard let message = session.unsent(unsent) else { return }
    actions.append(.say(connection, message))
    if let refused = unsent.refused { _ = transfer.named.add(refused) }
  }

  /// The export has ended, and everything is written.
  mutating func exported(
    _ result: Result<ExportResult, Fault>, _ facts: inout SenderEngine.RunFacts,
    _ actions: inout [SenderEngine.Action]
  ) throws(Fault) {
    let exported = try result.get()
    guard let transfer = facts.transfer.identifier, let accept else {
      preconditionFailure("an export belongs to a transfer that has a name")
    }
    facts.transfer.named.drop(exported.stale, accept.keys)
    facts.tellEstimate(total, exported.finish.total.bytes, &actions)
    total = ExpectedTotal(exported.finish.total)
    streams?.finish(&actions)
    actions += [.finishWindow(number), .noteFinish(number, transfer, exported.finish)]
    rest = Rest(stale: exported.stale[...], finish: exported.finish)
    sayRest(&facts.transfer, &actions)
  }

  /// The items that FINISH leaves out are recorded on the disk, if there are any. This comes first
  /// because a receiver that has read FINISH may finish the transfer, and a later run would then
  /// read only DONE.
  mutating func finishNoted(
    _ fault: Fault?, _ transfer: inout SenderEngine.Transfer, _ actions: inout [SenderEngine.Action]
  ) throws(Fault) {
    if let fault { throw fault }
    rest?.isNoted = true
    sayFinish(&transfer, &actions)
  }

  /// Sends the next page of held items that the source no longer has, and FINISH after the last
  /// page.
  mutating func sayRest(_ transfer: inout SenderEngine.Transfer, _ actions: inout [SenderEngine.Action]) {
    guard var rest else { return }
    let page = rest.stale.prefix(Limits.marksInFrame)
    rest.stale = rest.stale.dropFirst(Limits.marksInFrame)
    if !page.isEmpty { actions.append(.say(connection, session.drop(Array(page)))) }
    self.rest = rest
    sayFinish(&transfer, &actions)
  }

  private mutating func sayFinish(_ transfer: inout SenderEngine.Transfer, _ actions: inout [SenderEngine.Action]) {
    guard let rest, rest.isNoted, rest.stale.isEmpty else { return }
    self.rest = nil
    transfer.finish = rest.finish
    actions += [
      .say(connection, session.finish(rest.finish)), .tellProgress(number, .verifying, total: total, fraction: nil),
    ]
  }

  mutating func joined(_ stream: SenderEngine.StreamNumber, _ now: Double, _ actions: inout [SenderEngine.Action]) {
    streams?.joined(stream, now, &actions)
  }

  mutating func ended(
    _ stream: SenderEngine.StreamNumber, _ end: SenderEngine.StreamEnd, _ now: Double,
    _ actions: inout [SenderEngine.Action]
  ) throws(Fault) {
    try streams?.ended(stream, end, now, &actions)
  }

  /// The window was read.
  mutating func looked(
    _ counts: SenderEngine.WindowCounts, _ now: Double, _ actions: inout [SenderEngine.Action]
  ) {
    streams?.looked(counts, now, &actions)
  }

  // MARK: Time

  var nextMoment: Double? {
    guard session.isStreaming else { return nil }
    return [streams?.nextMoment, nextProgress].compactMap { $0 }.min()
  }

  /// Does the work that only waits for time; returns whether there was any.
  mutating func moveOn(_ now: Double, _ actions: inout [SenderEngine.Action]) -> Bool {
    guard session.isStreaming else { return false }
    streams?.moveOn(now, &actions)
    if now >= nextProgress {
      nextProgress = now + Self.progressPause
      actions.append(.tellProgress(number, .sending, total: total, fraction: nil))
    }
    return !actions.isEmpty
  }
}

/// The items named as not stored since the ledger was read, as many as one session may name.
struct NamedItems: Sendable {
  private(set) var refusals: [Refusal] = []
  /// The items that the user was told about.
  private var paths: Set<ArchivePath> = []
  private var budget = NamingBudget()
  /// The marks of the items that the source no longer has, ascending.
  private var gone: [Mark] = []

  init(_ refusals: [Refusal] = []) {
    for refusal in refusals { _ = add(refusal) }
  }

  /// Adds a refusal, and returns whether to tell the user; `isAgain` ignores an item that is
  /// already named.
  mutating func add(_ refusal: Refusal, isAgain: Bool = false) -> Bool {
    if isAgain, paths.contains(refusal.path) { return false }
    if budget.take(refusal.size) {
      refusals.append(refusal)
      paths.insert(refusal.path)
    }
    return true
  }

  /// The source no longer has the items of these marks, which are ascending: the receiver forgets
  /// them, and so does this list.
  mutating func drop(_ marks: [Mark], _ keys: TransferKeys) {
    gone = marks
    guard !marks.isEmpty else { return }
    let kept = refusals.filter { !isGone(keys.mark(path: $0.path, generation: $0.generation)) }
    guard kept.count < refusals.count else { return }
    refusals = kept
    budget = NamingBudget()
    for refusal in kept { _ = budget.take(refusal.size) }
  }

  /// Whether the source no longer has the item of this mark.
  func isGone(_ mark: Mark) -> Bool {
    var rest = gone[...]
    while !rest.isEmpty {
      let middle = rest.startIndex + rest.count / 2
      if gone[middle] == mark { return true }
      rest = gone[middle] < mark ? rest[(middle + 1)...] : rest[..<middle]
    }
    return false
  }
}
