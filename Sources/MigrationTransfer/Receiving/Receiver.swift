package import MigrationArchive
package import MigrationEngine
package import MigrationSystem
import MigrationTLS
package import MigrationWire

/// The receiving device: listens, shows codes, lets one sender pair or come back, and completes its
/// transfer; or several transfers in turn, until it is stopped.
package final class Receiver: Sendable {
  package struct Options: Sendable {
    /// Where to listen; all addresses when the host is nil.
    package let listen: HostAndPort
    /// Whether the user chose that port; else that of an unfinished transfer comes first.
    package let isPortChosen: Bool
    /// This device's label.
    package let label: String
    package let software: String
    /// For how many seconds a sender that was lost may stay away.
    package let giveUpAfter: Double
    /// Asks about a new transfer; without it, the code that was entered is consent enough.
    package var consent: ConsentAsker?
    /// Asks to begin another wait when too many wrong codes were entered; without it, that ends the
    /// run.
    package var restart: RestartAsker?
    /// Makes this device known on its networks; without it, senders have to be told an address.
    package var announcer: (any Announcer)?
    /// Where senders may pair from; from everywhere, if there is no range.
    package var from: [AddressRange] = []
    /// Whether it takes one transfer after the other, until it is stopped.
    package var keeps = false
    /// The code that the sender has too; without it, this device makes codes.
    package var code: PairingCode?
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

  private let setup: ReceiverSetup
  /// The unfinished transfers of earlier runs at this destination, until the run begins.
  private let entries: Mutex<Entries>

  private struct Entries: Sendable {
    var all: [RememberedEntry]

    mutating func take() -> [RememberedEntry] {
      defer { all = [] }
      return all
    }
  }

  /// Fails if another process receives into the same destination.
  package init(
    _ options: Options, importer: any Importer, store: TransferStore? = nil,
    observer: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) {
    do {
      let area = importer.area
      let hold = try store.map { try $0.lock(try area.status(), at: try area.place()) }
      let known = try Self.known(to: store, at: area)
      // One key serves all unfinished transfers of a destination: a sender sees it before the
      // receiver knows which sender connects. It is the remembered transfers' key, also while
      // another process holds one of them.
      let identity = try known.first.map { try Identity(encoded: $0.identity) } ?? Identity.generate()
      let entries = known.compactMap { RememberedEntry.take($0, in: store, isKept: options.keeps) }
      setup = ReceiverSetup(
        options: options, importer: importer, store: store, hold: hold, observer: observer, identity: identity,
        context: try TLSContext(role: .server, identity: identity), queue: try EventQueue())
      self.entries = Mutex(Entries(all: entries))
    } catch {
      throw Fault(error).failure
    }
  }

  /// The remembered transfers of this destination, newest first. Those that another process works
  /// on are left to it.
  private static func known(to store: TransferStore?, at area: StagingArea) throws -> [RememberedTransfer] {
    guard let store else { return [] }
    try store.purge(now: Timestamp.coarseNow().seconds)
    return try store.remembered(at: try area.place()).map(\.remembered)
  }

  /// Ends the transfer soon, from any thread. The received data is kept.
  package func stop(_ kind: TransferFailure.Kind) { setup.post(.stop(kind)) }

  /// Receives one transfer, or all that come. Blocks until they have ended.
  ///
  /// A worker may be stuck in a call to a disk that does not return. The receiver waits for it for
  /// a moment only: the journal can do without its last entries. In a process that lives on, the
  /// worker releases its locks when it ends.
  package func run() throws(TransferFailure) -> TransferResult {
    // They hold locks for as long as they live: the loop has them, and no frame below it, which
    // would have them to the end.
    let entries = Handover(entries.withLock { $0.take() })
    let (setup, ended) = (setup, Condition<ReceiverLoop.End?>(nil))
    do {
      let thread = try OwnerThread(name: "receiver") {
        let end = ReceiverLoop.run(setup, entries)
        ended.withLock { $0 = end }
      }
      thread.join()
    } catch {
      throw Fault(error).failure
    }
    guard let end = ended.withLock({ $0 }) else { preconditionFailure("a loop ends by a result") }
    setup.workers.wait(until: end.deadline)
    // Their last results hold locks, too, also those that come later.
    setup.queue.close()
    return try end.result.get()
  }
}
