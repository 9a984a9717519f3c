import MigrationWire

/// Data streams, and what their ends and the sender's drops do to the data of a part.
extension ReceiverEngine {
  // MARK: Streams

  /// Serves the streams that no longer wait for the streams that they replace.
  mutating func tendStreams(_ number: SessionNumber) {
    while let (id, join, refusal) = sessions[number]?.streams?.next() {
      if let refusal {
        refuse(id, refusal)
      } else {
        act(.serve(id, number, join))
        noteDataConnection(of: id, number)
      }
    }
  }

  mutating func streamEnded(_ id: ConnectionID, _ end: StreamEnd, _ held: Tally) {
    connections.forget(id)
    for number in sessions.keys.sorted() where sessions[number]?.streams?.end(id) == true {
      sessions[number]?.direct.remove(id)
      // While a part is judged, the count is that of the part before.
      if let session = sessions[number], !session.conversation.isOffered {
        transfers[of: session.transfer]?.note(held: held)
      }
      guard case .failed(let fault) = end else { continue }
      // Only the part fails, unless the fault is the sender's: then the session ends. Several
      // streams may have the same fault, and a running import needs no streams.
      if !fault.isOfPart { endSession(number, by: fault) } else if needsData(number) { failPart(number, by: fault) }
    }
  }

  /// Whether the newest part of a session is neither settled nor being imported.
  private func needsData(_ number: SessionNumber) -> Bool {
    guard let session = sessions[number], session.isTalking else { return true }
    return session.conversation.isRunning && (!session.conversation.isFinishing || session.finish != nil)
  }

  /// The data of a session may be lost, or differ from its FINISH. Nothing of the transfer is
  /// imported; the transfer's current session ends with this fault, and so does the run.
  mutating func failTransfer(of number: SessionNumber, by fault: Failure) {
    guard let transfer = sessions[number]?.transfer else { return }
    withdrawFinish(of: transfer)
    transfers[of: transfer]?.fault = fault
    for number in sessions.keys.sorted() where sessions[number]?.transfer == transfer {
      endSession(number, by: fault)
      // The fault replaces an earlier lost connection, after which the sender might have come back.
      if case .ending(let earlier?) = sessions[number]?.life, earlier.senderMayComeBack {
        sessions[number]?.life = .ending(fault)
      }
    }
    // The session had ended when the import was about to begin: no other session decides.
    if case .engaged(_, nil)? = phase[transfer], transfers[of: transfer]?.isImporting == false {
      endTransfer(transfer, .failure(fault))
    }
  }

  /// Cancels the import that was about to begin.
  mutating func withdrawFinish(of transfer: TransferID) {
    for (number, session) in sessions where session.transfer == transfer && session.finish != nil {
      sessions[number]?.finish = nil
      transfers[of: transfer]?.part.stage = .receiving
    }
  }

  // MARK: Items that the source no longer has

  mutating func drop(_ marks: [Mark], _ number: SessionNumber) throws(Violation) {
    // A sender cannot drop items that it was never sent, and only this bounds the queue for a slow
    // disk.
    guard marks.count <= sessions[number]?.droppable ?? 0 else {
      throw Violation(.limit, "a list of dropped items")
    }
    sessions[number]?.droppable -= marks.count
    sessions[number]?.drops.append(marks)
    dropNext(number)
  }

  private mutating func dropNext(_ number: SessionNumber) {
    guard let session = sessions[number], session.isTalking || session.finish != nil,
      !session.drops.isEmpty, !workers.contains(.dropItems(number)),
      let marks = sessions[number]?.drops.removeFirst()
    else { return }
    act(.dropItems(number, marks))
  }

  mutating func dropped(_ number: SessionNumber, _ fault: Failure?) {
    if let fault { failTransfer(of: number, by: fault) }
    dropNext(number)
  }
}
