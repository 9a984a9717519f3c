import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport

/// What the receiving device keeps apart from staging, durably: its store.
struct ReceiverStore {
  let transfer: TransferID
  let keys: TransferKeys
  let offer: Offer
  var done: Done?
  /// What is named as not stored.
  var notStored: [Refusal] = []
}

/// One process of the receiver, from its start to its end: drives the real logic as the real engine does.
final class ReceiverDriver {
  /// A data stream that is being served.
  final class Stream {
    let wire: Wire
    var frames = FrameReader()
    var machine = IncomingStream()
    var number: UInt32?
    var writer: StagingWriter?
    var durable: UInt64 = 0
    var isOver = false
    /// What the frames brought, in their order, until they are durable.
    var promised: [[Promise]] = []

    init(_ wire: Wire) { self.wire = wire }
  }

  let world: World
  let disk: SimulatedDisk
  let ground: Ground
  private(set) var isAlive = true
  /// Why the process ended by itself.
  private(set) var failure: String?
  private(set) var staging: Staging?
  private var session = ReceiverSession(features: .refusals)
  private var control: Wire?
  private var controlFrames = FrameReader()
  private var sessionID: SessionID = 0
  private var streams: [Stream] = []
  private var numbers: Set<UInt32> = []
  private var isOpen = false
  private var isConcluding = false
  private var isSyncing = false
  private var isWriting = false
  /// How many of the refusals the session has been told.
  private var told = 0

  init(_ ground: Ground) {
    self.ground = ground
    world = ground.world
    disk = ground.disk
    disk.revive()
    disk.died = { [self] in die("in the middle of an operation") }
    disk.meanwhile = { [self] in meanwhile() }
    ground.network.accept = { [self] wire in accept(wire) }
    world.note("receiver starts")
    recover()
    sync()
  }

  /// The process is gone; what it left on the disk stays.
  func die(_ why: String) {
    guard isAlive else { return }
    world.note("receiver dies \(why)")
    isAlive = false
    if isConcluding { ground.tally.importKills += 1 }
    disk.kill()
    ground.network.accept = nil
    for wire in ([control].compactMap { $0 } + streams.map(\.wire)) {
      wire.detach(.receiver)
      wire.cut()
    }
    ground.receiverDied(self)
  }

  private func fail(_ error: any Error) {
    guard isAlive else { return }
    failure = "\(error)"
    world.note("receiver fails: \(error)")
    if let violation = error as? Violation { world.fail("the receiver found a violation: \(violation)") }
    if let error = error as? ArchiveError, error.code == .collision { world.fail("\(error)") }
    die("after a failure")
  }

  // MARK: Starting

  private func recover() {
    guard let store = ground.store, store.done == nil, disk.hasStaging else {
      if ground.store?.done != nil { disk.removeStaging() }
      return
    }
    if ground.hasLostPower, ground.mutation == .trustWholeJournal { ground.vouchForJournal() }
    ground.noteJournal()
    do {
      let staging = try Staging.recover(
        from: disk, for: store.offer, transfer: store.transfer, keys: store.keys, sealer: HashSealer(store.keys),
        existing: ground.furniture.existing)
      self.staging = staging
      world.note("recovered \(staging.held) \(staging.stage)")
      ground.recovered(staging)
      switch staging.stage {
      case .receiving: break
      case .concluded(let total), .imported(let total): finishImport(total)
      }
    } catch let error as ArchiveError where error.code == .journal {
      ground.noteJournal()
      world.fail("a journal was refused that nobody had tampered with: \(error)")
    } catch {
      fail(error)
    }
  }

  // MARK: Connections

  private func accept(_ wire: Wire) {
    if wire.name.hasPrefix("control") {
      // A newer session: the older one is fenced off.
      control?.close(by: .receiver)
      control?.detach(.receiver)
      endStreams()
      control = wire
      controlFrames = FrameReader()
      session = ReceiverSession(features: .refusals)
      isOpen = false
      wire.attach(.receiver, received: { [self] in heard($0, on: wire) }, ended: { [self] in lostControl(wire) })
      say(.greeting(Greeting(role: .receiver, label: "", software: "", features: .refusals)))
      told = 0
    } else {
      let stream = Stream(wire)
      streams.append(stream)
      wire.attach(
        .receiver, received: { [self] in heard($0, on: stream) }, ended: { stream.isOver = true })
    }
  }

  private func endStreams() {
    for stream in streams {
      stream.isOver = true
      stream.wire.detach(.receiver)
      stream.wire.cut()
    }
    streams = []
    numbers = []
  }

  private func lostControl(_ wire: Wire) {
    guard wire === control else { return }
    control = nil
    endStreams()
  }

  private func say(_ message: ControlMessage) { control?.send(message.frame, from: .receiver) }

  // MARK: The conversation

  private func heard(_ bytes: [UInt8], on wire: Wire) {
    guard isAlive, wire === control else { return }
    controlFrames.add(bytes)
    do {
      while let (type, body) = try controlFrames.next() {
        guard let message = try ControlMessage(type, body.span, 0..<body.count) else { continue }
        try perform(try session.received(message))
      }
    } catch {
      fail(error)
    }
  }

  private func perform(_ action: ReceiverSession.Action) throws {
    switch action {
    case .nothing, .meet, .noteUnsent: break
    case .say(let message): say(message)
    case .judge(let offer): world.after(world.dice.roll(1...2_000)) { [self] in judge(offer) }
    case .drop(let marks): if ground.mutation != .forgetDropped { staging?.drop(marks) }
    case .conclude(let finish):
      isConcluding = true
      world.after(world.dice.roll(1...500)) { [self] in conclude(finish) }
    case .finish:
      ground.receiverFinished()
      isAlive = false
      ground.network.accept = nil
    case .stop(let close): world.note("receiver hears \(close.code)")
    }
  }

  private func judge(_ offer: Offer) {
    guard isAlive, session.isJudging else { return }
    if let store = ground.store, let done = store.done { return answerAgain(done, store.notStored) }
    // The end of the import that is going on answers.
    if isConcluding { return }
    do {
      let staging = try staging(for: offer)
      staging.beginSession(offer, mayRefuse: true)
      sessionID = UInt128(world.dice.next()) << 64 | UInt128(world.dice.next())
      numbers = []
      let keys = ground.store!.keys
      say(
        session.accept(
          Accept(
            transfer: staging.transfer, session: sessionID, keys: keys, window: Limits.smallestWindow, streams: 8,
            features: .refusals)))
      let report = staging.report
      ground.promises.checkTold(report.marks, report.partials)
      for page in pages(report.marks) { say(session.report(Held(kind: .staged, marks: page))) }
      let marks = ground.furniture.marks(keys)
      for page in pages(marks.present) { say(session.report(Held(kind: .present, marks: page))) }
      for page in pages(marks.taken) { say(session.report(Held(kind: .taken, marks: page))) }
      for partial in report.partials { say(session.report(partial)) }
      isOpen = true
      say(session.reported(report.held))
      tellRefusals()
    } catch {
      fail(error)
    }
  }

  /// The offer is answered by DONE, behind the names of what is not stored.
  private func answerAgain(_ done: Done, _ notStored: [Refusal]) {
    for refusal in notStored { if let message = session.refused(refusal) { say(message) } }
    say(session.answerAgain(done))
  }

  private func tellRefusals() {
    guard session.mayTellRefusals, !session.isJudging, let staging else { return }
    let new = staging.refusals(from: told)
    told += new.count
    for refusal in new { if let message = session.refused(refusal) { say(message) } }
  }

  private func pages(_ marks: [Mark]) -> [[Mark]] {
    stride(from: 0, to: marks.count, by: 5).map { Array(marks[$0..<min($0 + 5, marks.count)]) }
  }

  private func staging(for offer: Offer) throws -> Staging {
    if let staging { return staging }
    let store =
      ground.store
      ?? ReceiverStore(
        transfer: UInt128(world.dice.next()),
        keys: TransferKeys(tagKey: UInt128(world.dice.next()), hashKey: UInt128(world.dice.next())), offer: offer)
    ground.store = store
    if !disk.hasStaging { disk.makeStaging() }
    let made = try Staging(
      on: disk, for: offer, transfer: store.transfer, keys: store.keys, existing: ground.furniture.existing)
    staging = made
    return made
  }

  // MARK: Data

  private func heard(_ bytes: [UInt8], on stream: Stream) {
    guard isAlive, !stream.isOver else { return }
    stream.frames.add(bytes)
    do {
      while isAlive, !stream.isOver, let (type, body) = try stream.frames.next() {
        try take(type, body, on: stream)
      }
    } catch {
      fail(error)
    }
  }

  private func take(_ type: FrameType, _ body: [UInt8], on stream: Stream) throws {
    switch try StreamMessage(type, body.span, 0..<body.count) {
    case .join(let join): try joined(join, stream)
    case .data(let header):
      guard stream.number != nil, let writer = stream.writer else { return }
      try stream.machine.received(header)
      ground.noteEntries(body)
      isWriting = true
      defer { isWriting = false }
      if ground.mutation == .acknowledgeBeforeWriting {
        written(body, on: stream)
        world.after(world.dice.roll(1...3_000)) { [self] in
          guard isAlive else { return }
          do { try writer.write(body.span, entries: Limits.dataHeader..<body.count) } catch { fail(error) }
        }
      } else {
        try writer.write(body.span, entries: Limits.dataHeader..<body.count)
        written(body, on: stream)
      }
    case .end:
      try stream.machine.ended()
      acknowledge(stream)
      stream.isOver = true
      stream.wire.close(by: .receiver)
    case .ack, .close, nil: break
    }
  }

  private func joined(_ join: Join, _ stream: Stream) throws {
    guard join.session == sessionID, isOpen else {
      stream.isOver = true
      stream.wire.cut()
      return
    }
    if let replaced = join.replaces {
      numbers.insert(replaced)
      for old in streams where old.number == replaced {
        old.isOver = true
        old.wire.cut()
      }
    }
    guard numbers.insert(join.stream).inserted, let staging, let store = ground.store else {
      stream.isOver = true
      stream.wire.cut()
      return
    }
    try stream.machine.joined()
    stream.number = join.stream
    stream.writer = StagingWriter(staging, sealer: HashSealer(store.keys)) { [self] in tellRefusals() }
  }

  private func written(_ body: [UInt8], on stream: Stream) {
    stream.machine.wrote()
    stream.promised.append(ground.promises.written(body, in: staging, keys: ground.store!.keys))
    acknowledge(stream)
  }

  private func acknowledge(_ stream: Stream) {
    guard !stream.isOver else { return }
    stream.machine.synced(stream.durable)
    if let ack = stream.machine.acknowledge() { stream.wire.send(StreamMessage.ack(ack).frame(), from: .receiver) }
  }

  // MARK: Syncing

  private func sync() {
    world.after(world.dice.roll(2_000...30_000)) { [self] in
      guard isAlive else { return }
      defer { sync() }
      guard let staging, !isConcluding, !isSyncing else { return }
      isSyncing = true
      defer { isSyncing = false }
      let sent = ground.sentInAll
      let snapshot = streams.map { ($0, $0.machine.writtenFrames, $0.promised.count) }
      do {
        try staging.synchronize()
      } catch {
        return fail(error)
      }
      ground.synced(sent)
      for (stream, frames, count) in snapshot {
        stream.durable = max(stream.durable, frames)
        ground.promises.durable(stream.promised.prefix(count).flatMap(\.self))
        stream.promised.removeFirst(count)
        acknowledge(stream)
      }
    }
  }

  /// While a sync goes on, streams write.
  private func meanwhile() {
    guard isSyncing, !isWriting else { return }
    for _ in 0..<world.dice.roll(0...6) where isAlive { _ = ground.stepInside() }
  }

  // MARK: The end

  private func conclude(_ finish: Finish) {
    guard isAlive, let staging else { return }
    ground.riskImport()
    if ground.mutation == .forgetRefused, let keys = ground.store?.keys {
      staging.drop(staging.refusals(from: 0).prefix(1).map { keys.mark(path: $0.path, generation: $0.generation) })
    }
    do {
      try staging.complete(finish) { _ in }
      ground.concluded(finish)
      world.after(world.dice.roll(1...2_000)) { [self] in finishImport(finish.total) }
    } catch {
      fail(error)
    }
  }

  private func finishImport(_ total: Tally) {
    guard isAlive, let staging else { return }
    isConcluding = true
    ground.riskImport()
    do {
      var moves = FolderImport(staging, to: disk)
      try moves.run { _ in }
      try disk.operate(mayFail: false)
      let done = Done(total: total, notStored: staging.notStored)
      ground.refused(staging)
      let named = Array(staging.refusals(from: 0))
      ground.store?.done = done
      ground.store?.notStored = named
      ground.imported()
      try disk.operate(mayFail: false)
      disk.removeStaging()
      world.after(world.dice.roll(1...500)) { [self] in
        guard isAlive else { return }
        if session.isImporting {
          tellRefusals()
          say(session.imported(done))
        } else if session.isJudging {
          answerAgain(done, named)
        }
      }
    } catch {
      fail(error)
    }
  }
}
