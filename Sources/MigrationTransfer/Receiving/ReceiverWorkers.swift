import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The workers of the run, of its codes and questions, and of connections before READY.
extension ReceiverSetup {
  typealias ReceiverWorker = ReceiverPerformer.ReceiverWorker

  /// Recovers the transfers of earlier runs.
  func takeBack(_ entries: [FoundTransferRecord]) -> ReceiverWorker {
    let worker = RecoveryWorker(setup: self, entries: entries)
    return ReceiverWorker("recovery") {
      try worker.run()
    } failing: {
      .tookBack(.failure($0))
    }
  }

  /// Opens the socket that senders connect to.
  func listen(rememberedPort: UInt16?) -> ReceiverWorker {
    let (options, helpers, store, meetings) = (options, helpers, store, meetings)
    return ReceiverWorker("listening") {
      if options.keepsPairings {
        for device in try store?.devices(as: .receiver, options.knownDevices).reversed() ?? [] {
          meetings.note(device.peer, device.meeting)
        }
      }
      let socket = try ListeningSocket(
        options.listen, isPortChosen: options.isPortChosen, remembered: rememberedPort)
      let reachable = socket.reachableAddresses
      let listening = Listening(
        addresses: reachable.map(\.hostDescription), shown: reachable.worthShowing.map(\.hostDescription),
        port: socket.port, from: options.from.map(\.description),
        // Where only this device can connect there is nothing to announce.
        isAnnounced: helpers.announcer != nil && !socket.address.isLoopback,
        isInTunnels: reachable.worthShowing.areInTunnels(of: (try? NetworkInterface.all()) ?? []))
      return Report(.listening(.success(listening)), bringing: .listening(Handover(socket)))
    } failing: {
      .listening(.failure($0))
    }
  }

  /// Makes a code, or takes the given one. The slow derivation runs once a code, before the code is
  /// shown, and never while a connection waits for it.
  func makeCode() -> ReceiverWorker {
    let code = options.code ?? .random()
    return ReceiverWorker("code") {
      Report(.codeMade(.success(code)), bringing: .secret(try code.stretched()))
    } failing: {
      .codeMade(.failure($0))
    }
  }

  /// Asks the user of this device. The question ends when `ending` is signalled.
  func ask(_ question: ReceiverEngine.Question, until ending: Wakeup) -> ReceiverWorker {
    // One question is asked at a time: the previous one has ended.
    ending.clear()
    let (helpers, store) = (helpers, store)
    return ReceiverWorker("question") {
      guard case .consent(let plan, let label, let address, let client, let answers) = question else {
        return Report(.answered(helpers.restart?(ending.raw)))
      }
      let asked = ConsentQuestion(
        parts: plan.wanted, refused: plan.refused, of: plan.count, label: label, address: address, answers: answers,
        isLater: plan.isLater)
      switch helpers.consent?(asked, ending.raw) {
      case nil: return Report(.answered(nil))
      case .no?:
        try? store?.changingDevices { try store?.unexpect(client, as: .receiver) }
        return Report(.answered(false))
      case .yes(let taken, let removals)?: return Report(.answered(true, taking: taken, removals: removals))
      }
    } failing: { _ in
      .answered(nil)
    }
  }

  /// Takes a step on a connection before READY.
  func pair(
    _ connection: ServedConnection, _ step: @escaping @Sendable (PairingWorker) -> ReceiverPerformer.WorkerReport
  ) -> ReceiverWorker {
    let worker = PairingWorker(setup: self, served: connection)
    return ReceiverWorker("connection") {
      step(worker)
    } failing: { [id = connection.id] _ in
      .departed(id)
    }
  }

  // MARK: Transfers

  /// Gives the store a task about a transfer.
  func tend(
    _ transfer: IncomingTransferContext, _ body: @escaping @Sendable (IncomingTransferContext, ReceiverSetup) -> Void
  ) -> ReceiverWorker {
    let identifier = transfer.identifier
    return ReceiverWorker("store") {
      body(transfer, self)
      return Report(.noted(identifier))
    } failing: { _ in
      .noted(identifier)
    }
  }

  /// Takes back a released transfer.
  func retake(_ identifier: TransferID) -> ReceiverWorker {
    let worker = RecoveryWorker(setup: self)
    return ReceiverWorker("recovery") {
      try worker.retake(identifier)
    } failing: {
      .retook(identifier, .failure($0))
    }
  }

  /// Weighs a plan, records it, or stages a part of it, for a session.
  func staging(
    _ name: String, _ number: SessionNumber, of transfer: IncomingTransferContext,
    _ body: @escaping @Sendable (PlanWorker) throws -> ReceiverPerformer.WorkerReport,
    failing failed: @escaping @Sendable (Failure) -> ReceiverPerformer.Event
  ) -> ReceiverWorker {
    let worker = PlanWorker(setup: self, session: number, transfer: transfer)
    return ReceiverWorker(name, { try body(worker) }, failing: failed)
  }

  func importItems(
    of transfer: IncomingTransferContext, _ part: UInt16,
    _ conclusion: (part: IncomingPartContext, streams: StreamCounts, finish: Finish)?, unsent: LeftOutItems
  ) -> ReceiverWorker {
    let worker = ImportWorker(setup: self, transfer: transfer, part: part, conclusion: conclusion, unsent: unsent)
    return ReceiverWorker("import") {
      worker.run()
    } failing: { [id = transfer.identifier] in
      .imported(id, .failure($0), Traffic(), refused: [])
    }
  }
}

/// The workers of a session.
extension ReceiverSessionContext {
  typealias ReceiverWorker = ReceiverPerformer.ReceiverWorker

  func readLedger() -> ReceiverWorker {
    ReceiverWorker("ledger") { [number, part] in
      Report(.ledger(number, .success(part.nextLedgerPage())))
    } failing: { [number] in
      .ledger(number, .failure($0))
    }
  }

  /// Records that the source no longer has the items of these marks.
  func drop(_ marks: [Mark]) -> ReceiverWorker {
    ReceiverWorker("dropping") { [number, part] in
      part.staging.drop(marks)
      return Report(.dropped(number, nil))
    } failing: { [number] in
      .dropped(number, $0)
    }
  }

  func sync() -> ReceiverWorker {
    ReceiverWorker("sync") { [number, part] in
      try part.syncer.run()
      return Report(.syncEnded(number, nil))
    } failing: { [number] in
      .syncEnded(number, $0)
    }
  }

  func serve(_ connection: ServedConnection, _ setup: ReceiverSetup) -> ReceiverWorker {
    ReceiverWorker("stream") { [self] in
      receive(on: connection, setup)
      return nil
    } failing: { [id = connection.id, staging = part.staging] _ in
      // Another stream may find a thread: the connection is closed, as one that was cut.
      .streamEnded(id, .over, held: staging.held)
    }
  }
}
