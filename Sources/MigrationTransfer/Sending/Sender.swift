package import MigrationArchive
package import MigrationEngine
package import MigrationSystem
import MigrationTLS
package import MigrationWire

/// The sending device: walks its sources, pairs by the code or comes back to a transfer, and sends.
package final class Sender: Sendable {
  package struct Options: Sendable {
    package let target: HostAndPort
    /// What this device is called.
    package let label: String
    package let software: String
    /// How many data streams carry the archive; nil for as many as help.
    package let streams: UInt32?
    /// How many bytes may be sent in a second; nil for no limit.
    package let limit: UInt64?
    /// Whether what is sent may be compressed.
    package let compression: CompressionWish
    /// For how many seconds a lost connection is tried again.
    package let giveUpAfter: Double
    /// How long nothing may move on a data stream before it is opened anew.
    var stallPatience = StallWatch.patience

    package init(
      target: HostAndPort, label: String, software: String, streams: UInt32? = nil, limit: UInt64? = nil,
      compression: CompressionWish = .auto,
      giveUpAfter: Double = 600
    ) {
      self.target = target
      self.label = label
      self.software = software
      self.streams = streams
      self.compression = compression
      self.limit = limit
      self.giveUpAfter = giveUpAfter
    }
  }

  struct State: Sendable {
    var summary: Result<SourceSummary, ArchiveError>?
    var stopped: TransferFailure.Kind?
    /// The session that is going on, or about to.
    var mailbox: Mailbox<SenderNews>?
  }

  let options: Options
  let source: any ItemSource
  let store: TransferStore?
  let observer: @Sendable (TransferEvent) -> Void
  let state = Condition(State())
  let threads = ThreadGroup()
  /// Set when the user ends the transfer.
  private let stopping = StopSignal()
  private let isPlainTold = Flag()
  private let isWithholdingTold = Flag()

  package init(
    _ options: Options, source: any ItemSource, store: TransferStore? = nil,
    observer: @escaping @Sendable (TransferEvent) -> Void
  ) {
    self.options = options
    self.source = source
    self.store = store
    self.observer = observer
  }

  /// Starts walking the sources; meanwhile the code may be typed.
  package func prepare() throws(TransferFailure) {
    do throws(SystemError) {
      try threads.start("walk") { [self] in
        let summary: Result<SourceSummary, ArchiveError>
        do throws(ArchiveError) {
          summary = .success(try source.prepare(until: stopping))
        } catch {
          summary = .failure(error)
        }
        let mailbox = state.withLock { state in
          state.summary = summary
          return state.mailbox
        }
        mailbox?.post(.prepared(summary))
      }
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  /// Ends the transfer soon, from any thread.
  package func stop(_ kind: TransferFailure.Kind) {
    let mailbox = state.withLock { state in
      state.stopped = state.stopped ?? kind
      return state.mailbox
    }
    state.broadcast()
    stopping.set()
    threads.setCurfew(BootInstant.now().advanced(by: .seconds(Curfew.atTheEnd + source.graceAtTheEnd)))
    mailbox?.post(.stop(kind))
  }

  /// Sends everything; blocks until it is over. `code` is asked for only when there is nothing to continue.
  package func run(_ code: () throws(TransferFailure) -> PairingCode) throws(TransferFailure) -> TransferResult {
    defer {
      stop(.interrupted)
      threads.wait()
    }
    if let (transfer, end) = try continueUnfinished() { return try carry(transfer, from: end) }
    let known: PairingCode
    do throws(TransferFailure) {
      known = try code()
    } catch {
      throw isStopped ? interrupted : error
    }
    let (transfer, end) = try pair(known)
    return try carry(transfer, from: end)
  }

  /// Goes on session after session until everything is done.
  private func carry(
    _ transfer: OutgoingTransfer, from first: SessionEnd
  ) throws(TransferFailure) -> TransferResult {
    var end = first
    var backoff: Backoff?
    while true {
      switch end.result {
      case .success(let done):
        transfer.forget()
        let result = TransferResult(
          total: done.total, sentBytes: transfer.traffic.sent, savedBytes: transfer.traffic.saved,
          heldBytes: min(transfer.heldBefore, done.total.bytes), seconds: transfer.traffic.seconds,
          unsent: transfer.unsent, losses: done.losses, leftOut: transfer.leftOut, notStored: done.notStored,
          leftBehind: transfer.leftBehind)
        observer(.done(result))
        return result
      case .failure(let failure):
        guard failure.isReconnectable, !isStopped, options.giveUpAfter > 0 else { throw failure.failure }
        observer(.interrupted(reason: failure.failure.message))
      }
      // A connection that dies again before anything has arrived is no new beginning.
      var next = backoff.flatMap { end.hasProgressed ? nil : $0 } ?? Backoff(now: now, patience: options.giveUpAfter)
      end = try comeBack(to: transfer, &next)
      backoff = next
    }
  }

  // MARK: For the sessions

  var isStopped: Bool { state.withLock { $0.stopped != nil } }

  var now: Double { Double(BootInstant.now().nanoseconds) / 1e9 }

  var interrupted: TransferFailure {
    TransferFailure(state.withLock { $0.stopped } ?? .interrupted, "interrupted")
  }

  /// Waits, unless this device gives up.
  func wait(seconds: Double) throws(TransferFailure) {
    let isStopped = state.wait(until: BootInstant.now().advanced(by: .seconds(seconds))) { (state) -> Bool? in
      state.stopped == nil ? nil : true
    }
    if isStopped == true { throw interrupted }
  }

  /// A mailbox for another session, with what is known already.
  func newMailbox() throws(TransferFailure) -> Mailbox<SenderNews> {
    let mailbox: Mailbox<SenderNews>
    do throws(SystemError) {
      mailbox = Mailbox(wakeup: try Wakeup())
    } catch {
      throw TransferFailure(.failed, error.description)
    }
    let (summary, stopped) = state.withLock { state in
      state.mailbox = mailbox
      return (state.summary, state.stopped)
    }
    if let summary { mailbox.post(.prepared(summary)) }
    if let stopped { mailbox.post(.stop(stopped)) }
    return mailbox
  }

  func dialing(as identity: Identity) throws(TransferFailure) -> Dialing {
    do {
      return Dialing(target: options.target, context: try TLSContext(role: .client, identity: identity)) {
        self.isStopped
      }
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  private var features: Features {
    let features: Features = [.leavingOut, .ofThisDevice]
    return options.compression == .never ? features.subtracting(.zstd) : features
  }

  /// Holds one session on a connection that is past READY.
  func converse(
    _ connection: consuming Connection, _ transfer: OutgoingTransfer, _ dialing: Dialing,
    _ mailbox: Mailbox<SenderNews>, isResumed: Bool
  ) -> SessionEnd {
    let surroundings = SenderControl.Surroundings(
      greeting: Greeting(
        role: .sender, label: options.label, software: options.software,
        features: features),
      source: source, store: store, dialing: dialing, addresses: [connection.remoteAddress], streams: options.streams,
      limit: options.limit, compression: options.compression, isPlainTold: isPlainTold,
      isWithholdingTold: isWithholdingTold,
      stallPatience: options.stallPatience, isResumed: isResumed, threads: ThreadGroup(within: threads),
      isStopped: { self.isStopped }, observe: observer)
    var control = SenderControl(connection, transfer, mailbox: mailbox, surroundings: surroundings)
    return control.run()
  }
}

/// How one session of the sender ended.
struct SessionEnd: Sendable {
  let result: Result<Done, Fault>
  /// Whether anything has arrived in it.
  let hasProgressed: Bool
}
