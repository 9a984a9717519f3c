package import MigrationArchive
package import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// The receiving device: listens, shows codes, lets one sender pair, and takes its transfer.
package final class Receiver: ReceptionHost {
  package struct Options: Sendable {
    /// Where to listen; all addresses when the host is nil.
    package let listen: HostAndPort
    /// What this device is called.
    package let label: String
    package let software: String
    /// The clock of every deadline and code; tests let it run faster.
    var pace = Pace()

    package init(listen: HostAndPort, label: String, software: String) {
      self.listen = listen
      self.label = label
      self.software = software
    }
  }

  private struct State {
    var gate = AdmissionGate()
    var wakeups: [ObjectIdentifier: Wakeup] = [:]
    /// A sender is paired: newcomers find the receiver busy.
    var isPaired = false
    var control: Mailbox<ReceiverNews>?
    var reception: Reception?
    var stopped: TransferFailure.Kind?
    var outcome: Result<TransferResult, TransferFailure>?
  }

  let sink: any ItemSink
  private let options: Options
  private let observer: @Sendable (TransferEvent) -> Void
  private let office: CodeOffice
  private let identity: Identity
  private let context: TLSContext
  private let attention: Wakeup
  private let state = Mutex(State())
  private let threads = ThreadGroup()

  package init(
    _ options: Options, sink: any ItemSink, observer: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) {
    self.options = options
    self.sink = sink
    self.observer = observer
    office = CodeOffice(pace: options.pace, observe: observer)
    do {
      identity = try Identity.generate()
      context = try TLSContext(role: .server, identity: identity)
      attention = try Wakeup()
    } catch {
      throw TransferFailure(.failed, "\(error)")
    }
  }

  var greeting: Greeting {
    Greeting(role: .receiver, label: options.label, software: options.software, features: [], request: sink.request)
  }

  func observe(_ event: TransferEvent) { observer(event) }

  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    try threads.start(name, body)
  }

  func open(_ reception: Reception) { state.withLock { $0.reception = reception } }

  /// Ends the transfer soon, from any thread; what has arrived is kept.
  package func stop(_ kind: TransferFailure.Kind) {
    let control = state.withLock { state in
      state.stopped = kind
      return state.control
    }
    control?.post(.stop(kind))
    attention.signal()
  }

  /// Receives one transfer; blocks until it is over.
  package func run() throws(TransferFailure) -> TransferResult {
    let socket = try listen()
    observer(.listening(addresses: Self.reachable(socket.address), port: socket.port))
    let outcome: Result<TransferResult, TransferFailure>
    do {
      outcome = try acceptUntilOver(socket)
    } catch {
      outcome = .failure(TransferFailure(.failed, "\(error)"))
    }
    shutDown()
    return try outcome.get()
  }

  // MARK: Listening

  private func listen() throws(TransferFailure) -> ListeningSocket {
    do {
      return try ListeningSocket(host: options.listen.host, port: options.listen.port)
    } catch {
      let hint =
        error.isAddressInUse
        ? "Another program uses port \(options.listen.port); choose another with --listen, or 0 for any."
        : "Check the address given with --listen."
      throw TransferFailure(.failed, error.description, hint: hint)
    }
  }

  /// The addresses at which others may find this device, most useful first.
  private static func reachable(_ address: SocketAddress) -> [String] {
    let isEverywhere = address.hostDescription == "::" || address.hostDescription == "0.0.0.0"
    guard isEverywhere, let all = try? SocketAddress.localAddresses(port: address.port), !all.isEmpty else {
      return [address.hostDescription]
    }
    return all.map(\.hostDescription)
  }

  private func acceptUntilOver(_ socket: borrowing ListeningSocket) throws -> Result<TransferResult, TransferFailure> {
    var poller = try Poller()
    var bucket = AcceptBucket(now: Self.now)
    while true {
      attention.clear()
      if let outcome = state.withLock({ $0.outcome }) { return outcome }
      let (stopped, isPaired) = state.withLock { ($0.stopped, $0.isPaired) }
      if !isPaired {
        if let stopped { return .failure(TransferFailure(stopped, "interrupted")) }
        if office.isExhausted { return .failure(Self.exhausted) }
        office.expireIfDue()
        if office.wantsCode { issueCode() }
      }
      var pause: BootInstant?
      // Accepting needs a token and a descriptor; without either it waits.
      if let delay = bucket.take(now: Self.now) {
        pause = BootInstant.now().advanced(by: .seconds(delay))
      } else if let isAccepted = try? accept(socket) {
        if isAccepted { continue }
        bucket.giveBack()
      } else {
        pause = BootInstant.now().advanced(by: .milliseconds(100))
      }
      var interests = [Poller.Interest(attention.raw, .readable)]
      if pause == nil { interests.append(Poller.Interest(socket.raw, .readable)) }
      let expiry = isPaired ? nil : office.expiry
      _ = try poller.wait(&interests, until: [pause, expiry].compactMap { $0 }.min())
    }
  }

  private static let exhausted = TransferFailure(
    .pairing, "too many wrong codes were entered; pairing was stopped",
    hint: "Start again. If this keeps happening, someone on this network may be interfering.")

  private static var now: Double { Double(BootInstant.now().nanoseconds) / 1e9 }

  private func issueCode() {
    do {
      try office.issueIfWanted()
    } catch {
      end(.failure(TransferFailure(.failed, error.description)))
    }
    attention.signal()
  }

  /// Takes one connection to a thread of its own; false when none is waiting.
  private func accept(_ listening: borrowing ListeningSocket) throws -> Bool {
    guard let socket = try listening.accept() else { return false }
    let wakeup = try Wakeup()
    let host = socket.remoteAddress.hostDescription
    // Here and not on its thread: whoever ends everything must not miss a connection that has just come.
    let ticket = state.withLock { state in
      state.wakeups[ObjectIdentifier(wakeup)] = wakeup
      return state.gate.enter(host: host, wakeup: wakeup)
    }
    let accepted = BootInstant.now()
    let parcel = Parcel(socket)
    do {
      try start("connection") { [self] in
        defer { forget(wakeup, ticket) }
        guard let socket = parcel.open() else { return }
        serve(socket, wakeup: wakeup, ticket: ticket, accepted: accepted)
      }
    } catch {
      forget(wakeup, ticket)
      throw error
    }
    return true
  }

  private func forget(_ wakeup: Wakeup, _ ticket: AdmissionGate.Ticket) {
    state.withLock { state in
      state.wakeups[ObjectIdentifier(wakeup)] = nil
      state.gate.leave(ticket)
    }
  }

  // MARK: One connection

  private func serve(
    _ socket: consuming StreamSocket, wakeup: Wakeup, ticket: AdmissionGate.Ticket, accepted: BootInstant
  ) {
    guard var connection = try? Connection(socket, context, wakeup: wakeup) else { return }
    do {
      try connection.handshake(until: options.pace.instant(Patience.handshake, after: accepted))
    } catch {
      return
    }
    // A paired device has a place of its own, which no flood of newcomers takes from it (Protocol §11).
    if (try? knownReception(connection.peerFingerprint)) != nil { state.withLock { $0.gate.leave(ticket) } }
    let deadline = options.pace.instant(Patience.pairing, after: accepted)
    let reception: Reception?
    do {
      reception = try admit(&connection, until: deadline)
    } catch {
      if let reason = Self.abortReason(error) { connection.abort(reason) }
      return
    }
    state.withLock { $0.gate.leave(ticket) }
    if let reception { reception.serve(connection, until: deadline) } else { converse(connection) }
  }

  /// Brings a connection to READY; the reception that it joins, or nil for a newly paired control connection.
  private func admit(_ connection: inout Connection, until deadline: BootInstant) throws -> Reception? {
    let (mode, hello) = try ServerPairing.hello(&connection, until: deadline)
    switch mode {
    case .pair:
      try pair(&connection, hello, until: deadline)
      return nil
    case .resume: throw AbortReason.unknownPeer
    case .join:
      let reception = try knownReception(connection.peerFingerprint)
      try ServerPairing.welcome(back: .join, on: &connection, until: deadline)
      return reception
    }
  }

  /// What the other end is told; nothing when its connection ended, was pushed out or took too long.
  private static func abortReason(_ error: any Error) -> AbortReason? {
    if error is ConnectionError { return nil }
    return error as? AbortReason ?? .malformed
  }

  private func knownReception(_ client: KeyFingerprint?) throws(AbortReason) -> Reception {
    guard let reception = state.withLock({ $0.reception }), reception.client == client else { throw .unknownPeer }
    return reception
  }

  private func pair(_ connection: inout Connection, _ hello: [UInt8], until deadline: BootInstant) throws {
    guard !state.withLock({ $0.isPaired }) else { throw AbortReason.busy }
    defer { attention.signal() }
    _ = try ServerPairing.pair(
      &connection, hello: hello, office: office, own: identity.fingerprint, until: deadline)
    state.withLock { $0.isPaired = true }
  }

  /// Holds the conversation with the paired sender, on its connection's thread.
  private func converse(_ connection: consuming Connection) {
    guard let client = connection.peerFingerprint else { return }
    let mailbox = Mailbox<ReceiverNews>(wakeup: connection.wakeup)
    let stopped = state.withLock { state in
      state.control = mailbox
      return state.stopped
    }
    if let stopped { mailbox.post(.stop(stopped)) }
    var control = ReceiverControl(connection, client: client, mailbox: mailbox, pace: options.pace, host: self)
    do {
      let result = try control.run()
      observer(.done(result))
      end(.success(result))
    } catch {
      end(.failure(error))
    }
  }

  private func end(_ outcome: Result<TransferResult, TransferFailure>) {
    state.withLock { state in
      if state.outcome == nil { state.outcome = outcome }
    }
    attention.signal()
  }

  /// Ends every thread and waits for it.
  private func shutDown() {
    let (reception, wakeups) = state.withLock { ($0.reception, Array($0.wakeups.values)) }
    for wakeup in wakeups { wakeup.signal() }
    reception?.stop()
    threads.wait()
  }
}

/// Carries a socket into the thread that will own it.
private final class Parcel: Sendable {
  private let socket: Mutex<StreamSocket?>

  init(_ socket: consuming StreamSocket) { self.socket = Mutex(socket) }

  func open() -> StreamSocket? {
    socket.withLock { $0.take() }
  }
}
