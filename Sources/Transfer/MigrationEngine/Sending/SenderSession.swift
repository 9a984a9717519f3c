import MigrationWire

/// One session of a sender, from READY to its last message.
struct SenderSession: Sendable {
  typealias Facts = SenderEngine.Facts

  /// The pause in seconds between two reports of progress to the user.
  static let progressPause = 0.2

  /// How many seconds the receiver has to answer the failure of a part.
  static let settling = 60.0

  let number: SessionNumber
  private let meeting: SenderEngine.Meeting
  /// Whether this device came back, instead of pairing.
  private let isReturn: Bool
  /// Whether a transfer begins with a known device.
  private let isGreeting: Bool
  /// The protocol's rules of this conversation.
  private(set) var conversation = Conversation(of: .sender)
  private var peer: Greeting?
  private var verdict: Verdict?
  /// Nil until the receiver has sent a ledger.
  private(set) var streams: StreamPlan?
  /// The receiver's addresses, and this device's own ones, if the receiver takes them.
  private var (told, own): (Addresses?, Addresses?)
  /// The address of the direct connection that the user knows; nil where data goes through the relay.
  private var shown: InternetAddress?
  private var nextProgress: Double
  /// Whether every part has its result, and the receiver may be told so.
  private(set) var isOver = false
  private var isUnrecorded = false

  // MARK: The running part

  private var part: UInt16?
  private var accept: Accept?
  /// Whether a worker exports it, or records its end.
  private(set) var isWorking = false
  /// Its failure at this end, and until when the receiver may answer.
  private var failure: (fault: Failure, until: Double)?
  /// The remaining messages of an export that has ended. The connection takes them a page at a
  /// time.
  private var rest: ExportEnd?
  /// The expected total, as far as it is known.
  private var total = ExpectedTotal()
  /// The receiver's DONE, while it is being recorded, and a fault that has come meanwhile.
  private(set) var done: Done?
  private var faultAfterDone: Failure?
  /// The items that the receiver has named as not stored before a DONE that answers the offer.
  private var repeated = NamedItems()

  /// Begins at READY.
  init(_ number: SessionNumber, _ meeting: SenderEngine.Meeting, isReturn: Bool, isGreeting: Bool, now: Double) {
    self.number = number
    self.meeting = meeting
    self.isReturn = isReturn
    self.isGreeting = isGreeting
    nextProgress = now + Self.progressPause
  }

  /// Whether everything of the last part has arrived, and the receiver needs this end no more.
  func isFinishing(_ facts: Facts) -> Bool { conversation.isFinishing && nextPart(facts) == nil }
  var connection: ConnectionID { meeting.connection }
  var address: String { meeting.address }

  /// An event of its connection, or of one of its workers.
  mutating func take(_ event: SenderEngine.Event, _ facts: inout Facts) throws(Failure) {
    switch event {
    case .received(_, let message): try received(message, &facts)
    case .drained: sayRest(&facts)
    case .unsent(_, let item): unsent(item, &facts)
    case .exported(_, let result): try exported(result, &facts)
    case .planRecorded(_, _, let fault): try planRecorded(fault, &facts)
    case .finishNoted(_, _, let fault): try finishNoted(fault, &facts)
    case .streamJoined(_, let stream, let address): joined(stream, by: address, &facts)
    case .streamEnded(_, let stream, let end): try ended(stream, end, &facts)
    case .recorded(_, let traffic, let isWritten):
      if let traffic { facts.transfer.traffic = traffic }
      try recorded(isWritten, &facts)
    default: break
    }
  }

  // MARK: The control connection

  /// A message has arrived.
  private mutating func received(_ message: ControlMessage, _ facts: inout Facts) throws(Failure) {
    let isSettling = conversation.isSettling
    do throws(Violation) {
      guard try conversation.received(message) else { return }
    } catch {
      throw Failure(error)
    }
    switch message {
    case .ping(let token): facts.act(.say(connection, .pong(token)))
    case .greeting(let greeting):
      peer = greeting
      if !isReturn {
        facts.act(.tell(.paired(label: greeting.label, address: meeting.host, isKnown: isGreeting)))
      }
      planIfReady(&facts)
    case .verdict(let verdict): take(verdict, &facts)
    case .accept(let accept):
      self.accept = accept
      facts.act(.beginLedger(number))
    case .held(let page): facts.act(.keepHeld(number, page))
    case .partial(let partial): facts.act(.keepPartial(number, partial))
    case .heldEnd(let end): beginStreaming(end.held, &facts)
    case .progress(let progress):
      let phase: TransferProgress.Phase = progress.phase == .importing ? .importing : .verifying
      facts.act(.tellProgress(number, phase, total: total, fraction: progress.fraction))
    case .notStored(let item): note(item, &facts)
    case .done(let done):
      guard let transfer = facts.transfer.identifier, let part else {
        preconditionFailure("a receiver is done with a part that was offered")
      }
      self.done = done
      failure = nil
      // The receiver forgets the transfer when it reads RECEIPT; a sender that is then killed must
      // know that the transfer is done.
      let named = accept == nil ? repeated : facts.transfer[part].named
      facts.act(.recordDone(transfer, part: part, done, refusals: named.refusals))
    case .failed(let failed):
      if !isSettling { facts.act(.say(connection, .failed(failed.answer))) }
      // It may answer what this end has said: the receiver's reason counts where it is another one.
      let isSame = isSettling && failure?.fault.close.code == failed.close.code
      let here = isSame ? failure?.fault : nil
      fail(by: here ?? facts.fault(told: failed.close, of: part), &facts)
    case .addresses(let addresses):
      told = addresses
      if own != nil { streams?.told(addresses) }
    case .close(let close): throw facts.fault(told: close, of: part)
    case .plan, .offer, .drop, .finish, .receipt, .pong: break
    }
  }

  /// Whether the plan is said, and is neither refused as a whole nor recorded here.
  var awaitsPlan: Bool { conversation.isPlanned || conversation.isBetween && verdict != nil && part == nil && !isOver }

  /// Says the plan once the receiver is known and the walk has ended.
  mutating func planIfReady(_ facts: inout Facts) {
    guard peer != nil, let summaries = facts.summaries else { return }
    let plan = Plan(
      summaries.map { Part($0) }, continuing: facts.transfer.identifier,
      flags: facts.settings.keepsPairing ? .keepPairing : [])
    facts.tellRelay(meeting.relay, plan)
    if plan.parts.count > 1 {
      facts.act(.tell(.plan(plan.parts, availableBytes: nil)))
    } else if !facts.transfer[0].isFinished {
      facts.act(.tell(.offer(Offer(summaries[0]), availableBytes: nil, of: plan.parts[0])))
    }
    facts.act(.say(connection, conversation.say(.plan(plan))))
  }

  /// The receiver has judged the plan, which is recorded if there is anything to send.
  private mutating func take(_ verdict: Verdict, _ facts: inout Facts) {
    guard let summaries = facts.summaries, let peer else { preconditionFailure("a verdict answers a plan") }
    self.verdict = verdict
    for (index, judged) in verdict.parts.enumerated() { facts.take(judged, of: UInt16(index)) }
    guard nextPart(facts) != nil else {
      if facts.settings.keepsPairing, !facts.settings.expectsReceiver, !isReturn, !isGreeting {
        facts.act(.tell(.notice(Self.unkept)))
      }
      return offerNext(&facts)
    }
    facts.act(
      .recordPlan(
        number,
        SenderEngine.PlanRecord(
          transfer: verdict.transfer, plan: Plan(summaries.map { Part($0) }), label: peer.label, address: address,
          keepsPairing: verdict.flags.contains(.keepPairing))))
  }

  private static let unkept = "the other device took nothing, and is not remembered: the next run needs a new code"

  /// The plan is recorded: the transfer has begun.
  private mutating func planRecorded(_ fault: Failure?, _ facts: inout Facts) throws(Failure) {
    if let fault { throw fault }
    facts.transfer.identifier = verdict?.transfer
    offerNext(&facts)
  }

  /// Offers the part behind the running one, or ends the session if there is none.
  private mutating func offerNext(_ facts: inout Facts) {
    (accept, rest, done, failure, repeated) = (nil, nil, nil, nil, NamedItems())
    guard let next = nextPart(facts), let summaries = facts.summaries else {
      // The receiver may have closed while its last DONE was recorded.
      if !isUnrecorded, conversation.isBetween { facts.act(.say(connection, conversation.say(.receipt))) }
      isOver = true
      return
    }
    part = next
    let summary = summaries[Int(next)]
    let others = summaries.indices.filter { $0 > Int(next) && facts.transfer[UInt16($0)].outcome == nil }
    total = ExpectedTotal(
      summary.total, allocated: summary.allocated, isEstimate: summary.isEstimate, before: facts.transfer.finished,
      behind: others.reduce(Tally()) { $0.adding(summaries[$1].total) })
    facts.act(
      .say(
        connection,
        conversation.offer(
          summary.totals(next, isEstimate: !facts.transfer[next].refusedRoots.isEmpty),
          earlier: facts.transfer[next].earlier)))
  }

  /// The part to offer behind the running one.
  private func nextPart(_ facts: Facts) -> UInt16? {
    let first = part.map { $0 + 1 } ?? 0
    return (first..<UInt16(verdict?.parts.count ?? Int(first))).first { number in
      switch verdict?.parts[Int(number)] {
      case .taken?: true
      case .finished?: !facts.transfer[number].isFinished
      case .refused?, nil: false
      }
    }
  }

  /// The running part has failed, at one end or both. The next one waits until everything of it is
  /// written.
  private mutating func fail(by fault: Failure, _ facts: inout Facts) {
    guard let part else { return }
    facts.noteFailure(of: part, by: fault)
    (failure, rest) = (nil, nil)
    if isWorking { return facts.act(.abandonExport(number)) }
    offerNext(&facts)
  }

  private mutating func note(_ item: NotStored, _ facts: inout Facts) {
    guard let part else { return }
    guard let accept else {
      // Without a ledger, it comes before a DONE that answers the offer.
      _ = repeated.add(item)
      if facts.transfer[part].named.add(item, isAgain: true) { facts.act(.tell(.notStored(item), part: part)) }
      return
    }
    let mark = item.mark(accept.keys)
    // It has crossed the DROP that contains the item's mark.
    guard !facts.transfer[part].named.isGone(mark) else { return }
    _ = facts.transfer[part].named.add(item)
    if let mark { facts.act(.refuse(number, mark)) }
    facts.act(.tell(.notStored(item), part: part))
  }

  // MARK: The export and its streams

  private mutating func beginStreaming(_ held: Tally, _ facts: inout Facts) {
    guard let peer, let accept, let verdict, let part, let summary = facts.summaries?[Int(part)] else {
      preconditionFailure("an acceptance answers an offer")
    }
    facts.transfer[part].begin(held: held)
    if isReturn, streams == nil { facts.act(.tell(.resumed(heldBytes: held.bytes))) }
    let obstacle = summary.obstacle(to: peer, facts.settings)
    facts.act(
      .export(
        number,
        SenderEngine.ExportOrder(
          transfer: verdict.transfer, part: part, accept: accept, window: verdict.window, request: peer.request,
          isCompressible: obstacle == nil, refusedRoots: facts.transfer[part].refusedRoots,
          summary: summary)))
    isWorking = true
    facts.tellPlain(obstacle)
    if streams == nil {
      streams = StreamPlan(
        number, verdict, fixed: facts.settings.streams, count: facts.transfer.streams, now: facts.now)
      streams?.open(facts.now, &facts.actions)
      let takesAddresses = peer.features.intersection(facts.settings.greeting.features).contains(.addresses)
      own = takesAddresses ? meeting.own?.addresses : nil
      if let told, own != nil { streams?.told(told) }
    } else {
      streams?.beginPart(facts.now)
    }
  }

  /// An item is left out. The receiver is told as many of these as may be named.
  private mutating func unsent(_ item: NotStored, _ facts: inout Facts) {
    facts.act(.tell(.notStored(item), part: part ?? 0))
    guard conversation.isStreaming, let message = conversation.name(item) else { return }
    facts.act(.say(connection, message))
  }

  /// The export has ended, and everything that it has packed is written.
  private mutating func exported(_ result: Result<ExportResult, Failure>, _ facts: inout Facts) throws(Failure) {
    // It has failed at the receiver.
    guard conversation.isStreaming else { return endWork(&facts) }
    let exported: ExportResult
    switch result {
    case .success(let result): exported = result
    // Another session continues.
    case .failure(let fault) where fault.isReconnectable: throw fault
    case .failure(let fault):
      isWorking = false
      facts.act(.say(connection, conversation.fail(fault.close)))
      failure = (fault, facts.now + Self.settling)
      return
    }
    guard let transfer = facts.transfer.identifier, let accept, let part, let contents = facts.contents(of: part) else {
      preconditionFailure("an export belongs to a part of a transfer that has a name")
    }
    facts.transfer[part].named.drop(exported.stale, accept.keys)
    facts.tellEstimate(total, exported.finish.total.bytes, of: contents)
    total = total.with(exported.finish.total)
    if nextPart(facts) == nil {
      streams?.finish(&facts.actions)
      facts.act(.finishWindow(number))
    }
    facts.act(.noteFinish(number, transfer, part: part, exported.finish))
    rest = ExportEnd(stale: exported.stale[...], finish: exported.finish)
    sayRest(&facts)
  }

  /// The items that FINISH leaves out are recorded on the disk, if there are any. This comes first
  /// because a receiver that has read FINISH may finish the transfer, and a later run would then
  /// read only DONE.
  private mutating func finishNoted(_ fault: Failure?, _ facts: inout Facts) throws(Failure) {
    if let fault { throw fault }
    guard conversation.isStreaming else { return endWork(&facts) }
    isWorking = false
    rest?.isNoted = true
    sayFinish(&facts)
  }

  /// The last worker of a part that has failed has ended.
  private mutating func endWork(_ facts: inout Facts) {
    isWorking = false
    offerNext(&facts)
  }

  /// Sends the next page of held items that the source no longer has, and FINISH after the last
  /// page.
  private mutating func sayRest(_ facts: inout Facts) {
    guard let page = rest?.takePage() else { return }
    if !page.isEmpty { facts.act(.say(connection, conversation.say(.drop(page)))) }
    sayFinish(&facts)
  }

  private mutating func sayFinish(_ facts: inout Facts) {
    guard let rest, let part, rest.isDue else { return }
    self.rest = nil
    facts.transfer[part].finish = rest.finish
    facts.actions += [
      .say(connection, conversation.say(.finish(rest.finish))),
      .tellProgress(number, .verifying, total: total, fraction: nil),
    ]
  }

  /// The receiver's DONE is recorded: the part is finished. Without the record, the receiver has to
  /// keep its own, for a sender that asks again.
  private mutating func recorded(_ isWritten: Bool, _ facts: inout Facts) throws(Failure) {
    guard let part, let done else { return }
    isUnrecorded = isUnrecorded || !isWritten
    facts.actions += done.renamedItems.map { .tell($0.event, part: part) }
    facts.transfer[part].finish(done, sentBytes: facts.transfer.traffic.ofPart)
    facts.tellEnd(of: part)
    if let faultAfterDone, nextPart(facts) != nil {
      self.done = nil
      throw faultAfterDone
    }
    offerNext(&facts)
  }

  /// The session is to end once the DONE of a part is recorded, if other parts are left.
  mutating func endAfterDone(by fault: Failure) { faultAfterDone = faultAfterDone ?? fault }

  private mutating func joined(
    _ stream: SenderEngine.StreamNumber, by address: InternetAddress?, _ facts: inout Facts
  ) {
    streams?.joined(stream, by: address, facts.now, &facts.actions)
    tellDataConnection(&facts)
  }

  /// Tells the user when the data takes another connection.
  private mutating func tellDataConnection(_ facts: inout Facts) {
    let address = streams?.directAddress
    guard conversation.isStreaming, shown != address else { return }
    shown = address
    if let address {
      facts.act(.tell(.dataConnection(.direct(isIPv6: address.isIPv6))))
    } else if let relay = meeting.relay {
      facts.act(.tell(.dataConnection(.relay(relay))))
    }
  }

  private mutating func ended(
    _ stream: SenderEngine.StreamNumber, _ end: SenderEngine.StreamEnd, _ facts: inout Facts
  ) throws(Failure) {
    try streams?.ended(stream, end, facts.now, &facts.actions)
    tellDataConnection(&facts)
  }

  /// The window was read.
  mutating func looked(_ counts: SenderEngine.WindowCounts, _ facts: inout Facts) {
    if conversation.isStreaming { streams?.looked(counts, facts.now, &facts.actions) }
  }

  // MARK: Time

  var nextMoment: Double? {
    let isSending = conversation.isStreaming
    let moments = [streams?.nextMoment(isSending: isSending), isSending ? nextProgress : nil, failure?.until]
    return moments.compactMap { $0 }.min()
  }

  /// Does the work that only waits for time.
  mutating func moveOn(_ facts: inout Facts) throws(Failure) {
    if let failure, facts.now >= failure.until { throw failure.fault }
    streams?.moveOn(isSending: conversation.isStreaming, facts.now, &facts.actions)
    if conversation.isStreaming, let own {
      var round: [SenderEngine.Action] = []
      streams?.tryAddresses(within: &facts.addressBudget, facts.now, &round)
      if !round.isEmpty { facts.actions += [.say(connection, .addresses(own))] + round }
    }
    if conversation.isStreaming, facts.now >= nextProgress {
      nextProgress = facts.now + Self.progressPause
      facts.act(.tellProgress(number, .sending, total: total, fraction: nil))
    }
  }
}
