import MigrationWire

/// The parts of a plan: from their offer to their end (Protocol §6.3).
extension ReceiverEngine {
  /// Tells the user that one of several parts has failed.
  mutating func tellFailure(of part: UInt16, _ fault: Failure, _ transfer: IncomingTransfer) {
    if let name = transfer.name(ofPart: part) { tell(.partEnded(PartEnd(part, name, fault)), of: transfer.identifier) }
  }

  /// Tells the user that one of several parts has arrived.
  mutating func tellEnd(of part: UInt16, _ result: TransferResult, _ transfer: IncomingTransfer) {
    if let name = transfer.name(ofPart: part) { tell(.partEnded(PartEnd(part, name, result)), of: transfer.identifier) }
  }

  /// Takes an offer, once no import and no worker of the part before runs.
  mutating func take(_ totals: PartTotals, _ number: SessionNumber) {
    guard let session = sessions[number], let transfer = transfers[of: session.transfer] else { return }
    if let (done, named, isNews) = transfers[of: transfer.identifier]?.answer(totals.part) {
      return answer(totals.part, done, naming: named, isNews, number)
    }
    sessions[number]?.stage = .due(totals)
    guard !transfer.isImporting, !workers.isBusy(number), let contents = transfer.contents(ofPart: totals.part) else {
      return
    }
    sessions[number]?.beginPart()
    transfers[of: transfer.identifier]?.begin(totals.part)
    sessions[number]?.stage = .staging(totals)
    let features = settings.greeting.features.intersection(session.features)
    act(
      .stage(
        number,
        StagingOrder(
          transfer: transfer.identifier, part: totals.part, offer: Offer(contents, totals),
          held: transfers[of: transfer.identifier]?.part.held ?? Tally(), taken: transfer.taken[totals.part],
          isCompressible: features.contains(.zstd), takesBases: features.contains(.bases))))
  }

  mutating func staged(_ number: SessionNumber, _ result: Result<Admitted, Failure>) {
    guard let session = sessions[number], case .staging(let totals) = session.stage else { return }
    switch result {
    case .success(let admitted):
      transfers[of: session.transfer]?.part.stage(totals, admitted)
      if let total = admitted.concluded {
        // An import that had failed is tried again.
        sessions[number]?.stage = .due(totals)
        continueImport(of: session.transfer, total)
      } else if session.isTalking {
        accept(admitted.accept, number)
      }
    case .failure(let fault) where fault.code == .reserved: waitForReservations(number, by: fault)
    case .failure(let fault): failPart(number, by: fault)
    }
  }

  private mutating func accept(_ accept: Accept, _ number: SessionNumber) {
    sessions[number]?.stage = .none
    sessions[number]?.namesAbsent = accept.flags.contains(.namesAbsent)
    say(.accept(accept), number)
    act(.sync(number))
    act(.readLedger(number))
  }

  /// The running part fails here: the session continues with the next one, if the sender hears of
  /// it.
  mutating func failPart(_ number: SessionNumber, by fault: Failure) {
    guard let session = sessions[number], session.isTalking, session.conversation.isRunning else {
      return endSession(number, by: fault)
    }
    if let message = sessions[number]?.conversation.fail(fault.close) { act(.say(session.connection, message)) }
    endPart(number, by: fault, isDataUnderWay: session.conversation.isStreaming)
  }

  /// The running part has failed, at this end or the other.
  mutating func endPart(_ number: SessionNumber, by fault: Failure, isDataUnderWay: Bool = false) {
    guard let session = sessions[number] else { return }
    // Its import was about to begin.
    if session.finish != nil { transfers[of: session.transfer]?.part.stage = .receiving }
    guard let transfer = transfers[of: session.transfer] else { return }
    sessions[number]?.stage = .none
    sessions[number]?.dueSince = now
    sessions[number]?.beginPart()
    act(.discardData(number))
    if workers.contains(.sync(number)) { act(.endSync(number)) }
    // An import that has begun decides by itself.
    if transfer.isImporting { return }
    if transfer.isReceiving { transfers.note(transfer.identifier) }
    transfers[of: transfer.identifier]?.fail(by: fault)
    tellFailure(of: transfer.part.number, fault, transfer)
    if case .success(let result)? = transfers[of: transfer.identifier]?.outcome {
      tellDone(result, of: transfer.identifier)
    }
    endPlan(number, isDataUnderWay: isDataUnderWay)
  }
}
