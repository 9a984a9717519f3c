import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire

/// What the receiver's workers have to tell the thread of the control connection.
enum ReceiverNews: Sendable {
  case admitted(Reception)
  case staged
  case progress(ImportProgress)
  case imported([Done.Loss])
  case failed(SessionFailure)
  case stop(TransferFailure.Kind)
}

/// Drives the receiver's half of the conversation on one paired control connection. It does no file I/O.
struct ReceiverControl: ~Copyable {
  /// How many bytes may be under way, and how many data streams may be joined.
  static let window: UInt64 = 24 << 20
  static let streams: UInt16 = 16

  private var link: ControlLink
  private var session = ReceiverSession()
  private let client: KeyFingerprint
  private let host: any ReceptionHost
  private let mailbox: Mailbox<ReceiverNews>
  private let start = BootInstant.now()

  private var offer: Offer?
  private var reception: Reception?
  private var finish: Finish?
  private var unsent: [Unsent] = []
  private var losses: [Done.Loss] = []

  /// Takes over a connection that is past READY, whose wakeup is the mailbox's.
  init(
    _ connection: consuming Connection, client: KeyFingerprint, mailbox: Mailbox<ReceiverNews>, pace: Pace,
    host: any ReceptionHost
  ) {
    link = ControlLink(connection, pace: pace)
    self.client = client
    self.mailbox = mailbox
    self.host = host
  }

  /// Holds the conversation to its end.
  mutating func run() throws(TransferFailure) -> TransferResult {
    link.say(.greeting(host.greeting))
    defer { reception?.stop() }
    do {
      while !session.isDone {
        for news in mailbox.take() { try take(news) }
        for message in try link.exchange(until: nextTick) { try perform(try session.received(message)) }
        tick()
      }
    } catch {
      // An import that has begun goes on to its end; if it succeeds, only the receipt is missing.
      if finish != nil { finishImport() }
      guard !isImported else { return result }
      let failure = SessionFailure(error)
      if !(error is Close) { link.say(session.close(failure.close)) }
      // The other end hears of it at once; what cannot be broken off here is waited for afterwards.
      reception?.halt()
      link.close()
      throw failure.failure
    }
    link.close()
    return result
  }

  private var isImported = false

  /// Waits for the workers, and hears what became of the import.
  private mutating func finishImport() {
    reception?.stop()
    for case .imported(let losses) in mailbox.take() {
      self.losses = losses
      isImported = true
    }
  }

  private var result: TransferResult {
    TransferResult(
      total: finish?.total ?? Tally(), sentBytes: reception?.staging.held.bytes ?? 0, heldBytes: 0,
      seconds: BootInstant.now().seconds(since: start), unsent: finish?.unsent ?? 0, losses: losses)
  }

  // MARK: The conversation

  private mutating func perform(_ action: ReceiverSession.Action) throws {
    switch action {
    case .nothing, .finish: break
    case .say(let message): link.say(message)
    case .meet(let greeting):
      host.observe(.paired(label: greeting.label, address: link.remoteAddress.hostDescription))
    case .judge(let offer): try judge(offer)
    case .noteUnsent(let unsent):
      self.unsent.append(unsent)
      host.observe(.unsent(unsent))
    // The ledger of a first session tells of nothing that could be dropped.
    case .drop: throw Violation(.conflict, "a list of dropped items")
    case .conclude(let finish): try conclude(finish)
    case .stop(let close): throw close
    }
  }

  private mutating func judge(_ offer: Offer) throws {
    guard offer.transfer == nil else {
      throw SessionFailure(
        Close(.unknownTransfer, "this transfer is not known here", hint: "Start it anew, with a new code."),
        TransferFailure(.refused, "the other device wants to continue a transfer that is not known here"))
    }
    self.offer = offer
    host.observe(.offer(offer, availableBytes: host.sink.availableBytes()))
    let (client, sink, mailbox) = (client, host.sink, mailbox)
    try host.start("admission") {
      do {
        try sink.admit(offer, held: Tally())
        let keys = TransferKeys.random()
        let staging = try sink.stage(offer, transfer: .randomIdentifier(), keys: keys)
        mailbox.post(
          .admitted(
            Reception(session: .randomIdentifier(), client: client, keys: keys, staging: staging, mailbox: mailbox)))
      } catch {
        mailbox.post(.failed(SessionFailure(error)))
      }
    }
  }

  private mutating func conclude(_ finish: Finish) throws {
    guard let reception else { preconditionFailure("a finish follows an acceptance") }
    try reception.gate.shut()
    self.finish = finish
    let (sink, mailbox) = (host.sink, mailbox)
    try reception.start("import") {
      do {
        reception.syncer.stop()
        try reception.staging.complete(finish) { mailbox.post(.progress($0)) }
        mailbox.post(.staged)
        let losses = try sink.importItems(of: reception.staging) { mailbox.post(.progress($0)) }
        try sink.clear(reception.staging.transfer)
        mailbox.post(.imported(losses))
      } catch {
        mailbox.post(.failed(SessionFailure(error)))
      }
    }
  }

  private mutating func take(_ news: ReceiverNews) throws {
    switch news {
    case .admitted(let reception): try accept(reception)
    case .staged:
      host.observe(.staged)
      host.observe(.importing)
    case .progress(let progress):
      tell(progress)
      let phase: TransferPhase = progress.phase == .importing ? .importing : .verifying
      host.observe(.progress(overall(phase)))
    case .imported(let losses):
      guard let finish else { preconditionFailure("an import follows a finish") }
      self.losses = losses
      isImported = true
      link.say(session.imported(Done(total: finish.total, losses: losses)))
    case .failed(let failure): throw failure
    case .stop(let kind):
      // An import that has begun is not broken off, and the other end shall hear how it ends.
      if finish != nil, !isImported { return }
      throw SessionFailure(
        Close(.interrupted, "the transfer was interrupted on the receiving device"),
        TransferFailure(kind, "interrupted", hint: nil))
    }
  }

  /// Tells a new phase at once, and otherwise ten times a second at most (Protocol §6.6).
  private mutating func tell(_ progress: ImportProgress) {
    let now = BootInstant.now()
    if let told, told.phase == progress.phase, now < told.at.advanced(by: .milliseconds(100)) { return }
    told = (progress.phase, now)
    link.say(session.progress(progress))
  }

  private var told: (phase: ImportProgress.Phase, at: BootInstant)?

  private mutating func accept(_ reception: Reception) throws {
    self.reception = reception
    try reception.start("sync") { reception.syncer.run() }
    link.say(
      session.accept(
        Accept(
          transfer: reception.staging.transfer, session: reception.session, keys: reception.keys, window: Self.window,
          streams: Self.streams, features: [])))
    let report = reception.staging.report
    for page in report.marks.pages(of: Limits.marksInFrame) {
      link.say(session.report(Held(kind: .staged, marks: page)))
    }
    for partial in report.partials { link.say(session.report(partial)) }
    // Streams may join from the moment that the sender reads the end of the ledger.
    host.open(reception)
    link.say(session.reported(report.held))
  }

  // MARK: Progress

  private var lastTick = BootInstant.now()

  private var nextTick: BootInstant? {
    session.isReceiving ? lastTick.advanced(by: .milliseconds(200)) : nil
  }

  private mutating func tick() {
    guard session.isReceiving, BootInstant.now() >= lastTick.advanced(by: .milliseconds(200)) else { return }
    lastTick = .now()
    host.observe(.progress(overall(.receiving)))
  }

  private func overall(_ phase: TransferPhase) -> TransferProgress {
    let held = reception?.staging.held ?? Tally()
    return TransferProgress(
      phase: phase, bytes: held.bytes, totalBytes: max(offer?.bytes ?? 0, held.bytes), items: held.items,
      totalItems: max(offer?.items ?? 0, held.items))
  }
}

/// What a control connection needs of the program that it runs in.
protocol ReceptionHost: Sendable {
  var greeting: Greeting { get }
  var sink: any ItemSink { get }
  func observe(_ event: TransferEvent)
  /// Runs something on a thread that the host waits for at its end.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError)
  /// Data streams of this reception may join from now on.
  func open(_ reception: Reception)
}

extension Array {
  /// The elements in order, in arrays of at most `size`.
  func pages(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
