import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// A worker's report to the receiver's loop: an event for the engine, and a value that the loop
/// keeps from then on.
struct WorkerReport: Sendable {
  /// A worker's result, for later workers.
  enum Product: Sendable {
    case listening(Handover<ListeningSocket>)
    /// The secret of the code that was made.
    case secret(PairingSecret)
    case transfers([ReceivingTransfer])
    case judgement(SessionNumber, JudgedOffer)
    case session(ReceivingSession)
  }

  let event: ReceiverEngine.Event
  let product: Product?

  init(_ event: ReceiverEngine.Event, bringing product: Product? = nil) {
    self.event = event
    self.product = product
  }
}

/// The arguments of a receiver's start. Its loop and its workers share them, and they do not
/// change.
struct ReceiverSetup: Sendable {
  let options: Receiver.Options
  let helpers: Receiver.Helpers
  let importer: any Importer
  let store: TransferStore?
  /// Keeps other receivers away from the destination, until the last worker has ended.
  let hold: DiskFile?
  let observer: @Sendable (TransferEvent) -> Void
  let identity: Identity
  let context: TLSContext
  let queue: EventQueue<WorkerReport>
  let workers = Workers()
  let farewells = Farewells()
  /// Handshakes at a time: as many as there are processors.
  let handshakes = ComputeGate()

  var clock: LoopClock { options.pace }

  /// Tells the loop of something.
  func post(_ event: ReceiverEngine.Event) { queue.post(WorkerReport(event)) }

  /// Tells the user of this device of something.
  func notice(_ text: String) { post(.noticed(.notice(text))) }

  /// Where the engine begins.
  var settings: ReceiverEngine.Settings { options.settings(of: importer, with: helpers) }
}
