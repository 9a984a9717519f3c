import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Drives the receiver's half of the conversation on one paired control connection. It does no file I/O.
struct ReceiverControl: ~Copyable {
  /// How many bytes may be under way, and how many data streams may be joined.
  static let window = Limits.window
  static let streams: UInt16 = 16

  private var link: BlockingLink
  private var session: ReceiverSession
  private let transfer: IncomingTransfer
  private let host: any ReceptionHost
  /// This session's part in the transfer.
  private let part: TransferPart
  private let pace: LoopClock
  /// Whether the sender came back, instead of pairing.
  private let isResumed: Bool

  private var label = ""
  /// What the sender can do.
  private var features: Features = []
  private var reception: Reception?

  /// Takes over a connection that is past READY, whose wakeup is that of the part's mailbox.
  init(
    _ connection: consuming Connection, of transfer: IncomingTransfer, isResumed: Bool, part: TransferPart,
    pace: LoopClock,
    host: any ReceptionHost
  ) {
    link = BlockingLink(connection, pace: pace)
    session = ReceiverSession(features: host.greeting.features)
    self.transfer = transfer
    self.isResumed = isResumed
    self.part = part
    self.pace = pace
    self.host = host
  }

  /// Holds the conversation to its end: the sender's receipt.
  mutating func run() throws(Fault) {
    link.say(.greeting(host.greeting))
    defer { reception?.stop() }
    do {
      while !session.isDone {
        for news in part.mailbox.take() { try take(news) }
        for message in try link.exchange(until: nextTick) { try perform(try session.received(message)) }
        tick()
      }
    } catch {
      let failure = judged(Fault(error))
      if !(error is Close) { link.say(session.close(failure.close)) }
      // The other end hears of it at once; what cannot be broken off here is waited for afterwards.
      reception?.halt()
      link.close(within: host.isStopped ? .seconds(Curfew.forWords) : .seconds(2))
      throw failure
    }
    link.close()
  }

  /// What the session ends by: an interruption, unless the sender broke the protocol before it.
  ///
  /// The streams have a moment to judge what had come on them, so that no sender hides a violation behind the end of the
  /// control connection.
  private func judged(_ failure: Fault) -> Fault {
    // What this end failed by comes before what the other end makes of it.
    if failure.isTold, let own = ownFailure() { return own }
    guard failure.senderMayComeBack else { return failure }
    reception?.settle(until: pace.instant(Self.settling, after: BootInstant.now()))
    return ownFailure() ?? failure
  }

  /// What a worker of this session has failed by, if the sender cannot mend that.
  private func ownFailure() -> Fault? {
    for case .failed(let known) in part.mailbox.take() where !known.senderMayComeBack { return known }
    return nil
  }

  /// How long the streams have for that, in seconds.
  private static let settling = 1.0

  // MARK: The conversation

  private mutating func perform(_ action: ReceiverSession.Action) throws {
    switch action {
    case .nothing, .finish: break
    case .say(let message): link.say(message)
    case .meet(let greeting):
      label = greeting.label
      features = greeting.features
      if !isResumed {
        host.observe(.paired(label: greeting.label, address: link.remoteAddress.hostDescription))
      }
    case .judge(let offer): try judge(offer)
    case .noteUnsent(let unsent):
      if let refused = unsent.refused { transfer.noteWithheld(refused, as: part) }
      host.observe(unsent.event)
    case .drop(let marks): try transfer.drop(marks, as: part)
    case .conclude(let finish): try transfer.conclude(finish, as: part)
    case .stop(let close): throw close
    }
  }

  private mutating func judge(_ offer: Offer) throws {
    if !isResumed, offer.transfer != nil { throw Fault.unknownTransfer }
    host.observe(.offer(offer, availableBytes: host.importer.area.availableBytes()))
    let (transfer, part, label, features) = (transfer, part, label, features)
    let address = link.remoteAddress.description
    try host.start("admission") {
      do {
        switch try transfer.admit(offer, label: label, features: features, address: address, as: part) {
        case .session(let reception): part.mailbox.post(.admitted(reception))
        case .done(let done): part.mailbox.post(.imported(done))
        case .importing: break
        }
      } catch {
        part.mailbox.post(.failed(Fault(error)))
      }
    }
  }

  private mutating func take(_ news: ReceiverNews) throws {
    switch news {
    case .admitted(let reception): try accept(reception)
    case .progress(let progress): tell(progress)
    case .refused: tellRefusals()
    case .imported(let done):
      // The end of an import that began in an earlier session answers the offer of this one.
      if session.isJudging {
        for refusal in transfer.nameAgain() { tell(refusal) }
        link.say(session.answerAgain(done))
      } else if session.isImporting {
        tellRefusals()
        link.say(session.imported(done))
      }
    case .failed(let failure): throw failure
    case .superseded: throw Fault.superseded
    case .stop(let kind):
      // An import that has begun is not broken off, and the other end shall hear how it ends.
      if transfer.isImporting || transfer.isDone { return }
      if let failure = transfer.failure { throw failure }
      throw Fault.interrupted(.receiver, by: kind)
    }
  }

  /// Tells a new phase at once, and otherwise ten times a second at most (Protocol §6.6).
  private mutating func tell(_ progress: ImportProgress) {
    guard session.isImporting else { return }
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
          streams: Self.streams, features: reception.features,
          traits: reception.features.contains(.refusals) ? reception.staging.abilities.traits : nil)))
    var reader = LedgerReader(
      reception.staging, present: reception.present, tellsTaken: features.contains(.leavingOut))
    var part: LedgerReader.Part
    repeat {
      part = reader.next()
      for page in part.pages { link.say(session.report(page)) }
      for partial in part.partials { link.say(session.report(partial)) }
    } while part.end == nil
    let held = part.end ?? Tally()
    transfer.heldBefore = held
    if isResumed { host.observe(.resumed(heldBytes: held.bytes)) }
    // Streams may join from the moment that the sender reads the end of the ledger.
    guard host.open(reception, of: transfer, as: self.part) else { throw Fault.superseded }
    link.say(session.reported(held))
    tellRefusals()
    if isResumed { transfer.tellRefusalsAgain() }
  }

  /// Tells the sender of items that the destination cannot hold, those of earlier sessions included, once the ledger is told.
  private mutating func tellRefusals() {
    guard session.mayTellRefusals, !session.isJudging else { return }
    let new = transfer.refusals(from: toldRefusals)
    toldRefusals += new.count
    for refusal in new { tell(refusal) }
  }

  private mutating func tell(_ refusal: Refusal) {
    if let message = session.refused(refusal) { link.say(message) }
  }

  private var toldRefusals = 0

  // MARK: Progress

  private var lastTick = BootInstant.now()

  private var nextTick: BootInstant? {
    session.isReceiving ? lastTick.advanced(by: .milliseconds(200)) : nil
  }

  private mutating func tick() {
    guard session.isReceiving, BootInstant.now() >= lastTick.advanced(by: .milliseconds(200)) else { return }
    lastTick = .now()
    host.observe(.progress(transfer.overall(.receiving)))
  }
}
