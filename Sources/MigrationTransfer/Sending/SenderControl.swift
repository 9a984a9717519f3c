import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// What the sender's workers have to tell the thread of the control connection.
enum SenderNews: Sendable {
  case prepared(Result<SourceSummary, ArchiveError>)
  case unsent(Unsent)
  /// Everything is exported and written; the marks are of held items that the source no longer has.
  case exported(Finish, stale: [Mark])
  case streamJoined(SendQueue.StreamNumber)
  case streamLost(SendQueue.StreamNumber)
  case failed(Fault)
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
    /// How many data streams are opened; nil for as many as help.
    let streams: UInt32?
    /// How many bytes may be sent in a second; nil for no limit.
    let limit: UInt64?
    /// Whether they compress what they carry.
    let compression: CompressionWish
    /// Set once the user knows that nothing is compressed although that was asked for.
    let isPlainTold: Flag
    /// Set once the user knows what the destination cannot hold.
    let isWithholdingTold: Flag
    /// How long nothing may move on one, in seconds.
    let stallPatience: Double
    /// Whether this device came back, instead of pairing.
    let isResumed: Bool
    /// What the session's threads belong to.
    let threads: ThreadGroup
    /// Whether this device gives up.
    let isStopped: @Sendable () -> Bool
    let observe: @Sendable (TransferEvent) -> Void
  }

  private var link: BlockingLink
  private var session: SenderSession
  private let transfer: OutgoingTransfer
  private let mailbox: Mailbox<SenderNews>
  private let surroundings: Surroundings
  private var threads: ThreadGroup { surroundings.threads }
  private var isMet = false
  /// What the receiver asks an app for.
  private var request: AppRequest?
  private var summary: SourceSummary?
  private var accept: Accept?
  private var held = HeldItems()
  private var queue: SendQueue?
  private var streams: OutgoingStreams?
  private var finish: Finish?
  private var done: Done?

  /// Takes over a connection that is past READY, whose wakeup is the mailbox's.
  init(
    _ connection: consuming Connection, _ transfer: OutgoingTransfer, mailbox: Mailbox<SenderNews>,
    surroundings: Surroundings
  ) {
    link = BlockingLink(connection)
    session = SenderSession(features: surroundings.greeting.features)
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
      arrived: arrived, total: summary?.total ?? Tally(), address: link.remoteAddress.description)
    return SessionEnd(result: result, hasProgressed: queue.map { $0.hasProgressed } ?? false)
  }

  private mutating func converse() -> Result<Done, Fault> {
    link.say(.greeting(surroundings.greeting))
    do {
      while !session.isDone {
        for news in mailbox.take() { try take(news) }
        for message in try link.exchange(until: nextTick) { try perform(try session.received(message)) }
        try tick()
      }
    } catch {
      let failure = Fault(error)
      if !failure.isTold { link.say(session.close(failure.close)) }
      queue?.stop()
      link.close(within: surroundings.isStopped() ? .seconds(Curfew.forWords) : .seconds(2))
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
    case .noteRefused(let refusal): note(refusal)
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
      surroundings.observe(unsent.event)
      if session.isStreaming, let message = session.unsent(unsent) {
        link.say(message)
        if let refused = unsent.refused { transfer.note(refused) }
      }
    case .exported(let finish, let stale):
      queue?.finish()
      self.finish = finish
      transfer.finishing(finish)
      transfer.traffic.begin()
      for page in stale.pages(of: Limits.marksInFrame) { link.say(session.drop(page)) }
      link.say(session.finish(finish))
      surroundings.observe(.progress(overall(.verifying)))
    case .streamJoined(let number): if session.isStreaming { try streams?.joined(number) }
    case .streamLost(let number): if session.isStreaming { try streams?.lost(number) }
    case .failed(let failure): throw failure
    case .stop(let kind):
      throw Fault.interrupted(.sender, by: kind)
    }
  }

  private func note(_ refusal: Refusal) {
    // Without a ledger it stands in front of a DONE that answers the offer.
    guard transfer.note(refusal, isAgain: accept == nil) else { return }
    if let accept { queue?.refuse(accept.keys.mark(path: refusal.path, generation: refusal.generation)) }
    surroundings.observe(refusal.event)
  }

  private mutating func offerIfReady() {
    guard isMet, let summary, accept == nil else { return }
    let offer = Offer(
      transfer: transfer.identifier, contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes,
      allocated: summary.allocated, flags: summary.flags)
    surroundings.observe(.offer(offer, availableBytes: nil))
    link.say(session.offer(offer, earlier: transfer.earlier))
  }

  // MARK: Streaming

  private mutating func beginStreaming() throws {
    guard let accept, let summary else { preconditionFailure("streaming follows an acceptance") }
    let mailbox = mailbox
    let queue = SendQueue(window: accept.window, limit: surroundings.limit) { mailbox.post(.unsent($0)) }
    self.queue = queue
    let (source, store, held, transfer) = (surroundings.source, surroundings.store, held, transfer)
    let (keys, address, request) = (accept.keys, link.remoteAddress.description, request)
    let traits = accept.features.contains(.refusals) ? accept.traits ?? DestinationTraits() : DestinationTraits()
    let (observe, isTold) = (surroundings.observe, surroundings.isWithholdingTold)
    try threads.start("export") {
      do {
        // Before anything is sent: what arrives must never be without a sender that remembers it.
        try transfer.accepted(accept, summary, origin: try source.origin(), address: address, store: store)
        if !isTold.isSet, let clause = source.withholding(for: traits).clause {
          isTold.set()
          observe(.notice(clause))
        }
        let packer = FramePacker(
          outlet: queue, sealer: try ChunkSealer(keys), keys: keys, held: held, traits: traits)
        try source.export(to: packer, for: request)
        try packer.drain()
        mailbox.post(.exported(packer.finish, stale: packer.staleMarks))
      } catch let error as ArchiveError where error.code == .stopped {
        // Whoever stopped it knows why.
      } catch {
        mailbox.post(.failed(Fault(error)))
      }
    }
    tellIfPlain()
    streams = OutgoingStreams(
      queue,
      OutgoingStreams.Context(
        accept: accept, transfer: transfer, surroundings: surroundings, mailbox: mailbox, threads: threads,
        compression: CompressionKnowledge(obstacle == nil ? surroundings.compression : .never)))
    try streams?.openMissing()
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

  // MARK: Progress

  private var lastTick = BootInstant.now()
  private static let tickPause = Duration.milliseconds(200)

  private var nextTick: BootInstant? {
    guard session.isStreaming else { return nil }
    let tick = lastTick.advanced(by: Self.tickPause)
    return streams?.nextLook.map { min($0, tick) } ?? tick
  }

  private mutating func tick() throws {
    guard session.isStreaming else { return }
    try streams?.look()
    guard BootInstant.now() >= lastTick.advanced(by: Self.tickPause) else { return }
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

extension Array {
  /// The elements in order, in arrays of at most `size`.
  fileprivate func pages(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
