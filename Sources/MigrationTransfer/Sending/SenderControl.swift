import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire

/// What the sender's workers have to tell the thread of the control connection.
enum SenderNews: Sendable {
  case prepared(Result<SourceSummary, ArchiveError>)
  case unsent(Unsent)
  /// Everything is exported and written; the marks are of held items that the source no longer has.
  case exported(Finish, stale: [Mark])
  case streamJoined
  case streamLost(SendQueue.StreamNumber)
  case failed(SessionFailure)
  case stop(TransferFailure.Kind)
}

/// Drives the sender's half of the conversation on one control connection. It does no file I/O.
struct SenderControl: ~Copyable {
  /// What of the program the conversation needs.
  struct Surroundings: Sendable {
    let greeting: Greeting
    let source: any ItemSource
    let store: TransferStore?
    let dialing: Dialing
    let addresses: [SocketAddress]
    /// How many data streams are opened.
    let streams: UInt32
    /// Whether they compress what they carry.
    let compression: CompressionWish
    /// Set once the user knows that nothing is compressed although that was asked for.
    let isPlainTold: Flag
    /// How long nothing may move on one, in seconds.
    let stallPatience: Double
    /// Whether this device came back, instead of pairing.
    let isResumed: Bool
    let observe: @Sendable (TransferEvent) -> Void
  }

  /// How many streams may be lost while nothing arrives at the receiver.
  private static let losses = 16

  private var link: ControlLink
  private var session = SenderSession()
  private let transfer: OutgoingTransfer
  private let mailbox: Mailbox<SenderNews>
  private let surroundings: Surroundings
  private let threads = ThreadGroup()
  private var isMet = false
  /// What the receiver asks an app for.
  private var request: AppRequest?
  private var summary: SourceSummary?
  private var accept: Accept?
  private var held = HeldItems()
  private var queue: SendQueue?
  private var nextStream: UInt32 = 0
  /// How many streams are still to be opened, each when the one before it has joined.
  private var missing: UInt32 = 0
  /// The streams that were lost since so much had arrived.
  private var lost = (count: 0, arrived: Tally())
  private var unsent: UInt64 = 0
  private var finish: Finish?
  private var done: Done?

  /// Takes over a connection that is past READY, whose wakeup is the mailbox's.
  init(
    _ connection: consuming Connection, _ transfer: OutgoingTransfer, mailbox: Mailbox<SenderNews>,
    surroundings: Surroundings
  ) {
    link = ControlLink(connection)
    self.transfer = transfer
    self.mailbox = mailbox
    self.surroundings = surroundings
  }

  /// Holds the conversation to its end.
  mutating func run() -> SessionEnd {
    let result = converse()
    queue?.stop()
    threads.wait()
    let arrived = queue?.arrived ?? Tally()
    transfer.sessionEnded(
      queue?.traffic ?? Traffic(), arrived: arrived, total: summary?.total ?? Tally(),
      address: link.remoteAddress.description)
    return SessionEnd(result: result, hasProgressed: queue.map { $0.hasProgressed } ?? false)
  }

  private mutating func converse() -> Result<Done, SessionFailure> {
    link.say(.greeting(surroundings.greeting))
    do {
      while !session.isDone {
        for news in mailbox.take() { try take(news) }
        for message in try link.exchange(until: nextTick) { try perform(try session.received(message)) }
        tick()
      }
    } catch {
      let failure = SessionFailure(error)
      if !(error is Close) { link.say(session.close(failure.close)) }
      queue?.stop()
      link.close()
      return .failure(failure)
    }
    link.close()
    return .success(done ?? Done(total: Tally()))
  }

  // MARK: The conversation

  private mutating func perform(_ action: SenderSession.Action) throws {
    switch action {
    case .nothing: break
    case .say(let message): link.say(message)
    case .meet(let greeting):
      transfer.met(greeting)
      request = greeting.request
      if !surroundings.isResumed {
        surroundings.observe(.paired(label: greeting.label, address: link.remoteAddress.hostDescription))
      }
      isMet = true
      offerIfReady()
    case .begin(let accept): self.accept = accept
    case .keepHeld(let page): held.add(page)
    case .keepPartial(let partial): held.add(partial)
    case .stream(let tally):
      transfer.held(tally)
      if surroundings.isResumed { surroundings.observe(.resumed(heldBytes: tally.bytes)) }
      try beginStreaming()
    case .show(let progress): show(progress)
    case .finish(let done):
      self.done = done
      // The receiver forgets the transfer when it hears this; whoever is killed then must know that it is done.
      transfer.finished(done)
      link.say(.receipt)
    case .stop(let close): throw close
    }
  }

  private mutating func take(_ news: SenderNews) throws {
    switch news {
    case .prepared(let result):
      summary = try result.get()
      offerIfReady()
    case .unsent(let unsent):
      surroundings.observe(.unsent(unsent))
      self.unsent += 1
      if self.unsent <= Limits.unsent, session.isStreaming { link.say(session.unsent(unsent)) }
    case .exported(let finish, let stale):
      queue?.finish()
      self.finish = finish
      transfer.finishing(unsent: finish.unsent, leftOut: finish.leftOut)
      for page in stale.pages(of: Limits.marksInFrame) { link.say(session.drop(page)) }
      link.say(session.finish(finish))
      surroundings.observe(.progress(overall(.verifying)))
    case .streamJoined:
      guard session.isStreaming, missing > 0 else { return }
      missing -= 1
      try openStream(replacing: nil)
    case .streamLost(let number): try replace(number)
    case .failed(let failure): throw failure
    case .stop(let kind):
      throw SessionFailure(
        Close(.interrupted, "the transfer was interrupted on the sending device"),
        TransferFailure(kind, "interrupted"))
    }
  }

  private mutating func offerIfReady() {
    guard isMet, let summary, accept == nil else { return }
    let offer = Offer(
      transfer: transfer.identifier, contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes,
      allocated: summary.allocated, flags: summary.flags)
    surroundings.observe(.offer(offer, availableBytes: nil))
    link.say(session.offer(offer))
  }

  // MARK: Streaming

  private mutating func beginStreaming() throws {
    guard let accept, let summary else { preconditionFailure("streaming follows an acceptance") }
    let mailbox = mailbox
    let queue = SendQueue(window: accept.window) { mailbox.post(.unsent($0)) }
    self.queue = queue
    let (source, store, held, transfer) = (surroundings.source, surroundings.store, held, transfer)
    let (keys, address, request) = (accept.keys, link.remoteAddress.description, request)
    try threads.start("export") {
      do {
        // Before anything is sent: what arrives must never be without a sender that remembers it.
        try transfer.accepted(accept, summary, origin: try source.origin(), address: address, store: store)
        let packer = FramePacker(outlet: queue, sealer: try ChunkSealer(keys), keys: keys, held: held)
        try source.export(to: packer, for: request)
        try packer.drain()
        mailbox.post(.exported(packer.finish, stale: packer.staleMarks))
      } catch let error as ArchiveError where error.code == .stopped {
        // Whoever stopped it knows why.
      } catch {
        mailbox.post(.failed(SessionFailure(error)))
      }
    }
    tellIfPlain()
    // One at a time: the receiver has few places for connections that have not joined yet.
    missing = max(1, min(surroundings.streams, UInt32(accept.streams))) - 1
    try openStream(replacing: nil)
  }

  /// Opens another stream for one that broke; the more break while nothing arrives, the later.
  private mutating func replace(_ number: SendQueue.StreamNumber) throws {
    guard session.isStreaming, let queue else { return }
    if queue.arrived != lost.arrived { lost = (0, queue.arrived) }
    lost.count += 1
    guard lost.count <= Self.losses else { throw ConnectionError(.lost, "the data connections keep breaking") }
    queue.lost(number, replacedBy: nextStream)
    try openStream(replacing: number, after: lost.count == 1 ? 0 : min(2, 0.01 * Double(1 << lost.count)))
  }

  /// What keeps the data as it is, as a clause; nil where it may be compressed.
  private var obstacle: String? {
    if summary?.flags.contains(.compressible) != true { return "its exporter does not want the data to be compressed" }
    if !Features.ofThisDevice.contains(.zstd) { return "nothing is compressed: libzstd.so.1 is not on this device" }
    if accept?.features.contains(.zstd) != true { return "nothing is compressed: the other device cannot decompress" }
    return nil
  }

  /// Says why nothing is compressed to a user who has asked for it.
  private func tellIfPlain() {
    guard surroundings.compression == .always, let obstacle, !surroundings.isPlainTold.isSet else { return }
    surroundings.isPlainTold.set()
    surroundings.observe(.notice(obstacle))
  }

  private mutating func openStream(replacing lost: SendQueue.StreamNumber?, after pause: Double = 0) throws {
    guard let accept, let queue else { preconditionFailure("streams belong to a session") }
    let number = nextStream
    nextStream += 1
    let (mailbox, surroundings, transfer, attempts) = (mailbox, surroundings, transfer, self.lost.count)
    let compression = obstacle == nil ? surroundings.compression : .never
    let wakeup = try Wakeup()
    queue.register(number, wakeup)
    let dialing = Dialing(target: surroundings.dialing.target, context: surroundings.dialing.context) {
      queue.isStopped
    }
    try threads.start("stream \(number)") {
      do {
        if pause > 0 { try queue.pause(seconds: pause) }
        var connection = try dialing.connect(to: surroundings.addresses, wakeup: wakeup)
        try ClientPairing.come(
          back: .join, on: &connection, to: transfer.receiver, until: BootInstant.now().advanced(by: .seconds(10)))
        mailbox.post(.streamJoined)
        let join = Join(session: accept.session, stream: number, replaces: lost)
        var stream = OutgoingData(
          connection, join, queue: queue, compression: compression, patience: surroundings.stallPatience,
          attempts: attempts)
        try stream.run()
      } catch let error as ArchiveError where error.code == .stopped {
        // Whoever stopped it knows why.
      } catch is ConnectionError {
        mailbox.post(.streamLost(number))
      } catch {
        mailbox.post(.failed(SessionFailure(error)))
      }
    }
  }

  // MARK: Progress

  private var lastTick = BootInstant.now()
  private static let tickPause = Duration.milliseconds(200)

  private var nextTick: BootInstant? {
    session.isStreaming ? lastTick.advanced(by: Self.tickPause) : nil
  }

  private mutating func tick() {
    guard session.isStreaming, BootInstant.now() >= lastTick.advanced(by: Self.tickPause) else { return }
    lastTick = .now()
    surroundings.observe(.progress(overall(.sending)))
  }

  private func show(_ progress: ImportProgress) {
    surroundings.observe(
      .progress(overall(progress.phase == .importing ? .importing : .verifying, fraction: progress.fraction)))
  }

  private func overall(_ phase: TransferPhase, fraction: Double? = nil) -> TransferProgress {
    let arrived = queue?.arrived ?? Tally()
    // What was announced may have been an estimate.
    let total = finish?.total ?? summary?.total ?? Tally()
    return TransferProgress(
      phase: phase, bytes: arrived.bytes, totalBytes: max(total.bytes, arrived.bytes), items: arrived.items,
      totalItems: max(total.items, arrived.items), phaseFraction: fraction)
  }
}
