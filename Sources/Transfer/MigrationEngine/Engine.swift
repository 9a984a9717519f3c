package import MigrationWire

/// Makes all decisions of one end of a transfer.
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock. Times are
/// seconds on the clock of the loop that drives it.
package protocol Engine: Sendable {
  associatedtype Event: EngineEvent
  associatedtype Action: Sendable

  /// Handles an event and returns the actions, in their order.
  mutating func handle(_ event: Event, now: Double) -> [Action]
  /// The event that ends the worker of an action if the worker fails, or if there is no thread for it;
  /// nil for an action without a worker.
  static func end(of action: Action, by fault: Failure) -> Event?
  /// The next moment at which something may change without an event.
  var nextMoment: Double? { get }
  /// How many workers were started and have not sent their event.
  var runningWorkers: Int { get }
}

/// The events that a loop gives to both engines.
package protocol EngineEvent: Sendable {
  /// The first event.
  static var begin: Self { get }
  /// The user stops the run with a signal.
  static func stop(_ kind: Failure.Kind) -> Self
  /// A moment has come: one that `nextMoment` named, or any other.
  static var timePassed: Self { get }
  /// A message has arrived on a control connection.
  static func received(_ connection: ConnectionID, _ message: ControlMessage) -> Self
  /// A control connection was cut or is silent, or its other end has violated the protocol. Only
  /// `closed` follows for it.
  static func broke(_ connection: ConnectionID, _ fault: Failure) -> Self
  /// Almost everything queued on a control connection is sent.
  static func drained(_ connection: ConnectionID) -> Self
  /// A control connection is closed, as `close` asked. `spread`, from 0 to 1, is random.
  static func closed(_ connection: ConnectionID, spread: Double) -> Self
}
