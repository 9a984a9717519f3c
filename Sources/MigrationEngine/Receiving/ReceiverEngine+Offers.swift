import MigrationWire

/// Offers: from their examination to the end of the ledger (Protocol §6.2 to §6.4).
extension ReceiverEngine {
  mutating func judge(_ offer: Offer, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer] else { return }
    if !conversation.isResumed, offer.transfer != nil { return endSession(number, by: .unknownTransfer) }
    switch transfer.stage {
    case .receiving, .concluded: conversations[number]?.course = .waiting(offer)
    case .importing: tell(.offer(offer, availableBytes: nil))
    case .done(let done):
      if !conversation.isAside { tell(.offer(offer, availableBytes: nil)) }
      answer(done, number)
    }
  }

  /// Examines an offer, once nothing is written for an older session any more.
  mutating func examine(_ offer: Offer, _ number: SessionNumber) {
    guard let conversation = conversations[number], let transfer = transfers[of: conversation.transfer],
      transfer.keeping == .held,
      !conversations.contains(where: { $0.key != number && $0.value.transfer == transfer.identifier })
    else { return }
    if settings.keeps, case .concluded = transfer.stage { return takeAnew(transfer.identifier) }
    if let objection = transfer.objection(to: offer) {
      tell(.offer(offer, availableBytes: nil))
      return endSession(number, by: objection)
    }
    conversations[number]?.course = .examining(offer)
    act(.examine(number, transfer.identifier, offer, held: transfer.held))
  }

  mutating func examined(_ number: SessionNumber, _ result: Result<Examination, Fault>) {
    guard let conversation = conversations[number], conversation.isTalking,
      case .examining(let offer) = conversation.course, let transfer = transfers[of: conversation.transfer]
    else { return }
    switch result {
    case .success(let examination):
      tell(.offer(offer, availableBytes: examination.availableBytes))
      conversations[number]?.course = .asking(offer, room: examination)
      if transfer.isStaged || !settings.asksConsent { stage(number) }
    case .failure(let fault):
      tell(.offer(offer, availableBytes: nil))
      endSession(number, by: fault)
    }
  }

  /// The user wants the transfer.
  mutating func stage(_ number: SessionNumber) {
    guard let conversation = conversations[number], case .asking(let offer, _) = conversation.course,
      let transfer = transfers[of: conversation.transfer]
    else { return }
    let features = settings.greeting.features.intersection(conversation.features).intersection(offer.usableFeatures)
    conversations[number]?.usable = features
    conversations[number]?.course = .staging(offer)
    act(
      .stage(
        number,
        StagingOrder(
          transfer: transfer.identifier, client: transfer.client, offer: offer, label: conversation.label,
          address: conversation.remote.address, features: features,
          tellsTaken: conversation.features.contains(.leavingOut))))
  }

  mutating func staged(_ number: SessionNumber, _ result: Result<Admitted, Fault>) {
    guard let conversation = conversations[number], case .staging(let offer) = conversation.course else { return }
    switch result {
    case .success(let admitted):
      transfers[of: conversation.transfer]?.stage(offer, held: admitted.held)
      if conversation.isTalking { accept(admitted, number) }
    case .failure(let fault): endSession(number, by: fault)
    }
  }

  private mutating func accept(_ admitted: Admitted, _ number: SessionNumber) {
    guard let conversation = conversations[number] else { return }
    conversations[number]?.course = .telling(StreamTable(session: admitted.session))
    let accept = Accept(
      transfer: conversation.transfer, session: admitted.session, keys: admitted.keys, window: Limits.window,
      streams: Self.streams, features: conversation.usable,
      traits: conversation.usable.contains(.refusals) ? admitted.traits : nil)
    if let message = conversations[number]?.machine.accept(accept) { act(.say(conversation.connection, message)) }
    act(.sync(number))
    act(.readLedger(number))
  }

  // MARK: The ledger

  mutating func ledger(_ number: SessionNumber, _ result: Result<LedgerPart, Fault>) {
    guard let conversation = conversations[number], conversation.isTalking else { return }
    conversations[number]?.dueSince = now
    switch result {
    case .success(let part): tell(part, number, conversation)
    case .failure(let fault): endSession(number, by: fault)
    }
  }

  private mutating func tell(_ part: LedgerPart, _ number: SessionNumber, _ conversation: Conversation) {
    for page in part.pages {
      if page.kind == .staged { conversations[number]?.droppable += page.marks.count }
      act(.say(conversation.connection, conversation.machine.report(page)))
    }
    for partial in part.partials { act(.say(conversation.connection, conversation.machine.report(partial))) }
    if let held = part.end {
      endLedger(held, number, conversation)
    } else if part.pages.isEmpty, part.partials.isEmpty {
      // Nothing was queued, so no `drained` will follow.
      act(.readLedger(number))
    }
  }

  /// Reads the next part once the previous one is sent.
  mutating func drained(_ id: ConnectionID) {
    guard let (number, conversation) = conversations.first(where: { $0.value.connection == id }),
      conversation.isTalking, case .telling = conversation.course, !workers.contains(.readLedger(number))
    else { return }
    act(.readLedger(number))
  }

  /// The ledger is sent: streams may join as soon as the sender reads its end.
  private mutating func endLedger(_ held: Tally, _ number: SessionNumber, _ conversation: Conversation) {
    guard let streams = conversation.streams else { return }
    transfers[of: conversation.transfer]?.heldBefore = held
    if conversation.isResumed { tell(.resumed(heldBytes: held.bytes)) }
    conversations[number]?.course = .receiving(streams)
    conversations[number]?.nextProgress = now + Conversation.progressPause
    if let message = conversations[number]?.machine.reported(held) { act(.say(conversation.connection, message)) }
    if conversation.isResumed { tellRefusalsAgain(of: conversation.transfer) }
    sayRefusals(number)
  }

  // MARK: Items that the destination cannot hold

  mutating func refused(_ transfer: TransferID, _ refusals: [Refusal]) {
    transfers[of: transfer]?.refusals += refusals
    tellRefusals(of: transfer)
    if let number = phase.session { sayRefusals(number) }
  }

  /// Tells the user the refusals that were not told yet.
  private mutating func tellRefusals(of transfer: TransferID) {
    for refusal in transfers[of: transfer]?.newRefusals() ?? [] { tell(refusal.event) }
  }

  /// Tells the user all refusals again.
  private mutating func tellRefusalsAgain(of transfer: TransferID) {
    transfers[of: transfer]?.toldRefusals = 0
    tellRefusals(of: transfer)
  }

  /// Tells the sender the refusals that it was not told yet, including those of earlier sessions,
  /// once the ledger is sent.
  private mutating func sayRefusals(_ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking, conversation.joinable != nil,
      let refusals = transfers[of: conversation.transfer]?.refusals
    else { return }
    conversations[number]?.toldRefusals = refusals.count
    for refusal in refusals[conversation.toldRefusals...] { say(refusal, number) }
  }

  private mutating func say(_ refusal: Refusal, _ number: SessionNumber) {
    guard let id = conversations[number]?.connection, let message = conversations[number]?.machine.refused(refusal)
    else { return }
    act(.say(id, message))
  }

  /// Names the items that are not stored, before a DONE that answers an offer.
  private mutating func nameAgain(_ number: SessionNumber, of transfer: TransferID) {
    guard let (named, isNews) = transfers[of: transfer]?.nameAgain() else { return }
    if isNews, conversations[number]?.isAside == false { for refusal in named { tell(refusal.event) } }
    for refusal in named { say(refusal, number) }
  }

  /// Tells the sender that the transfer is done: this answers its offer, or its FINISH.
  mutating func answer(_ done: Done, _ number: SessionNumber) {
    guard let conversation = conversations[number], conversation.isTalking else { return }
    if conversation.machine.isJudging {
      nameAgain(number, of: conversation.transfer)
      guard let message = conversations[number]?.machine.answerAgain(done) else { return }
      act(.say(conversation.connection, message))
    } else if conversation.machine.isImporting {
      guard let message = conversations[number]?.machine.imported(done) else { return }
      act(.say(conversation.connection, message))
    }
  }
}

extension Offer {
  /// The features that the session may use: compression if the exporter wants it, and refusals only
  /// for a folder's items. An app's importer gets everything that its exporter made, or nothing.
  fileprivate var usableFeatures: Features {
    var features: Features = flags.contains(.compressible) ? .zstd : []
    if case .folders = contents { features.insert(.refusals) }
    return features
  }
}
