import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// What the receiver's workers have to tell the thread of the control connection.
enum ReceiverNews: Sendable {
  case admitted(Reception)
  case progress(ImportProgress)
  /// The destination cannot hold an item, or several.
  case refused
  /// Everything is imported, in this session or before it.
  case imported(Done)
  case failed(Fault)
  /// A newer session of the same transfer has begun.
  case superseded
  case stop(TransferFailure.Kind)
}

/// What a transfer and its sessions need of the program that they run in.
protocol ReceptionHost: Sendable {
  var greeting: Greeting { get }
  var importer: any Importer { get }
  /// What remembers transfers; nil where nothing is to be remembered.
  var store: TransferStore? { get }
  var identity: Identity { get }
  var port: UInt16 { get }
  /// Whether this device gives up.
  var isStopped: Bool { get }
  /// Asks about new transfers.
  var consent: ConsentDesk { get }
  func observe(_ event: TransferEvent)
  /// Runs something on a thread that the host waits for at its end.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError)
  /// Data streams of this reception may join from now on; false if its session was superseded.
  func open(_ reception: Reception, of transfer: IncomingTransfer, as part: TransferPart) -> Bool
  /// The import of a transfer has come to its end; whether a session hears of it and tells the sender.
  func ended(_ transfer: IncomingTransfer, _ result: Result<Done, Fault>, isHeard: Bool)
}
