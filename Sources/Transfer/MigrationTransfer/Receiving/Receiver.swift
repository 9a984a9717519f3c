package import MigrationArchive
package import MigrationEngine
package import MigrationSystem
import MigrationTLS
package import MigrationWire

/// The receiving device: listens, shows codes, lets one sender pair or come back, and completes its
/// transfer; or several transfers in turn, until it is stopped.
package final class Receiver: Sendable {
  /// The options of a receiver, made by the command's parser or by a program. The engine's options
  /// are its settings; the workers read the others.
  @dynamicMemberLookup
  package struct Options: Equatable, Sendable {
    /// Where to listen; all addresses when the host is nil.
    package var listen: HostAndPort
    /// Whether the user chose the port; otherwise an unfinished transfer's port comes first.
    package var isPortChosen: Bool
    /// The addresses from which senders may pair; all addresses if there is no range.
    package var from: [AddressRange] = []
    /// The code that the user has given to both devices; nil if this device makes codes.
    package var code: PairingCode?
    /// Which known devices need no code, and for how long a new pairing is kept.
    package var knownDevices = KnownDevices.kept
    /// The user's decision about items that were moved or removed here since they arrived.
    package var removals = ArrivedItems.Removals.unsettled
    /// Whether every received file is read again before it is put in place.
    package var verifies = false
    /// The relay at which this device also waits.
    package var relay: RelayAccess?
    /// The clock of every deadline and code; tests let it run faster.
    var pace = LoopClock()
    /// The clock of codes and guesses; nil if it is `pace`.
    var codePace: LoopClock?
    private var settings: ReceiverEngine.Settings

    /// Without a place, the receiver listens at all addresses and at its usual port; without a label,
    /// this device has its host name.
    package init(
      listen: HostAndPort? = nil, isPortChosen: Bool? = nil, label: String? = nil,
      software: String = Version.software, giveUpAfter: Double = 600
    ) {
      self.listen = listen ?? HostAndPort(host: nil, port: Limits.defaultPort)
      self.isPortChosen = isPortChosen ?? (listen != nil)
      settings = ReceiverEngine.Settings(
        greeting: Greeting(
          role: .receiver, label: ThisDevice.label(label), software: software, features: .ofThisDevice),
        giveUpAfter: giveUpAfter)
    }

    /// An option of the engine.
    package subscript<Value>(dynamicMember option: WritableKeyPath<ReceiverEngine.Settings, Value>) -> Value {
      get { settings[keyPath: option] }
      set { settings[keyPath: option] = newValue }
    }

    /// The engine's settings, complete.
    func settings(of importers: any Importers, with helpers: Helpers) -> ReceiverEngine.Settings {
      var settings = settings
      settings.greeting.request = importers.request
      settings.hasGivenCode = code != nil
      settings.waitsAtRelay = relay != nil
      settings.asksConsent = helpers.consent != nil
      settings.asksRestart = helpers.restart != nil
      settings.graceAtTheEnd = importers.graceAtTheEnd
      if let codePace { settings.codeSpeed = codePace.speed / pace.speed }
      return settings
    }
  }

  /// The parts of the program that serve a receiver.
  package struct Helpers: Sendable {
    /// Asks about a new transfer; without it, the code that was entered is consent enough.
    package var consent: ConsentAsker?
    /// Asks to begin another wait when too many wrong codes were entered; without it, that ends the
    /// run.
    package var restart: RestartAsker?
    /// Makes this device known on its networks; without it, senders have to be told an address.
    package var announcer: Announcing?

    package init() {}
  }

  private let setup: ReceiverSetup
  /// The unfinished transfers of earlier runs at this destination, until the run begins.
  private let entries: Mutex<[FoundTransferRecord]>

  /// Fails if another process receives into the same destination.
  package init(
    _ options: Options, with helpers: Helpers = Helpers(), importers: any Importers, store: TransferStore? = nil,
    observer: @escaping @Sendable (TransferEvent) -> Void
  ) throws(Failure) {
    do {
      let area = importers.area
      let hold = try store.map { try $0.lock(try area.status(), at: try area.place()) }
      let known = try Self.known(to: store, at: area)
      // One key serves all unfinished transfers of a destination: a sender sees it before the
      // receiver knows which sender connects. It is the remembered transfers' key, also while
      // another process holds one of them.
      let kept = try store?.identity(orMake: options.keepsPairings)
      let identity = try known.first.map { try Identity(encoded: $0.identity) } ?? kept ?? Identity.generate()
      let entries = known.compactMap { FoundTransferRecord.take($0, in: store, isKept: options.keeps) }
      var options = options
      // Pairings are kept only by the key that this device shows in every session.
      if identity.fingerprint != kept?.fingerprint { options.keepsPairings = false }
      setup = ReceiverSetup(
        options: options, helpers: helpers,
        importers: importers, store: store, hold: hold, observer: observer,
        identity: identity, context: try TLSContext(role: .server, identity: identity), queue: try EventQueue())
      self.entries = Mutex(entries)
    } catch {
      throw Failure(error)
    }
  }

  /// The remembered transfers of this destination, newest first, except the transfers that another
  /// process works on.
  private static func known(to store: TransferStore?, at area: StagingArea) throws -> [TransferRecord] {
    guard let store else { return [] }
    try store.purge(at: store.time())
    return try store.remembered(at: try area.place()).map(\.remembered)
  }

  /// Ends the run soon, from any thread. The received data is kept.
  package func stop(_ kind: Failure.Kind) { setup.post(.stop(kind)) }

  /// Receives one transfer, or all that come. Blocks until they have ended.
  ///
  /// A worker may be stuck in a call to a disk that does not return. The receiver waits for it for
  /// a moment only: the journal can do without its last entries. In a process that lives on, the
  /// worker releases its locks when it ends.
  package func run() throws(Failure) -> TransferResult {
    // They hold locks for as long as they live: only the loop has them, and no frame below it.
    let entries = Handover(entries.withLock { exchange(&$0, with: []) })
    let (result, deadline) = try onLoopThread("receiver") { [setup] () -> (TransferOutcome, BootInstant) in
      do throws(SystemError) {
        let performer = try ReceiverPerformer(setup, entries.take())
        let loop = EngineLoop(
          ReceiverEngine(setup.settings), performer, queue: setup.queue, workers: setup.workers, clock: setup.clock)
        return (loop.run().result, performer.deadline)
      } catch {
        return (.failure(Failure(error)), .now())
      }
    }
    setup.workers.wait(until: deadline)
    // Their last results hold locks, too, also those that come later.
    setup.queue.close()
    return try result.get()
  }
}
