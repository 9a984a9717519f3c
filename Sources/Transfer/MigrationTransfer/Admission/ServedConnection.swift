import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// An admitted connection. Its workers take it one after the other; between two workers it rests
/// here.
final class ServedConnection: Sendable {
  /// The values that one worker of a pairing leaves to the next worker.
  struct Pairing: Sendable {
    var hello: [UInt8] = []
    /// The other end's share.
    var share: [UInt8] = []
    /// The confirmation that proves the code to the other end.
    var confirmation: [UInt8] = []
  }

  let id: ConnectionID
  let dismissal: Dismissal
  private let connection = Mutex<Connection?>(nil)
  private let pairing = Mutex(Pairing())

  init(_ id: ConnectionID) throws(SystemError) {
    self.id = id
    dismissal = try Dismissal()
  }

  /// Leaves the connection for the next worker.
  func put(_ connection: consuming Connection) {
    var connection = Optional(connection)
    self.connection.withLock { $0 = connection.take() }
  }

  /// Removes and returns the connection; nil when a worker has it.
  func take() -> Connection? { connection.withLock { $0.take() } }

  /// Keeps something for the next worker.
  func note(_ change: (inout Pairing) -> Void) { pairing.withLock { change(&$0) } }

  /// The kept value.
  var noted: Pairing { pairing.withLock { $0 } }

  /// The order to the worker of a connection to end.
  final class Dismissal: Sendable {
    /// Ends the worker's wait.
    let wakeup: Wakeup
    private let isGiven = AtomicFlag()
    private let isForRoom = AtomicFlag()

    init() throws(SystemError) { wakeup = try Wakeup() }

    /// Whether the worker is to end.
    var isDismissed: Bool { isGiven.isSet }

    /// Whether another connection needs the place of this one.
    var makesRoom: Bool { isForRoom.isSet }

    /// Tells the worker to end soon.
    func dismiss(makesRoom: Bool) {
      if makesRoom { isForRoom.set() }
      isGiven.set()
      wakeup.signal()
    }
  }
}
