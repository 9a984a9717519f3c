import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// One accepted transfer at the receiver: what its control connection, its data streams and its workers share.
final class Reception: Sendable {
  let session: SessionID
  let client: KeyFingerprint
  let keys: TransferKeys
  let staging: Staging
  /// What the destination has already and the sender leaves out.
  let present: PresentItems
  let syncer: Syncer
  /// What this session may use.
  let features: Features
  /// Shut when the sender has said FINISH, and closed with the session.
  let gate = WritingGate()
  private let mailbox: Mailbox<ReceiverNews>
  private let traffic: TrafficCount
  private let refused: @Sendable () -> Void

  private struct State {
    var isStopped = false
    var numbers: Set<UInt32> = []
    var live: [UInt32: LiveStream] = [:]
  }

  /// A stream that is being served: how to end it, and whether it has ended.
  private struct LiveStream {
    let wakeup: Wakeup
    let mustEnd: Flag
  }

  private let state = Condition(State())
  private let threads = ThreadGroup()

  /// `synced` is called now and then, when what has arrived by then is durable, `refused` when the destination cannot hold an
  /// item.
  init(
    session: SessionID, client: KeyFingerprint, keys: TransferKeys, features: Features, staging: Staging,
    present: PresentItems, mailbox: Mailbox<ReceiverNews>, traffic: TrafficCount,
    synced: @escaping @Sendable () -> Void, refused: @escaping @Sendable () -> Void
  ) {
    self.refused = refused
    self.session = session
    self.client = client
    self.keys = keys
    self.features = features
    self.traffic = traffic
    self.staging = staging
    self.present = present
    self.mailbox = mailbox
    syncer = Syncer(staging, synced: synced) { mailbox.post(.failed(.init($0))) }
  }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Runs something on a thread that `stop` and `rest` wait for.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    try threads.start(name, body)
  }

  /// Serves a connection of this session's client that wants to join, until it ends; its thread is the caller's.
  func serve(_ connection: consuming Connection, until deadline: BootInstant) {
    let (number, mustEnd): (UInt32, Flag)
    do {
      (number, mustEnd) = try join(&connection, until: deadline)
    } catch {
      // It never became a stream of this session, so the session goes on without it.
      return
    }
    let durability = StreamDurability(wakeup: connection.wakeup)
    syncer.add(durability)
    defer {
      syncer.remove(durability)
      leave(number)
    }
    do {
      let writer = StagingWriter(staging, sealer: try ChunkSealer(keys), refused: refused)
      var incoming = try IncomingData(
        connection, writer: writer, durability: durability, gate: gate,
        traffic: traffic, isCompressible: features.contains(.zstd)
      ) { [self] in
        isStopped || mustEnd.isSet
      }
      run(&incoming)
    } catch {
      mailbox.post(.failed(Fault(error)))
    }
  }

  private func join(_ connection: inout Connection, until deadline: BootInstant) throws -> (UInt32, Flag) {
    let header = try connection.readExactly(Limits.frameHeader, until: deadline)
    let frame = try FrameHeader(header.span)
    guard frame.type == .join, frame.length == Join.size else {
      throw Violation(.state, "the first frame of a data stream")
    }
    let body = try connection.readExactly(frame.length, until: deadline)
    guard case .join(let join) = try StreamMessage(.join, body.span, 0..<body.count), join.session == session else {
      throw Violation(.conflict, "the session of a data stream")
    }
    if let replaced = join.replaces { try replace(replaced) }
    let stream = LiveStream(wakeup: connection.wakeup, mustEnd: Flag())
    try state.withLock { (state) throws in
      guard !state.isStopped else { throw ConnectionError(.stopped, "the session is over") }
      guard state.live.count < Int(ReceiverControl.streams) else { throw Violation(.limit, "the data streams") }
      guard state.numbers.insert(join.stream).inserted else { throw Violation(.conflict, "a data stream's number") }
      state.live[join.stream] = stream
    }
    return (join.stream, stream.mustEnd)
  }

  /// Ends a stream that is being replaced, and waits until it has written what it was writing, however slow the disk is.
  ///
  /// One that has not come yet must not come any more; what it was to replace is not known then, and may be any stream.
  private func replace(_ number: UInt32) throws(ConnectionError) {
    let ending = state.withLock { state in
      let isNew = state.numbers.insert(number).inserted
      return state.live.filter { isNew || $0.key == number }
    }
    for stream in ending.values {
      stream.mustEnd.set()
      stream.wakeup.signal()
    }
    let hasEnded = state.wait { state in
      if state.isStopped { return false }
      return ending.keys.allSatisfy { state.live[$0] == nil } ? true : nil
    }
    guard hasEnded == true else { throw ConnectionError(.stopped, "the session is over") }
  }

  private func leave(_ number: UInt32) {
    state.withLock { $0.live[number] = nil }
    state.broadcast()
  }

  private func run(_ incoming: inout IncomingData) {
    do {
      try incoming.run()
    } catch {
      // The sender replaces a stream that was cut; the control connection knows when it cannot.
      if let error = error as? ConnectionError, error.code != .violated { return }
      let failure = Fault(error)
      mailbox.post(.failed(failure))
      incoming.close(failure.close)
    }
  }

  /// Returns when every stream has judged what had come on it and has ended by itself, when all are to end, or at the deadline.
  func settle(until deadline: BootInstant) {
    _ = state.wait(until: deadline) { $0.live.isEmpty || $0.isStopped ? true : nil }
  }

  /// Ends every stream and worker soon.
  func halt() {
    let wakeups = state.withLock { state in
      state.isStopped = true
      return state.live.values.map(\.wakeup)
    }
    state.broadcast()
    syncer.stop()
    for wakeup in wakeups { wakeup.signal() }
  }

  /// Ends every stream and worker. Once it returns, nothing more is written for this session.
  func stop() {
    halt()
    gate.close()
    threads.wait()
  }

  /// Ends the workers, and waits for them: the archive is complete, and the import does not share it.
  func rest() {
    syncer.stop()
    threads.wait()
  }
}
