import MigrationArchive
import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The users of both devices: they start the programs, again and again, until everything is done.
extension Scene {
  /// Whether there are no more faults.
  var isCalm: Bool { world.now >= calm }

  /// How many seconds a process waits for the other end.
  func patience() -> Double {
    isCalm ? 600 : [0, 2, 30, 600][world.dice.one(in: 12) ? 0 : world.dice.roll(1...3)]
  }

  /// Whether the receiver's user allows an address to pair.
  func mayPair(_ host: String) -> Bool { isCalm || !forbiddenHosts.contains(host) }

  /// Whether the devices cannot reach each other.
  var isAway: Bool { world.now < outage }

  /// How long the device has slept since a moment, and a little more.
  func sleptSince(_ time: Int, _ role: Role) -> Int {
    let wake = asleep[role.index]
    return wake >= time ? wake - time + 1_000_000 : 0
  }

  /// A device's disk hangs from now on.
  func stall(_ device: Int, for length: Int) {
    stalled[device] = max(stalled[device], world.now + length)
    let role = device == Role.sender.index ? Role.sender : .receiver
    world.note("the disk of the \(role) hangs until \(stalled[device])")
    // The event lets an operation that waits on the stack continue as soon as the disk does, not
    // only at the next event after that.
    world.after(length) {}
  }

  /// The receiver's disk is in the middle of an operation, and may hang from here on.
  func riskStall() {
    guard !lurkingStalls.isEmpty, world.dice.one(in: 3) else { return }
    tally.stalls += 1
    world.note("the receiver's disk hangs in the middle of an operation")
    stall(Role.receiver.index, for: lurkingStalls.removeLast())
  }

  func startSender() {
    guard senders.isEmpty, !isSenderDone else { return }
    addSender()
  }

  /// Another process continues the sender's transfer, from a copy of its records.
  func startTwin() {
    guard !isSenderDone else { return }
    // Without a record there is nothing to copy.
    guard senders.count == 1, !entriesAtSender.isEmpty else {
      return ambush(at: world.dice.one(in: 2) ? .join : .export, 1) { [self] in startTwin() }
    }
    tally.twins += 1
    addSender()
    for sender in senders { sender.hasTwin = true }
  }

  private func addSender() {
    tally.runs += 1
    if world.dice.one(in: 6) { senderHost = "10.0.0.\(world.dice.roll(2...4))" }
    senders.append(SimulatedSender(self))
  }

  func startReceiver() {
    guard receiver == nil, !isSenderDone else { return }
    tally.runs += 1
    if world.dice.one(in: 4) { receiverAddress = "10.0.1.\(world.dice.roll(1...9)):1" }
    receiver = SimulatedReceiver(self)
  }

  func senderIsGone(_ sender: SimulatedSender) {
    // The user tries again what is missing, while that may help.
    let isLate = sender.began >= calm && sender.isFinished
    if sender.lacksParts && (isLate || entriesAtSender.isEmpty) || isLate && hasBroughtAll { senderIsContent(sender) }
    senders.removeAll { $0 === sender }
    world.after(pause) { [self] in startSender() }
  }

  func receiverIsGone(whileImporting isImporting: Bool) {
    if isImporting { tally.importKills += 1 }
    receiver = nil
    world.after(pause) { [self] in startReceiver() }
  }

  private var pause: Int {
    world.dice.one(in: 4) ? world.dice.roll(1_000...20_000_000) : world.dice.roll(1_000...400_000)
  }

  /// Now and then the receiver stays and the sender's user has more to send; returns whether that
  /// is so.
  private func startsAgain() -> Bool {
    guard keeps, !isSenderDone, rounds > 0, existingItems.existing != .refuse, senders.count == 1,
      !senders[0].lacksParts
    else { return false }
    rounds -= 1
    tally.rounds += 1
    beginAnother()
    return true
  }

  /// The sender's user learns that everything is done, and does not start the sender again.
  func senderIsContent(_ sender: SimulatedSender) {
    if isSenderDone || startsAgain() { return }
    isSenderDone = true
    world.after(world.dice.roll(1_000...2_000_000)) { [self] in
      for other in senders where other !== sender { other.stop() }
    }
    // A receiver whose sender does not come back waits in vain.
    world.after(100_000_000) { [self] in receiver?.stop() }
  }
}

// MARK: Checks at the end of a run

extension SimulatedSender {
  func checkEnd(_ checked: TransferOutcome) {
    let result: TransferResult
    switch checked {
    case .failure(let failure):
      guard failure.kind == .connectionLost, isReturning, patience > 0, !isStopped, !isTold else { return }
      return world.check(
        world.seconds - lastProgress >= patience - 0.001, "the sender gives up too soon: \(failure)")
    case .success(let success): result = success
    }
    // A receiver that is gone may import by itself what has failed.
    let isGone = verdict != nil && judge != scene.receiver.map(ObjectIdentifier.init)
    world.check(
      scene.isKnown(result, mayLack: hasTwin || isGone), "the sender reports a result that the receiver does not know")
    // A process does not know another process's messages, and may have reported items that the
    // other one found gone.
    let gone = hasTwin ? scene.goneRefused : goneRefused
    // Of parts that an earlier run has finished, that run has told its user.
    let told = scene.parts.count > 1 ? scene.toldRefused[0] : toldRefused
    let finished = verdict.flatMap { scene.done[$0.transfer] }
    for (part, paths) in scene.notStoredPaths where finished.map({ $0[part] != nil }) ?? true {
      let known = toldRefused.subtracting(gone).filter { scene.part(of: $0) == part }
      world.check(
        paths.isSubset(of: told) && known.isSubset(of: paths),
        "the sender's user knows \(names(told)) as not stored, instead of \(names(paths))")
    }
  }

  private func names(_ paths: Set<[UInt8]>) -> [String] { paths.map { String(decoding: $0, as: UTF8.self) }.sorted() }

  func check(_ action: Engine.Action) {
    switch action {
    case .say(_, .offer(let totals)):
      checkRecorded(besides: unwritten)
      for session in sessions.values where !session.isStopped {
        world.check(session.window?.isWritten ?? true, "a part is offered before everything is written")
      }
      offered = totals.part
    case .say(let id, .receipt):
      world.check(pending.isEmpty, "RECEIPT is sent before each part has its result")
      checkRecorded()
      if links[id]?.isUp == true { checkResults() }
    case .moveFrames(let number, let from, let to):
      if let session = sessions[number] { scene.moved(session.identifier, from: from, to: to) }
    case .say(_, .finish):
      for session in sessions.values where !session.isStopped {
        world.check(session.window?.isWritten ?? false, "FINISH is sent before everything is written")
      }
    default: break
    }
  }
}

extension SimulatedSender {
  /// Both ends have the same result of each part.
  private func checkResults() {
    guard let verdict, !hasTwin else { return }
    let finished = verdict.parts.indices.map { UInt16($0) }.filter { part in
      if case .finished = verdict.parts[Int(part)] { true } else { heardDone.contains(part) }
    }
    let done = scene.done[verdict.transfer, default: [:]].keys.sorted()
    world.check(finished == done, "the sender counts \(finished) as finished, and the receiver \(done)")
  }

  /// The DONE of each part is recorded before the next OFFER, or RECEIPT.
  private func checkRecorded(besides unwritten: Set<UInt16> = []) {
    for part in heardDone.subtracting(unwritten) {
      let isRecorded = verdict.map { scene.recorded.contains($0.transfer.ofPart(part)) } ?? false
      world.check(isRecorded, "the session goes on before DONE is recorded")
    }
  }
}

extension SimulatedReceiver {
  /// A transfer is done, and the receiver stays.
  func checkDone() {
    world.check(!scene.done.isEmpty, "the receiver reports a result before the end")
    checkToldRefused()
  }

  private func checkToldRefused() {
    world.check(
      scene.refusedPaths.values.allSatisfy {
        $0.isSubset(of: scene.parts.count > 1 ? scene.toldRefused[1] : toldRefused)
      },
      "the receiver's user does not know all unstored items")
  }

  /// A transfer has failed, and the receiver stays.
  func checkFailed(_ failure: TransferFailure, of transfer: TransferID?) {
    let lastHeard = transfer.map { lastHeardOf[$0] ?? 0 } ?? lastHeard
    world.check(scene.keeps, "a receiver that does not stay continues after \(failure)")
    guard failure.kind == .connectionLost, failure != Fault.idle.failure, patience > 0 else { return }
    world.check(world.seconds - lastHeard >= patience - 0.001, "the receiver gives up too soon")
  }

  func checkEnd(_ result: TransferOutcome) {
    world.check(links.values.allSatisfy { !$0.isOpen }, "the receiver ends during a session")
    if scene.keeps {
      guard case .failure(let failure) = result else {
        return world.fail("a receiver that stays ends by a success")
      }
      let mayEnd =
        switch failure.kind {
        case .interrupted: true
        // Pairings that bring no data belong to one wait (Protocol §4.3).
        case .pairing: comparisons >= GuessLimit.most
        case .failed: hasLackedThread
        default: false
        }
      return world.check(mayEnd || !hasListened, "a receiver that stays ends by \(failure)")
    }
    switch result {
    case .success(let result):
      world.check(scene.isKnown(result), "the receiver reports a result before the end")
      if hasImported { checkToldRefused() }
    case .failure(let failure):
      world.check(!hasImported || !hasListened, "the receiver has imported everything, and fails: \(failure)")
      guard failure.kind == .connectionLost, patience > 0, !isStopped else { return }
      world.check(world.seconds - lastHeard >= patience - 0.001, "the receiver gives up too soon")
    }
  }

  /// A part in the newest session.
  private func part(_ number: UInt16) -> ReceiverPartParts? {
    let newest = sessions.values.max { $0.number < $1.number }
    return newest?.part.flatMap { $0.number == number ? $0 : nil }
  }

  func check(_ action: Engine.Action) {
    switch action {
    case .say(_, .accept(let accept)):
      let staged = sessions.values.filter { $0.part?.staging.keys == accept.keys }
      guard let session = staged.max(by: { $0.number < $1.number }) else {
        return world.fail("a session is accepted that was not staged")
      }
      checkRest(before: session, "a session is accepted while an older one writes")
      world.check(
        sessions.values.allSatisfy { $0.transfer !== session.transfer || $0.number <= session.number },
        "an older session is accepted after a newer one")
      session.isAccepted = true
    case .say(let id, .close(Fault.idle.close)):
      scene.tally.turns += 1
      world.check(scene.keeps, "a session gives way at a receiver that does not stay")
      world.check(
        sessions.values.allSatisfy {
          guard !$0.isClosed, let part = $0.part else { return true }
          return part.writing == 0 && world.seconds - part.lastWritten >= Engine.turn
        },
        "a session gives way whose data comes")
      world.check(links[id]?.isOpen == true, "a session gives way that has ended")
    case .say(_, .close(Fault.elsewhere.close)):
      world.check(scene.keepsPairings, "a sender begins a second transfer with its key")
      world.check(transfers.values.contains(where: \.isImporting), "a sender is sent away from a receiver that is free")
    case .say(let id, .close(let close)) where close.code == .silent:
      world.check(links[id]?.isOpen != true, "the receiver counts a present sender as away")
    case .importItems(let transfer, _, _, _):
      world.check(!unsynced.contains(transfer), "data is imported that could not be made durable")
    case .say(let id, .verdict(let verdict)):
      talks[id] = (verdict.transfer, 0, [])
      for (name, part) in zip(scene.names(ofPartsOf: verdict.transfer), verdict.parts) {
        if case .refused(let close) = part { scene.ends(name, by: close.code) } else { scene.ends(name, by: nil) }
      }
    case .say(let id, .notStored(let item)):
      world.check(talks[id]?.refused.insert(item).inserted ?? true, "an item is refused twice in a session")
    case .say(let id, .failed(let failed)):
      part(failed.part)?.hasFailed = true
      if let talk = talks[id] { scene.ends(talk.transfer.ofPart(failed.part), by: failed.close.code) }
    case .say(let id, .done(let done)):
      world.check(
        talks[id].map { scene.done[$0.transfer]?[$0.part] == done } ?? false,
        "the receiver sends DONE although the part is not done")
    case .serve(let id, let number, let join): checkStream(id, number, join)
    default: break
    }
  }

  /// A stream may be served: it belongs to its session, and the streams that it replaces have
  /// ended.
  private func checkStream(_ id: ConnectionID, _ number: SessionNumber, _ join: Join) {
    guard let session = sessions[number] else { return world.fail("a stream of an unknown session") }
    world.check(session.identifier == join.session, "a stream of another session is served")
    world.check(!session.isClosed, "a stream is served after the end of its session")
    checkNewest(session, "a stream is served")
    world.check(!session.numbers.contains(join.stream), "two streams of a session have one number")
    for stream in session.streams where stream.join.stream == join.replaces {
      world.check(stream.worker.hasEnded, "a stream is served while the one that it replaces writes")
    }
  }
}

// MARK: Faults that must not occur

extension Scene {
  /// Both ends follow the protocol, so no event reports a violation.
  func check(_ fault: Fault?, at role: Role, of sender: SimulatedSender?) {
    guard let fault else { return }
    switch fault.code {
    // A process does not know another process's messages for the same transfer, and takes their
    // consequences for a violation.
    case .violation where sender?.hasTwin == true, .told(.violation) where sender?.hasTwin == true: break
    // A sender that meets a stranger at the receiver's address reports that to the receiver.
    case .told(.violation) where role == .receiver && sender?.hasMetStranger == true: break
    case .violation, .announcement, .told(.violation), .told(.announcement), .collision:
      world.fail("the \(role) gets an event that must not occur: \(fault)")
    default: break
    }
  }
}

extension SimulatedReceiver {
  /// Notes the facts of an event that the checks need.
  func watch(_ event: Engine.Event) {
    switch event {
    case .importing: importMovedAt = world.now
    case .imported(let transfer, let result, _, _):
      importMovedAt = world.now
      if case .success = result, scene.done[transfer]?.count == scene.parts.count { hasImported = true }
    case .received(_, let message):
      lastHeard = world.seconds
      if let id = event.connection, let talk = talks[id] { lastHeardOf[talk.transfer] = lastHeard }
      switch message {
      case .finish: importMovedAt = world.now
      case .offer(let totals):
        if let id = event.connection, let talk = talks[id] { talks[id] = (talk.transfer, totals.part, []) }
      case .failed(let failed): part(failed.part)?.hasFailed = true
      default: break
      }
    case .listening(.success): hasListened = true
    default: break
    }
    scene.check(
      event.fault, at: .receiver, of: event.connection.flatMap { connections[$0]?.other as? SimulatedSender })
  }
}

extension ReceiverEngine.Event {
  fileprivate var fault: Fault? {
    switch self {
    case .broke(_, let fault), .weighed(_, .failure(let fault), _, _), .staged(_, .failure(let fault)),
      .ledger(_, .failure(let fault)), .dropped(_, let fault?), .streamEnded(_, .failed(let fault), _),
      .syncEnded(_, let fault?), .imported(_, .failure(let fault), _, _), .tookBack(.failure(let fault)):
      fault
    case .received(_, .close(let close)): Fault(told: close)
    default: nil
    }
  }
}

extension ReceiverEngine.Event {
  /// The connection of the event.
  fileprivate var connection: ConnectionID? {
    switch self {
    case .broke(let id, _), .streamEnded(let id, _, _), .received(let id, _): id
    default: nil
    }
  }
}

extension SenderEngine.Event {
  var fault: Fault? {
    switch self {
    case .broke(_, let fault), .exported(_, .failure(let fault)), .streamEnded(_, _, .failed(let fault)): fault
    case .received(_, .close(let close)): Fault(told: close)
    default: nil
    }
  }
}
