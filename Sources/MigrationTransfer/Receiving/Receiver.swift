package import MigrationArchive
package import MigrationEngine
package import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// The receiving device: listens, shows codes, lets one sender pair or come back, and takes its transfer to its end.
package final class Receiver: Sendable {
  package struct Options: Sendable {
    /// Where to listen; all addresses when the host is nil.
    package let listen: HostAndPort
    /// Whether the user chose that port; else that of an unfinished transfer comes first.
    package let isPortChosen: Bool
    /// What this device is called.
    package let label: String
    package let software: String
    /// For how many seconds a sender that was lost may stay away.
    package let giveUpAfter: Double
    /// Who is asked about a new transfer; without anybody, the code that was entered is consent enough.
    package var consent: ConsentAsker?
    /// Who is asked to begin another wait when too many wrong codes were entered; without anybody, that ends the run.
    package var restart: RestartAsker?
    /// Where senders may pair from; from everywhere, if there is no range.
    package var from: [AddressRange] = []
    /// The clock of every deadline and code; tests let it run faster.
    var pace = LoopClock()
    /// The clock of codes and guesses where that is another one.
    var codePace: LoopClock?

    package init(
      listen: HostAndPort, isPortChosen: Bool = true, label: String, software: String, giveUpAfter: Double = 600
    ) {
      self.listen = listen
      self.isPortChosen = isPortChosen
      self.label = label
      self.software = software
      self.giveUpAfter = giveUpAfter
    }
  }

  /// Who the receiver has to do with.
  enum Phase {
    /// Nobody: whoever knows the code may pair, and whoever is remembered may come back.
    case open
    /// A transfer, with a session or an import going on.
    case engaged(IncomingTransfer)
    /// A transfer whose sender is away; how it ends if it stays away.
    case away(IncomingTransfer, until: BootInstant, Result<TransferResult, TransferFailure>)
  }

  struct State {
    var phase = Phase.open
    /// The transfers that may be continued here.
    var remembered: [IncomingTransfer] = []
    var control: Mailbox<ReceiverNews>?
    var reception: Reception?
    var port: UInt16 = 0
    /// Where known senders were seen last, the newest at the end.
    var familiar: [SocketAddress] = []
    var stopped: TransferFailure.Kind?
    var stoppedAt: BootInstant?
    var outcome: Result<TransferResult, TransferFailure>?
  }

  let importer: any Importer
  let store: TransferStore?
  let options: Options
  let observer: @Sendable (TransferEvent) -> Void
  let office: CodeOffice
  let identity: Identity
  let context: TLSContext
  let attention: Wakeup
  let keeper: Doorkeeper
  /// Handshakes at a time: as many as there are processors.
  let gate = ComputeGate()
  let state = Mutex(State())
  let consent: ConsentDesk
  let restart: RestartDesk
  let threads = ThreadGroup()
  /// What an earlier run left at this destination.
  private let entries: Mutex<[TransferEntry]>

  /// Fails if somebody else receives into the same destination.
  package init(
    _ options: Options, importer: any Importer, store: TransferStore? = nil,
    observer: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) {
    self.options = options
    self.importer = importer
    self.store = store
    self.observer = observer
    office = CodeOffice(from: options.from, pace: options.codePace ?? options.pace, observe: observer)
    do {
      try importer.area.lock()
      let entries = try Self.entries(of: store, at: importer.area)
      // One key serves all that is unfinished at a destination: a sender sees it before the receiver knows who comes.
      identity = try entries.first.map { try Identity(encoded: $0.remembered.identity) } ?? Identity.generate()
      context = try TLSContext(role: .server, identity: identity)
      let attention = try Wakeup()
      self.attention = attention
      keeper = Doorkeeper(pace: options.pace, attention: attention)
      restart = try RestartDesk(options.restart)
      consent = try ConsentDesk(options.consent, besides: restart)
      self.entries = Mutex(entries)
    } catch {
      throw Fault(error).failure
    }
  }

  /// What is remembered of this destination, newest first; what another process works on is left to it.
  private static func entries(of store: TransferStore?, at area: StagingArea) throws -> [TransferEntry] {
    guard let store else { return [] }
    try store.purge(now: Timestamp.coarseNow().seconds)
    return try store.remembered(at: try area.place()).compactMap { listed in
      try? store.open(listed.remembered.transfer, role: .receiver)
    }
  }

  /// Ends the transfer soon, from any thread; what has arrived is kept.
  package func stop(_ kind: TransferFailure.Kind) {
    let (control, transfers) = state.withLock { state in
      state.stopped = kind
      state.stoppedAt = state.stoppedAt ?? .now()
      return (state.control, state.remembered)
    }
    // Nothing is received any more; an import that has begun goes on.
    for transfer in transfers where !transfer.isImporting { transfer.halt() }
    importer.interrupt()
    consent.giveUp()
    control?.post(.stop(kind))
    attention.signal()
  }

  /// Receives one transfer; blocks until it is over.
  package func run() throws(TransferFailure) -> TransferResult {
    let outcome: Result<TransferResult, TransferFailure>
    do {
      try takeBack()
      let socket = try ListeningSocket(options.listen, isPortChosen: options.isPortChosen, remembered: rememberedPort)
      state.withLock { $0.port = socket.port }
      observer(
        .listening(addresses: socket.reachableAddresses, port: socket.port, from: options.from.map(\.description)))
      outcome = try acceptUntilOver(try Entrance(socket, keeper))
    } catch {
      outcome = .failure(Fault(error).failure)
    }
    shutDown()
    return try outcome.get()
  }

  // MARK: What is remembered

  /// Takes back what earlier runs left; an import that had begun goes on at once.
  private func takeBack() throws {
    let transfers = entries.withLock { entries in entries.map { IncomingTransfer($0, host: self) } }
    state.withLock { $0.remembered = transfers }
    for entry in entries.withLock({ $0 }) {
      let host = try? HostAndPort.parse(entry.remembered.address, defaultPort: 0).host
      if let address = host.flatMap({ SocketAddress(numeric: $0, port: 0) }) { noteAddress(address) }
    }
    for transfer in transfers where try transfer.recover() {
      state.withLock { state in
        state.phase = .engaged(transfer)
      }
      return
    }
  }

  private var rememberedPort: UInt16? {
    entries.withLock { $0.first?.remembered.destination?.port }
  }

  // MARK: Listening

  private func acceptUntilOver(_ made: consuming Entrance) throws -> Result<TransferResult, TransferFailure> {
    var entrance = made
    while true {
      attention.clear()
      let due = look()
      if let outcome = state.withLock({ $0.outcome }) { return outcome }
      let expiry = try tendCode()
      let next = entrance.work(isEngaged: isEngaged, origin: origin, serve: serve)
      try entrance.wait(for: attention, until: [next, expiry, due].compactMap { $0 }.min())
    }
  }

  /// Ends every thread and waits for it, but not for one that sits in a call from which a disk does not return: what it would
  /// still write down, the journal bears to be without.
  private func shutDown() {
    let (transfers, control, stoppedAt) = state.withLock { ($0.remembered, $0.control, $0.stoppedAt) }
    control?.post(.stop(.interrupted))
    restart.giveUp()
    keeper.dismissAll()
    for transfer in transfers { transfer.halt() }
    threads.setCurfew(options.pace.instant(Curfew.atTheEnd, after: stoppedAt ?? .now()))
    if threads.wait() { return release() }
    // Threads that are left end with the process. In one that goes on, they let go of their locks when they end.
    _ = try? OwnerThread(name: "last threads") { [self] in
      threads.waitWithoutCurfew()
      release()
    }
  }

  private func release() {
    // They know this object, and hold locks for as long as they live.
    entries.withLock { $0 = [] }
    state.withLock { state in
      state.remembered = []
      state.phase = .open
      state.reception = nil
      state.control = nil
    }
  }
}
